// SPDX-License-Identifier: Apache-2.0
// Every thread walks the tree below its own root, depth first, with a stack of its own; then the graph is
// coloured by Luby's method. Options: -n NODES -r REPEATS
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define DEGREE 6
#define STACK 64

__host__ __device__ static inline uint32_t mix(uint32_t x)
{
	x ^= x >> 16; x *= 0x7feb352dU; x ^= x >> 15; x *= 0x846ca68bU; x ^= x >> 16;
	return x;
}

/* size of the random tree below a seed: 0 to 3 children, shrinking */
__global__ void walk_trees(uint32_t *nodes, int roots, uint32_t salt)
{
	int me = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t stack[STACK];
	int top = 0;
	uint32_t seen = 0;

	if (me >= roots)
		return;
	stack[top++] = mix(me ^ salt) & ~31u;
	while (top > 0) {
		uint32_t v = stack[--top];
		uint32_t depth = v & 31u, h = mix(v);
		seen++;
		if (depth < 20) {
			uint32_t kids = (h % 100) < 38 ? 0 : (h % 100) < 70 ? 1 : 2;
			for (uint32_t k = 0; k < kids && top < STACK; k++)
				stack[top++] = (mix(h + k + 1) & ~31u) | (depth + 1);
		}
	}
	nodes[me] = seen;
}

__global__ void luby_round(const int *adj, int *colour, int n, int now, int *left)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;

	if (v >= n || colour[v] >= 0)
		return;
	uint32_t mine = mix(v + 77u * now);
	for (int k = 0; k < 2 * DEGREE; k++) {
		int w = adj[k * n + v];
		int c = w < 0 ? 0 : ((volatile int *)colour)[w];
		if (w >= 0 && (c < 0 || c == now)) {
			uint32_t theirs = mix(w + 77u * now);
			if (theirs > mine || (theirs == mine && w > v)) {
				*left = 1;
				return;
			}
		}
	}
	colour[v] = now;
}

__global__ void conflicts(const int *adj, const int *colour, int n, int *bad)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v < n)
		for (int k = 0; k < 2 * DEGREE; k++)
			if (adj[k * n + v] >= 0 && adj[k * n + v] != v && colour[adj[k * n + v]] == colour[v])
				atomicAdd(bad, 1);
}

static uint32_t walk_host(uint32_t root)
{
	uint32_t stack[STACK], seen = 0;
	int top = 0;
	stack[top++] = root & ~31u;
	while (top > 0) {
		uint32_t v = stack[--top], depth = v & 31u, h = mix(v);
		seen++;
		if (depth < 20) {
			uint32_t kids = (h % 100) < 38 ? 0 : (h % 100) < 70 ? 1 : 2;
			for (uint32_t k = 0; k < kids && top < STACK; k++)
				stack[top++] = (mix(h + k + 1) & ~31u) | (depth + 1);
		}
	}
	return seen;
}

int main(int argc, char **argv)
{
	int n = 1 << 21, repeats = 250, option, bad[2] = {0, 0}, rounds = 0;

	while ((option = getopt(argc, argv, "n:r:")) != -1)
		switch (option) {
		case 'n': n = atoi(optarg); break;
		case 'r': repeats = atoi(optarg); break;
		default: fprintf(stderr, "usage: %s [-n nodes] [-r repeats]\n", argv[0]); return 2;
		}
	uint32_t *nodes, *got = (uint32_t *)malloc(4 * n);
	int *adj, *colour, *flag, *edges = (int *)malloc(4ul * 2 * DEGREE * n), *fill = (int *)calloc(n, 4);
	cudaMalloc(&nodes, 4 * n); cudaMalloc(&adj, 4ul * 2 * DEGREE * n); cudaMalloc(&colour, 4 * n); cudaMalloc(&flag, 8);
	for (long i = 0; i < 2l * DEGREE * n; i++)
		edges[i] = -1;
	for (int v = 0; v < n; v++)
		for (int k = 0; k < 3; k++) {
			int w = (v + 1 + mix(v * 3 + k) % 5000) % n;
			if (fill[v] < 2 * DEGREE && fill[w] < 2 * DEGREE) {
				edges[(long)fill[v]++ * n + v] = w;
				edges[(long)fill[w]++ * n + w] = v;
			}
		}
	cudaMemcpy(adj, edges, 4ul * 2 * DEGREE * n, cudaMemcpyHostToDevice);
	for (int r = 0; r < repeats; r++)
		walk_trees<<<(n + 127) / 128, 128>>>(nodes, n, r);
	cudaMemcpy(got, nodes, 4 * n, cudaMemcpyDeviceToHost);
	for (int i = 0; i < n; i += 97)
		if (got[i] != walk_host(mix(i ^ (repeats - 1))))
			bad[0]++;
	for (int r = 0; r < repeats; r++) {
		cudaMemset(colour, 0xff, 4 * n);
		rounds = 0;
		for (int left = 1; left && rounds < 200; rounds++) {
			cudaMemset(flag, 0, 8);
			luby_round<<<(n + 255) / 256, 256>>>(adj, colour, n, rounds, flag);
			cudaMemcpy(&left, flag, 4, cudaMemcpyDeviceToHost);
		}
	}
	conflicts<<<(n + 255) / 256, 256>>>(adj, colour, n, flag + 1);
	cudaMemcpy(&bad[1], flag + 1, 4, cudaMemcpyDeviceToHost);
	printf("trees wrong %d, edges of one colour %d, rounds %d, %s\n", bad[0], bad[1], rounds, cudaGetErrorString(cudaGetLastError()));
	return bad[0] || bad[1] || cudaGetLastError() != cudaSuccess;
}
