// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies into shared memory: a pipeline of two stages, and warps that only copy for warps that only
// compute (cuda::barrier, memcpy_async).
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda_pipeline.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init
const int TILE = 1024;

__global__ void plainPoly(const float *x, float *y, int tiles, int degree)
{
	for (int t = blockIdx.x; t < tiles; t += gridDim.x)
		for (int i = threadIdx.x; i < TILE; i += blockDim.x) {
			float v = x[(size_t)t * TILE + i], r = 1;
			for (int d = 0; d < degree; d++) r = r * v + 1;
			y[(size_t)t * TILE + i] = r;
		}
}
__global__ void twoStages(const float *x, float *y, int tiles, int degree)
{
	__shared__ __align__(16) float s[2][TILE];
	int stage = 0;
	auto fetch = [&](int t, int at) {
		if (t < tiles)
			for (int i = threadIdx.x * 4; i < TILE; i += blockDim.x * 4) __pipeline_memcpy_async(&s[at][i], &x[(size_t)t * TILE + i], 16);
		__pipeline_commit();
	};
	fetch(blockIdx.x, 0);
	for (int t = blockIdx.x; t < tiles; t += gridDim.x, stage ^= 1) {
		fetch(t + gridDim.x, stage ^ 1);
		__pipeline_wait_prior(1);
		__syncthreads();
		for (int i = threadIdx.x; i < TILE; i += blockDim.x) {
			float v = s[stage][i], r = 1;
			for (int d = 0; d < degree; d++) r = r * v + 1;
			y[(size_t)t * TILE + i] = r;
		}
		__syncthreads();
	}
}
__global__ void producerConsumer(const float *x, float *y, int tiles, int degree) // warp 0 copies, the others compute
{
	using barrier = cuda::barrier<cuda::thread_scope_block>;
	__shared__ __align__(16) float s[2][TILE];
	__shared__ barrier full[2], empty[2];
	auto block = cg::this_thread_block();
	if (block.thread_rank() == 0)
		for (int i = 0; i < 2; i++) { init(&full[i], block.size()); init(&empty[i], block.size()); }
	block.sync();
	if (threadIdx.x < 32) {
		int k = 0;
		for (int t = blockIdx.x; t < tiles; t += gridDim.x, k ^= 1) {
			empty[k].arrive_and_wait();
			for (int i = threadIdx.x * 4; i < TILE; i += 128) cuda::memcpy_async(&s[k][i], &x[(size_t)t * TILE + i], cuda::aligned_size_t<16>(16), full[k]);
			(void)full[k].arrive();
		}
	} else {
		int k = 0;
		(void)empty[0].arrive();
		(void)empty[1].arrive();
		for (int t = blockIdx.x; t < tiles; t += gridDim.x, k ^= 1) {
			full[k].arrive_and_wait();
			for (int i = threadIdx.x - 32; i < TILE; i += blockDim.x - 32) {
				float v = s[k][i], r = 1;
				for (int d = 0; d < degree; d++) r = r * v + 1;
				y[(size_t)t * TILE + i] = r;
			}
			(void)empty[k].arrive();
		}
	}
}
__global__ void rowMax(const float *x, float *out, int tiles) // a tile to a block through shared memory
{
	__shared__ __align__(16) float s[TILE];
	auto block = cg::this_thread_block();
	__shared__ cuda::barrier<cuda::thread_scope_block> b;
	if (block.thread_rank() == 0) init(&b, block.size());
	block.sync();
	cuda::memcpy_async(block, s, x + (size_t)blockIdx.x * TILE, cuda::aligned_size_t<16>(TILE * 4), b);
	b.arrive_and_wait();
	float m = -1e30f;
	for (int i = threadIdx.x; i < TILE; i += blockDim.x) m = fmaxf(m, s[i]);
	for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
	__shared__ float w[4];
	if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = m;
	block.sync();
	if (threadIdx.x == 0) out[blockIdx.x] = fmaxf(fmaxf(w[0], w[1]), fmaxf(w[2], w[3]));
}
int main(int argc, char **argv)
{
	int tiles = argc > 1 ? atoi(argv[1]) : 20000, loops = argc > 2 ? atoi(argv[2]) : 900, bad = 0;
	size_t n = (size_t)tiles * TILE;
	std::vector<float> h(n), r[3];
	for (size_t i = 0; i < n; i++) h[i] = (i * 7919 % 1999) / 2000.f - 0.5f;
	float *x, *y;
	if (cudaMalloc(&x, 4 * n) || cudaMalloc(&y, 4 * n)) return 2;
	cudaMemcpy(x, h.data(), 4 * n, cudaMemcpyHostToDevice);
	for (int way = 0; way < 3; way++) {
		for (int l = 0; l < loops; l++) {
			int degree = 4 << l % 5;
			if (way == 0) plainPoly<<<528, 256>>>(x, y, tiles, degree);
			if (way == 1) twoStages<<<528, 256>>>(x, y, tiles, degree);
			if (way == 2) producerConsumer<<<528, 288>>>(x, y, tiles, degree);
		}
		r[way].resize(n);
		if (cudaMemcpy(r[way].data(), y, 4 * n, cudaMemcpyDeviceToHost)) { puts(cudaGetErrorString(cudaGetLastError())); return 2; }
	}
	bad += r[0] != r[1] || r[0] != r[2];
	for (int l = 0; l < loops; l++) rowMax<<<tiles, 128>>>(x, y, tiles);
	cudaMemcpy(r[0].data(), y, 4 * tiles, cudaMemcpyDeviceToHost);
	for (int t = 0; t < tiles; t += 7) { float m = -1e30f; for (int i = 0; i < TILE; i++) m = fmaxf(m, h[(size_t)t * TILE + i]); bad += m != r[0][t]; }
	double v = h[5], p = 1;
	for (int d = 0; d < 4 << (loops - 1) % 5; d++) p = p * v + 1;
	bad += !(fabs(p - r[1][5]) < 1e-5 * fabs(p));
	printf("%d wrong\n", bad);
	return bad != 0;
}
