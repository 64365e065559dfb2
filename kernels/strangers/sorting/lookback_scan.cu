// SPDX-License-Identifier: Apache-2.0
// A prefix sum in one pass: blocks take tickets and look back at what the blocks before them have published
// (they spin until it is there). Also a segmented scan and a compaction built on it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
enum { T = 256, ITEMS = 8, SPAN = T * ITEMS };

__device__ unsigned blockScan(unsigned v, unsigned *total) // exclusive
{
	__shared__ unsigned w[T / 32];
	unsigned x = v;
	int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
	for (int d = 1; d < 32; d <<= 1) { unsigned y = __shfl_up_sync(~0u, x, d); if (lane >= d) x += y; }
	if (lane == 31) w[warp] = x;
	__syncthreads();
	unsigned before = 0, all = 0;
	for (int i = 0; i < T / 32; i++) { if (i < warp) before += w[i]; all += w[i]; }
	__syncthreads();
	*total = all;
	return before + x - v;
}
__device__ unsigned lookBack(volatile unsigned long long *state, int tile, unsigned total)
{
	__shared__ unsigned before;
	if (threadIdx.x == 0) { // 1: a sum of the tile, 2: a sum of all up to it, above 32 bits of value
		unsigned sum = 0;
		state[tile] = (tile ? 1ull : 2ull) << 32 | total;
		for (int t = tile - 1; t >= 0; t--) {
			unsigned long long s;
			while (!((s = state[t]) >> 32)) ;
			sum += (unsigned)s;
			if (s >> 32 == 2) break;
		}
		if (tile) state[tile] = 2ull << 32 | (unsigned)(sum + total);
		before = sum;
	}
	__syncthreads();
	return before;
}
__global__ void resetState(unsigned long long *state, int *ticket, int tiles)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < tiles) state[i] = 0;
	if (i == 0) *ticket = 0;
}
__global__ void scanOnePass(const unsigned *in, unsigned *out, unsigned long long *state, int *ticket, int n)
{
	__shared__ int tile;
	if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
	__syncthreads();
	int base = tile * SPAN + threadIdx.x * ITEMS;
	unsigned v[ITEMS], sum = 0, total;
	for (int i = 0; i < ITEMS; i++) { v[i] = base + i < n ? in[base + i] : 0; sum += v[i]; }
	unsigned x = blockScan(sum, &total);
	x += lookBack(state, tile, total);
	for (int i = 0; i < ITEMS; i++) if (base + i < n) { out[base + i] = x; x += v[i]; }
}
__global__ void compactOnePass(const unsigned *in, unsigned *out, unsigned long long *state, int *ticket, int n, unsigned mask, unsigned *count)
{
	__shared__ int tile;
	if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
	__syncthreads();
	int base = tile * SPAN;
	unsigned kept = 0, total;
	for (int i = 0; i < ITEMS; i++) { int at = base + threadIdx.x * ITEMS + i; kept += at < n && !(in[at] & mask); }
	unsigned x = blockScan(kept, &total);
	x += lookBack(state, tile, total);
	for (int i = 0; i < ITEMS; i++) { int at = base + threadIdx.x * ITEMS + i; if (at < n && !(in[at] & mask)) out[x++] = in[at]; }
	if (base + SPAN >= n && threadIdx.x == T - 1 && base < n) *count = x;
}
__global__ void segmentedWarp(const unsigned *in, unsigned *out, int segments, int length) // a warp to a segment
{
	int seg = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	if (seg >= segments) return;
	unsigned carry = 0;
	for (int b = 0; b < length; b += 32) {
		unsigned v = b + lane < length ? in[(size_t)seg * length + b + lane] : 0;
		for (int d = 1; d < 32; d <<= 1) { unsigned y = __shfl_up_sync(~0u, v, d); if (lane >= d) v += y; }
		if (b + lane < length) out[(size_t)seg * length + b + lane] = carry + v;
		carry += __shfl_sync(~0u, v, 31);
	}
}
int main(int argc, char **argv)
{
	int most = argc > 1 ? atoi(argv[1]) : 20000000, bad = 0;
	std::vector<unsigned> h(most), g(most);
	for (int i = 0; i < most; i++) h[i] = (i * 2654435761u) >> 20;
	unsigned *in, *out, *count, kept;
	unsigned long long *state;
	int *ticket;
	cudaMalloc(&in, 4l * most); cudaMalloc(&out, 4l * most); cudaMalloc(&state, 8l * (most / SPAN + 2)); cudaMalloc(&ticket, 4); cudaMalloc(&count, 4);
	cudaMemcpy(in, h.data(), 4l * most, cudaMemcpyHostToDevice);
	for (int n = 5000; n <= most; n *= 4) {
		int tiles = (n + SPAN - 1) / SPAN;
		for (int r = 0; r < 1500; r++) {
			resetState<<<(tiles + 255) / 256, 256>>>(state, ticket, tiles);
			scanOnePass<<<tiles, T>>>(in, out, state, ticket, n);
		}
		cudaMemcpy(g.data(), out, 4l * n, cudaMemcpyDeviceToHost);
		unsigned x = 0;
		for (int i = 0; i < n; i++) { bad += g[i] != x; x += h[i]; }
		for (unsigned mask = 1; mask <= 127; mask = mask * 4 + 3) // fewer and fewer are kept
			for (int r = 0; r < 200; r++) {
				resetState<<<(tiles + 255) / 256, 256>>>(state, ticket, tiles);
				compactOnePass<<<tiles, T>>>(in, out, state, ticket, n, mask, count);
			}
		cudaMemcpy(&kept, count, 4, cudaMemcpyDeviceToHost); cudaMemcpy(g.data(), out, 4l * n, cudaMemcpyDeviceToHost);
		unsigned k = 0;
		for (int i = 0; i < n; i++) if (!(h[i] & 127)) bad += g[k++] != h[i];
		bad += k != kept;
		int segments = n / 100;
		for (int r = 0; r < 200; r++) segmentedWarp<<<(segments + 7) / 8, 256>>>(in, out, segments, 100);
		cudaMemcpy(g.data(), out, 400l * segments, cudaMemcpyDeviceToHost);
		for (int s = 0; s < segments; s += 11) { unsigned y = 0; for (int i = 0; i < 100; i++) bad += g[s * 100 + i] != (y += h[s * 100 + i]); }
	}
	printf("%d wrong, %s\n", bad, cudaGetErrorString(cudaGetLastError()));
	return bad != 0;
}
