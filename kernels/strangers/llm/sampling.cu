// SPDX-License-Identifier: Apache-2.0
// What follows the logits: temperature, repetition penalty, top-k by radix select in one block, softmax, a draw.
// Tiny grids, one after the other, a token at a time. usage: sampling [vocabulary] [tokens]
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <algorithm>
#include <vector>

__global__ void fake_logits(float *x, int v, int step)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= v) return;
	unsigned h = i * 2654435761u ^ step * 40503u;
	h ^= h >> 15; h *= 0x2c1b3c6d; h ^= h >> 12;
	x[i] = h * (10.f / 4294967296.f);
}
__global__ void penalise(float *x, const int *history, int count, float p) { int i = threadIdx.x; if (i < count) x[history[i]] -= p; }
__global__ void temper(float *x, int v, float t) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < v) x[i] /= t; }

// the k-th largest, eight bits of the key at a time
__global__ void kth_largest(const float *x, int v, int k, float *out)
{
	__shared__ int bin[256];
	__shared__ unsigned prefix, mask;
	__shared__ int left;
	if (threadIdx.x == 0) prefix = mask = 0, left = k;
	for (int shift = 24; shift >= 0; shift -= 8) {
		__syncthreads();
		for (int i = threadIdx.x; i < 256; i += blockDim.x) bin[i] = 0;
		__syncthreads();
		for (int i = threadIdx.x; i < v; i += blockDim.x) {
			unsigned u = __float_as_uint(x[i]);
			u = u >> 31 ? ~u : u | 0x80000000u;
			if ((u & mask) == prefix) atomicAdd(&bin[u >> shift & 255], 1);
		}
		__syncthreads();
		if (threadIdx.x == 0) {
			int b = 255;
			while (b > 0 && bin[b] < left) left -= bin[b--];
			prefix |= (unsigned)b << shift;
			mask |= 255u << shift;
		}
	}
	__syncthreads();
	if (threadIdx.x == 0) *out = __uint_as_float(prefix >> 31 ? prefix & 0x7fffffffu : ~prefix);
}
__global__ void draw(const float *x, int v, const float *threshold, float u, int *history, int at) // one warp
{
	float t = *threshold, m = -1e30f, s = 0;
	int lane = threadIdx.x;
	for (int i = lane; i < v; i += 32) m = fmaxf(m, x[i]);
	for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
	for (int i = lane; i < v; i += 32) if (x[i] >= t) s += __expf(x[i] - m);
	for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
	float want = u * s, seen = 0;
	int pick = -1;
	for (int base = 0; base < v && pick < 0; base += 32) {
		int i = base + lane;
		float p = i < v && x[i] >= t ? __expf(x[i] - m) : 0, c = p;
		for (int d = 1; d < 32; d *= 2) { float o = __shfl_up_sync(~0u, c, d); if (lane >= d) c += o; }
		unsigned hit = __ballot_sync(~0u, p > 0 && seen + c >= want);
		if (hit) pick = base + __ffs(hit) - 1;
		seen += __shfl_sync(~0u, c, 31);
	}
	if (lane == 0) history[at] = pick < 0 ? 0 : pick;
}
__global__ void argmax(const float *x, int v, unsigned long long *best)
{
	unsigned long long mine = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < v; i += gridDim.x * blockDim.x) mine = max(mine, (unsigned long long)__float_as_uint(fmaxf(x[i], 0)) << 32 | (unsigned)i);
	atomicMax(best, mine);
}
int main(int argc, char **argv)
{
	int v = argc > 1 ? atoi(argv[1]) : 50257, tokens = argc > 2 ? atoi(argv[2]) : 1500, k = 40, wrong = 0;
	float *x, *threshold, t;
	int *history;
	unsigned long long *best, hb;
	cudaMalloc(&x, 4 * v); cudaMalloc(&threshold, 4); cudaMalloc(&history, 4 * (tokens + 1)); cudaMalloc(&best, 8);
	std::vector<float> h(v);
	for (int s = 0; s < tokens; s++) {
		fake_logits<<<(v + 255) / 256, 256>>>(x, v, s);
		if (s) penalise<<<1, 64>>>(x, history + std::max(0, s - 64), std::min(s, 64), 0.5f);
		temper<<<(v + 255) / 256, 256>>>(x, v, 0.8f);
		kth_largest<<<1, 1024>>>(x, v, k, threshold);
		draw<<<1, 32>>>(x, v, threshold, (s * 37 % 101) / 101.f, history, s);
		cudaMemsetAsync(best, 0, 8);
		argmax<<<16, 256>>>(x, v, best);
		if (s % 300 == 299) {
			int pick;
			cudaMemcpy(h.data(), x, 4 * v, cudaMemcpyDeviceToHost); cudaMemcpy(&t, threshold, 4, cudaMemcpyDeviceToHost);
			cudaMemcpy(&pick, history + s, 4, cudaMemcpyDeviceToHost); cudaMemcpy(&hb, best, 8, cudaMemcpyDeviceToHost);
			std::vector<float> sorted(h);
			std::nth_element(sorted.begin(), sorted.begin() + k - 1, sorted.end(), [](float a, float b) { return a > b; });
			wrong += sorted[k - 1] != t || pick < 0 || pick >= v || h[pick] < t;
			wrong += h[(unsigned)hb] != *std::max_element(h.begin(), h.end());
		}
	}
	printf("%d wrong, %s\n", wrong, cudaGetErrorString(cudaGetLastError()));
	return wrong != 0;
}
