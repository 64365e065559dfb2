// SPDX-License-Identifier: Apache-2.0
/* Sorting by hand: a bitonic network (global and shared steps), merge path, odd-even transposition in a block. */
#include <stdio.h>
#include <stdlib.h>
#include <algorithm>
#include <vector>
#define ASSERT_OK() { cudaError_t e = cudaGetLastError(); if (e) { printf("%s\n", cudaGetErrorString(e)); return 1; } }

__global__ void bitonic_step(int *a, int j, int k)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, p = i ^ j;
	if (p > i) {
		int x = a[i], y = a[p];
		if ((x > y) == ((i & k) == 0)) { a[i] = y; a[p] = x; }
	}
}
__global__ void bitonic_shared(int *a, int from, int k)
{
	__shared__ int s[1024];
	int base = blockIdx.x * 1024, t = threadIdx.x;
	s[t] = a[base + t]; s[t + 512] = a[base + t + 512];
	for (int j = from; j; j >>= 1) {
		__syncthreads();
		int i = 2 * t - (t & (j - 1)), p = i + j;
		if ((s[i] > s[p]) == (((base + i) & k) == 0)) { int x = s[i]; s[i] = s[p]; s[p] = x; }
	}
	__syncthreads();
	a[base + t] = s[t]; a[base + t + 512] = s[t + 512];
}
__global__ void odd_even_block(int *a)
{
	__shared__ int s[512];
	int t = threadIdx.x;
	s[t] = a[blockIdx.x * 512 + t]; s[t + 256] = a[blockIdx.x * 512 + t + 256];
	for (int r = 0; r < 512; r++) {
		__syncthreads();
		int i = 2 * t + (r & 1);
		if (i + 1 < 512 && s[i] > s[i + 1]) { int x = s[i]; s[i] = s[i + 1]; s[i + 1] = x; }
	}
	__syncthreads();
	a[blockIdx.x * 512 + t] = s[t]; a[blockIdx.x * 512 + t + 256] = s[t + 256];
}
#define PER 16
__global__ void merge_path(const int *in, int *out, int width, int n)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x, d0 = t * PER;
	if (d0 >= n) return;
	int pair = d0 / (2 * width), start = pair * 2 * width, d = d0 - start;
	const int *a = in + start, *b = a + width;
	int lo = max(0, d - width), hi = min(d, width);
	while (lo < hi) {
		int mid = (lo + hi) / 2;
		if (a[mid] <= b[d - 1 - mid]) lo = mid + 1; else hi = mid;
	}
	int i = lo, j = d - lo;
	for (int k = 0; k < PER; k++) {
		bool left = j >= width || (i < width && a[i] <= b[j]);
		out[d0 + k] = left ? a[i++] : b[j++];
	}
}
int main(int argc, char **argv)
{
	int most = argc > 1 ? atoi(argv[1]) : 22, bad = 0;
	for (int lg = 12; lg <= most; lg += 2) {
		int n = 1 << lg, *d, *e, *keep, loops = lg < 20 ? 100 : 80;
		std::vector<int> h(n), g(n);
		srand(lg);
		for (int &x : h) x = rand();
		cudaMalloc(&d, 4l * n); cudaMalloc(&e, 4l * n); cudaMalloc(&keep, 4l * n);
		cudaMemcpy(keep, h.data(), 4l * n, cudaMemcpyHostToDevice);
		std::sort(h.begin(), h.end());
		for (int l = 0; l < loops; l++) {
			cudaMemcpy(d, keep, 4l * n, cudaMemcpyDeviceToDevice);
			for (int k = 2; k <= n; k <<= 1) {
				int j = k >> 1;
				for (; j > 512; j >>= 1) bitonic_step<<<n / 256, 256>>>(d, j, k);
				bitonic_shared<<<n / 1024, 512>>>(d, j, k);
			}
		}
		ASSERT_OK()
		cudaMemcpy(g.data(), d, 4l * n, cudaMemcpyDeviceToHost);
		bad += g != h;
		for (int l = 0; l < loops; l++) {
			cudaMemcpy(d, keep, 4l * n, cudaMemcpyDeviceToDevice);
			odd_even_block<<<n / 512, 256>>>(d);
			int *from = d, *to = e;
			for (int w = 512; w < n; w *= 2) { merge_path<<<(n / PER + 127) / 128, 128>>>(from, to, w, n); std::swap(from, to); }
			if (l == loops - 1) cudaMemcpy(g.data(), from, 4l * n, cudaMemcpyDeviceToHost);
		}
		ASSERT_OK()
		bad += g != h;
		cudaFree(d); cudaFree(e); cudaFree(keep);
	}
	puts(bad ? "not sorted" : "sorted");
	return bad;
}
