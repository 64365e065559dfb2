// SPDX-License-Identifier: Apache-2.0
/* Shortest paths: Bellman-Ford on a work list, and on all edges for comparison.
 * sssp_worklist [side of the grid] [rounds] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <queue>
#include <vector>
using namespace std;

static void check(cudaError_t e, const char *what) { if (e) { printf("%s: %s\n", what, cudaGetErrorString(e)); exit(1); } }

struct Edge { int to; unsigned w; };

__global__ void k_init(unsigned *dist, unsigned char *inlist, int n, int src)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		dist[i] = i == src ? 0u : 0xffffffffu;
		inlist[i] = 0;
	}
}

__global__ void k_relax_list(const int *first, const Edge *edges, unsigned *dist, const int *list, const int *count, int *out, int *outcount,
                             int *flag)
{
	int total = *count;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
		int v = list[i];
		flag[v] = 0;
		__threadfence();
		unsigned d = *(volatile unsigned *)&dist[v];
		for (int e = first[v]; e < first[v + 1]; e++) {
			unsigned nd = d + edges[e].w;
			if (nd < atomicMin(&dist[edges[e].to], nd) && atomicExch(&flag[edges[e].to], 1) == 0)
				out[atomicAdd(outcount, 1)] = edges[e].to;
		}
	}
}

__global__ void k_relax_all(const int *first, const Edge *edges, unsigned *dist, int n, int *changed)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v >= n) return;
	unsigned d = dist[v];
	if (d == 0xffffffffu) return;
	bool any = false;
	for (int e = first[v]; e < first[v + 1]; e++) {
		unsigned nd = d + edges[e].w;
		if (nd < dist[edges[e].to]) { atomicMin(&dist[edges[e].to], nd); any = true; }
	}
	if (any) *changed = 1;
}

__global__ void k_farthest(const unsigned *dist, int n, unsigned *best)
{
	__shared__ unsigned s[256];
	unsigned m = 0;
	for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
		if (dist[i] != 0xffffffffu && dist[i] > m) m = dist[i];
	s[threadIdx.x] = m;
	__syncthreads();
	for (int h = 128; h; h >>= 1) {
		if (threadIdx.x < h) s[threadIdx.x] = max(s[threadIdx.x], s[threadIdx.x + h]);
		__syncthreads();
	}
	if (!threadIdx.x) atomicMax(best, s[0]);
}

int main(int argc, char *argv[])
{
	int side = argc > 1 ? atoi(argv[1]) : 800, rounds = argc > 2 ? atoi(argv[2]) : 60, n = side * side;
	vector<int> first(n + 1);
	vector<Edge> edges;
	srand(7);
	for (int y = 0; y < side; y++)
		for (int x = 0; x < side; x++) {
			int v = y * side + x;
			first[v] = edges.size();
			if (x) edges.push_back({v - 1, 1u + rand() % 20});
			if (x + 1 < side) edges.push_back({v + 1, 1u + rand() % 20});
			if (y) edges.push_back({v - side, 1u + rand() % 20});
			if (y + 1 < side) edges.push_back({v + side, 1u + rand() % 20});
			if (rand() % 64 == 0) edges.push_back({rand() % n, 30u + rand() % 100});
		}
	first[n] = edges.size();
	int *dfirst, *list[2], *cnt, *flag, *changed;
	Edge *dedges;
	unsigned *dist, *best;
	unsigned char *inlist;
	check(cudaMalloc(&dfirst, 4 * (n + 1)), "first"); check(cudaMalloc(&dedges, sizeof(Edge) * edges.size()), "edges");
	check(cudaMalloc(&list[0], 4 * n), "list"); check(cudaMalloc(&list[1], 4 * n), "list"); check(cudaMalloc(&cnt, 8), "cnt");
	check(cudaMalloc(&flag, 4 * n), "flag"); check(cudaMalloc(&changed, 4), "c"); check(cudaMalloc(&dist, 4 * n), "dist");
	check(cudaMalloc(&best, 4), "best"); check(cudaMalloc(&inlist, n), "in");
	cudaMemcpy(dfirst, first.data(), 4 * (n + 1), cudaMemcpyHostToDevice);
	cudaMemcpy(dedges, edges.data(), sizeof(Edge) * edges.size(), cudaMemcpyHostToDevice);
	vector<unsigned> got(n), got2(n);
	int src = 0;
	for (int r = 0; r < rounds; r++) {
		src = rand() % n;
		k_init<<<264, 256>>>(dist, inlist, n, src);
		cudaMemset(flag, 0, 4 * n);
		int one[2] = {1, 0}, cur = 0;
		cudaMemcpy(list[0], &src, 4, cudaMemcpyHostToDevice);
		cudaMemcpy(cnt, one, 8, cudaMemcpyHostToDevice);
		for (int left = 1; left;) {
			k_relax_list<<<66, 256>>>(dfirst, dedges, dist, list[cur], cnt + cur, list[1 - cur], cnt + 1 - cur, flag);
			check(cudaMemcpy(&left, cnt + 1 - cur, 4, cudaMemcpyDeviceToHost), "relax");
			cudaMemset(cnt + cur, 0, 4);
			cur = 1 - cur;
		}
		cudaMemset(best, 0, 4);
		k_farthest<<<132, 256>>>(dist, n, best);
	}
	cudaMemcpy(got.data(), dist, 4 * n, cudaMemcpyDeviceToHost);
	k_init<<<264, 256>>>(dist, inlist, n, src);
	for (int again = 1; again;) {
		cudaMemset(changed, 0, 4);
		for (int i = 0; i < 8; i++) k_relax_all<<<(n + 191) / 192, 192>>>(dfirst, dedges, dist, n, changed);
		check(cudaMemcpy(&again, changed, 4, cudaMemcpyDeviceToHost), "all");
	}
	cudaMemcpy(got2.data(), dist, 4 * n, cudaMemcpyDeviceToHost);
	vector<unsigned> ref(n, 0xffffffffu);
	priority_queue<pair<unsigned, int>> pq;
	ref[src] = 0;
	pq.push({0, src});
	while (!pq.empty()) {
		unsigned d = ~pq.top().first + 1;
		int v = pq.top().second;
		pq.pop();
		if (d > ref[v]) continue;
		for (int e = first[v]; e < first[v + 1]; e++)
			if (d + edges[e].w < ref[edges[e].to]) {
				ref[edges[e].to] = d + edges[e].w;
				pq.push({0u - ref[edges[e].to], edges[e].to});
			}
	}
	if (ref != got || ref != got2) { puts("FAILED"); return 1; }
	puts("PASSED");
	return 0;
}
