// SPDX-License-Identifier: Apache-2.0
// Option prices by Monte Carlo: European against Black and Scholes, Asian, barrier; Philox by hand; double and single.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

__host__ __device__ inline void philox(uint32_t c[4], uint32_t k0, uint32_t k1)
{
	for (int i = 0; i < 10; i++) {
		uint64_t a = 0xD2511F53ull * c[0], b = 0xCD9E8D57ull * c[2];
		uint32_t n0 = (uint32_t)(b >> 32) ^ c[1] ^ k0, n2 = (uint32_t)(a >> 32) ^ c[3] ^ k1;
		c[1] = (uint32_t)b; c[3] = (uint32_t)a; c[0] = n0; c[2] = n2;
		k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
	}
}
__device__ float2 boxMuller(uint32_t a, uint32_t b)
{
	float r = sqrtf(-2 * logf((a + 0.5f) * 2.3283064e-10f)), s, c;
	sincospif(b * 4.6566129e-10f, &s, &c);
	return make_float2(r * s, r * c);
}
__device__ void addUp(double v, double *out)
{
	for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
	if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}

__global__ void european(double *sum, int paths, float s0, float k, float drift, float vol, uint32_t seed)
{
	double mine = 0;
	for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < paths / 4; p += gridDim.x * blockDim.x) {
		uint32_t c[4] = {(uint32_t)p, seed, 0, 0};
		philox(c, 11, 22);
		float2 x = boxMuller(c[0], c[1]), y = boxMuller(c[2], c[3]);
		mine += fmaxf(s0 * expf(drift + vol * x.x) - k, 0) + fmaxf(s0 * expf(drift + vol * x.y) - k, 0) + fmaxf(s0 * expf(drift + vol * y.x) - k, 0) + fmaxf(s0 * expf(drift + vol * y.y) - k, 0);
	}
	addUp(mine, sum);
}
__global__ void europeanDouble(double *sum, int paths, double s0, double k, double drift, double vol, uint32_t seed)
{
	double mine = 0;
	for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < paths / 2; p += gridDim.x * blockDim.x) {
		uint32_t c[4] = {(uint32_t)p, seed, 7, 0};
		philox(c, 11, 22);
		double r = sqrt(-2 * log((c[0] + 0.5) / 4294967296.0)), s, t;
		sincospi(c[1] / 2147483648.0, &s, &t);
		mine += fmax(s0 * exp(drift + vol * r * s) - k, 0.0) + fmax(s0 * exp(drift + vol * r * t) - k, 0.0);
	}
	addUp(mine, sum);
}
__global__ void asian(double *sum, int paths, float s0, float k, float dr, float vol, int steps, uint32_t seed)
{
	int p = blockIdx.x * blockDim.x + threadIdx.x;
	double mine = 0;
	if (p < paths) {
		float s = s0, mean = 0;
		for (int i = 0; i < steps; i += 4) {
			uint32_t c[4] = {(uint32_t)p, (uint32_t)i, seed, 1};
			philox(c, 5, 6);
			float2 x = boxMuller(c[0], c[1]), y = boxMuller(c[2], c[3]);
			float z[4] = {x.x, x.y, y.x, y.y};
			for (int j = 0; j < 4; j++) { s *= expf(dr + vol * z[j]); mean += s; }
		}
		mine = fmaxf(mean / steps - k, 0);
	}
	addUp(mine, sum);
}
__global__ void barrierOption(double *sum, int paths, float s0, float k, float level, float dr, float vol, int steps, uint32_t seed)
{
	int p = blockIdx.x * blockDim.x + threadIdx.x;
	double mine = 0;
	if (p < paths) {
		float s = s0;
		int i = 0;
		for (; i < steps && s > level; i++) { // knocked out: the path ends
			uint32_t c[4] = {(uint32_t)p, (uint32_t)i, seed, 2};
			philox(c, 5, 6);
			s *= expf(dr + vol * boxMuller(c[0], c[1]).x);
		}
		if (i == steps && s > level) mine = fmaxf(s - k, 0);
	}
	addUp(mine, sum);
}

int main(int argc, char **argv)
{
	int paths = argc > 1 ? atoi(argv[1]) : 1 << 25, rounds = argc > 2 ? atoi(argv[2]) : 400;
	double s0 = 100, k = 105, r = 0.03, v = 0.25, t = 1, *sum, h[4];
	cudaMalloc(&sum, 32); cudaMemset(sum, 0, 32);
	for (int i = 0; i < rounds; i++) {
		european<<<528, 256>>>(sum, paths, s0, k, (r - v * v / 2) * t, v * sqrt(t), i);
		europeanDouble<<<528, 256>>>(sum + 1, paths, s0, k, (r - v * v / 2) * t, v * sqrt(t), i);
		asian<<<(paths / 16 + 127) / 128, 128>>>(sum + 2, paths / 16, s0, k, (r - v * v / 2) * t / 64, v * sqrt(t / 64), 64, i);
		barrierOption<<<(paths / 16 + 127) / 128, 128>>>(sum + 3, paths / 16, s0, k, 92, (r - v * v / 2) * t / 64, v * sqrt(t / 64), 64, i);
	}
	if (cudaMemcpy(h, sum, 32, cudaMemcpyDeviceToHost)) return 2;
	double d1 = (log(s0 / k) + (r + v * v / 2) * t) / (v * sqrt(t)), d2 = d1 - v * sqrt(t), disc = exp(-r * t);
	double bs = s0 * erfc(-d1 / sqrt(2.)) / 2 - k * disc * erfc(-d2 / sqrt(2.)) / 2;
	double e = disc * h[0] / paths / rounds, ed = disc * h[1] / paths / rounds, as = disc * h[2] / (paths / 16) / rounds, ba = disc * h[3] / (paths / 16) / rounds;
	printf("European %.4f %.4f, formula %.4f; Asian %.4f; down and out %.4f\n", e, ed, bs, as, ba);
	return !(fabs(e - bs) < 0.05 && fabs(ed - bs) < 0.05 && as > 0 && as < bs && ba > 0 && ba < bs);
}
