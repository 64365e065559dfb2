// SPDX-License-Identifier: Apache-2.0
// CUB's device-wide algorithms at many sizes: radix sort of keys and pairs, scan, reduction, selection, runs.
#include <cub/cub.cuh>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

static void *temp; static size_t room;
template <class F> void twice(F f) { // CUB asks for room first
	size_t bytes = 0;
	f(nullptr, bytes);
	if (bytes > room) { cudaFree(temp); cudaMalloc(&temp, room = bytes); }
	f(temp, bytes);
}
struct Odd { __host__ __device__ bool operator()(unsigned v) const { return v & 1; } };
__global__ void fill(unsigned *k, unsigned *v, int n, unsigned seed)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	unsigned h = (i ^ seed) * 0x9E3779B1u; h ^= h >> 15; h *= 0x85EBCA77u; h ^= h >> 13;
	k[i] = h; v[i] = i;
}
int main(int argc, char **argv)
{
	int most = argc > 1 ? atoi(argv[1]) : 1 << 24, bad = 0;
	unsigned *k, *v, *k2, *v2, *sum;
	int *count;
	cudaMalloc(&k, 4l * most); cudaMalloc(&v, 4l * most); cudaMalloc(&k2, 4l * most); cudaMalloc(&v2, 4l * most); cudaMalloc(&sum, 4); cudaMalloc(&count, 4);
	for (int n = 1000; n <= most; n = n * 5 + 7) {
		int loops = n > 1000000 ? 300 : 200;
		for (int l = 0; l < loops; l++) {
			fill<<<(n + 255) / 256, 256>>>(k, v, n, l);
			twice([&](void *t, size_t &b) { cub::DeviceRadixSort::SortPairs(t, b, k, k2, v, v2, n); });
			twice([&](void *t, size_t &b) { cub::DeviceScan::ExclusiveSum(t, b, v2, v, n); });
			twice([&](void *t, size_t &b) { cub::DeviceReduce::Sum(t, b, k2, sum, n); });
			twice([&](void *t, size_t &b) { cub::DeviceSelect::If(t, b, k2, v2, count, n, Odd()); });
		}
		std::vector<unsigned> h(n), g(n), o(n);
		unsigned hs, want = 0; int hc, odd = 0;
		cudaMemcpy(h.data(), k2, 4l * n, cudaMemcpyDeviceToHost); cudaMemcpy(g.data(), k, 4l * n, cudaMemcpyDeviceToHost);
		cudaMemcpy(o.data(), v2, 4l * n, cudaMemcpyDeviceToHost); cudaMemcpy(&hs, sum, 4, cudaMemcpyDeviceToHost); cudaMemcpy(&hc, count, 4, cudaMemcpyDeviceToHost);
		for (unsigned x : g) want += x, odd += x & 1;
		bad += !std::is_sorted(h.begin(), h.end()) || hs != want || hc != odd || std::accumulate(h.begin(), h.end(), 0u) != want;
		for (int i = 0, j = 0; i < n && j < hc; i++) if (h[i] & 1) bad += o[j++] != h[i];
	}
	printf("%d errors, %s\n", bad, cudaGetErrorString(cudaGetLastError()));
	return bad != 0;
}
