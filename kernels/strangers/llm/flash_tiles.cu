// SPDX-License-Identifier: Apache-2.0
// Attention by tiles with a running softmax, then decoding: one new token at a time against a growing cache,
// split over blocks and combined. fp16 cache.
#include <cuda_fp16.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
const int HD = 64, TILE = 32;

__global__ void flashForward(const float *q, const float *k, const float *v, float *o, int n)
{
	__shared__ float sk[TILE][HD + 1], sv[TILE][HD];
	int head = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x;
	const float *Q = q + (size_t)head * n * HD, *K = k + (size_t)head * n * HD, *V = v + (size_t)head * n * HD;
	float mine[HD], acc[HD], m = -INFINITY, l = 0;
	for (int d = 0; d < HD; d++) mine[d] = i < n ? Q[i * HD + d] * 0.125f : 0, acc[d] = 0;
	int last = min(n, (int)((blockIdx.x + 1) * blockDim.x));
	for (int t = 0; t < last; t += TILE) {
		for (int e = threadIdx.x; e < TILE * HD; e += blockDim.x) {
			int j = t + e / HD;
			sk[e / HD][e % HD] = j < n ? K[j * HD + e % HD] : 0;
			sv[e / HD][e % HD] = j < n ? V[j * HD + e % HD] : 0;
		}
		__syncthreads();
		for (int j = 0; j < TILE && t + j <= i; j++) {
			float s = 0;
#pragma unroll
			for (int d = 0; d < HD; d++) s += mine[d] * sk[j][d];
			float mm = fmaxf(m, s), a = __expf(m - mm), p = __expf(s - mm);
			l = l * a + p;
			m = mm;
#pragma unroll
			for (int d = 0; d < HD; d++) acc[d] = acc[d] * a + p * sv[j][d];
		}
		__syncthreads();
	}
	if (i < n)
		for (int d = 0; d < HD; d++) o[((size_t)head * n + i) * HD + d] = acc[d] / l;
}
__global__ void appendCache(const float *kv, __half *cache, int at, int heads, int room)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x; // heads * HD * 2
	if (i < heads * HD * 2) cache[((size_t)(i / HD) * room + at) * HD + i % HD] = __float2half(kv[i] * (1 + at % 7));
}
__global__ void decodeSplit(const float *q, const __half *cache, float *part, int length, int heads, int room, int splits)
{
	int head = blockIdx.x, split = blockIdx.y, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int per = (length + splits - 1) / splits, from = split * per, to = min(length, from + per);
	const __half2 *K = (const __half2 *)(cache + (size_t)head * room * HD), *V = (const __half2 *)(cache + (size_t)(heads + head) * room * HD);
	float2 mine = ((const float2 *)(q + head * HD))[lane], acc = make_float2(0, 0);
	float m = -1e30f, l = 0;
	for (int j = from + warp; j < to; j += 4) {
		float2 x = __half22float2(K[j * (HD / 2) + lane]), y = __half22float2(V[j * (HD / 2) + lane]);
		float s = mine.x * x.x + mine.y * x.y;
		for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
		s *= 0.125f;
		float mm = fmaxf(m, s), a = __expf(m - mm), p = __expf(s - mm);
		l = l * a + p; m = mm;
		acc.x = acc.x * a + p * y.x; acc.y = acc.y * a + p * y.y;
	}
	float *out = part + ((size_t)(head * splits + split) * 4 + warp) * (HD + 2);
	((float2 *)out)[lane] = acc;
	if (lane == 0) out[HD] = m, out[HD + 1] = l;
}
__global__ void decodeCombine(const float *part, float *o, int parts)
{
	int head = blockIdx.x, d = threadIdx.x;
	float m = -1e30f, l = 0, acc = 0;
	for (int p = 0; p < parts; p++) {
		const float *r = part + (size_t)(head * parts + p) * (HD + 2);
		float mm = fmaxf(m, r[HD]), a = expf(m - mm), b = expf(r[HD] - mm);
		l = l * a + r[HD + 1] * b;
		acc = acc * a + r[d] * b;
		m = mm;
	}
	o[head * HD + d] = acc / l;
}
int main(int argc, char **argv)
{
	int heads = 32, most = argc > 1 ? atoi(argv[1]) : 2048, tokens = argc > 2 ? atoi(argv[2]) : 8000, room = tokens, splits = 8, bad = 0;
	size_t size = (size_t)heads * most * HD;
	std::vector<float> hq(size), hk(size), hv(size), ho(size);
	unsigned s = 4;
	for (auto *a : {&hq, &hk, &hv}) for (auto &e : *a) { s = s * 1664525u + 1013904223u; e = ((int)(s >> 8) - 8388608) / 8388608.f; }
	float *q, *k, *v, *o, *part;
	__half *cache;
	if (cudaMalloc(&q, 4 * size) || cudaMalloc(&k, 4 * size) || cudaMalloc(&v, 4 * size) || cudaMalloc(&o, 4 * size) || cudaMalloc(&part, 4 * heads * splits * 4 * (HD + 2)) || cudaMalloc(&cache, 4ul * heads * room * HD)) return 2;
	cudaMemcpy(q, hq.data(), 4 * size, cudaMemcpyHostToDevice); cudaMemcpy(k, hk.data(), 4 * size, cudaMemcpyHostToDevice); cudaMemcpy(v, hv.data(), 4 * size, cudaMemcpyHostToDevice);
	for (int n = 128; n <= most; n *= 2) {
		for (int r = 0; r < 40; r++) flashForward<<<dim3((n + 63) / 64, heads), 64>>>(q, k, v, o, n);
		cudaMemcpy(ho.data(), o, 4ul * heads * n * HD, cudaMemcpyDeviceToHost);
		for (int t = 0; t < 60; t++) {
			int h = t % heads, i = t * 997 % n;
			size_t base = (size_t)h * n * HD;
			double l = 0, acc = 0;
			for (int j = 0; j <= i; j++) {
				double d = 0;
				for (int e = 0; e < HD; e++) d += (double)hq[base + i * HD + e] * hk[base + j * HD + e];
				l += exp(d / 8); acc += exp(d / 8) * hv[base + j * HD + t];
			}
			bad += !(fabs(acc / l - ho[base + i * HD + t]) < 1e-4);
		}
	}
	for (int t = 0; t < tokens; t++) {
		appendCache<<<(heads * HD * 2 + 127) / 128, 128>>>(k, cache, t, heads, room);
		decodeSplit<<<dim3(heads, splits), 128>>>(q, cache, part, t + 1, heads, room, splits);
		decodeCombine<<<heads, HD>>>(part, o, splits * 4);
	}
	cudaMemcpy(ho.data(), o, 4 * heads * HD, cudaMemcpyDeviceToHost);
	for (int h = 0; h < heads; h++) {
		double l = 0, acc = 0;
		for (int j = 0; j < tokens; j++) {
			double d = 0;
			for (int e = 0; e < HD; e++) d += (double)hq[h * HD + e] * __half2float(__float2half(hk[h * HD + e] * (1 + j % 7)));
			l += exp(d / 8); acc += exp(d / 8) * __half2float(__float2half(hk[(heads + h) * HD] * (1 + j % 7)));
		}
		bad += !(fabs(acc / l - ho[h * HD]) < 1e-3);
	}
	printf("%d outputs off, %s\n", bad, cudaGetErrorString(cudaGetLastError()));
	return bad > 0;
}
