// SPDX-License-Identifier: Apache-2.0
// 8-bit quantised matrix product: scales by row, dp4a and tensor cores (wmma), 4-bit weights times a vector.
#include <mma.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
using namespace nvcuda;

__global__ void rowScale(const float *a, float *scale, int cols)
{
	float m = 0;
	for (int i = threadIdx.x; i < cols; i += blockDim.x) m = fmaxf(m, fabsf(a[(size_t)blockIdx.x * cols + i]));
	__shared__ float s[32];
	for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
	if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = m;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int w = 1; w < blockDim.x / 32; w++) m = fmaxf(m, s[w]);
		scale[blockIdx.x] = m / 127;
	}
}
__global__ void quantise(const float *a, const float *scale, int8_t *q, int cols, size_t n)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (i < n) q[i] = (int8_t)rintf(a[i] / scale[i / cols]);
}
__global__ void gemmDp4a(const int *a, const int *b, int *c, int n, int k4) // both with rows along k
{
	__shared__ int sa[16][17], sb[16][17];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, acc = 0;
	for (int t = 0; t < k4; t += 16) {
		sa[threadIdx.y][threadIdx.x] = a[y * k4 + t + threadIdx.x];
		sb[threadIdx.y][threadIdx.x] = b[(blockIdx.x * 16 + threadIdx.y) * k4 + t + threadIdx.x];
		__syncthreads();
		for (int k = 0; k < 16; k++) acc = __dp4a(sa[threadIdx.y][k], sb[threadIdx.x][k], acc);
		__syncthreads();
	}
	c[y * n + x] = acc;
}
__global__ void gemmTensor(const signed char *a, const signed char *b, int *c, int n, int k)
{
	int warp = threadIdx.x / 32, row = blockIdx.y * 64 + warp * 16, col = blockIdx.x * 64;
	wmma::fragment<wmma::accumulator, 16, 16, 16, int> acc[4];
	for (auto &f : acc) wmma::fill_fragment(f, 0);
	for (int t = 0; t < k; t += 16) {
		wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa;
		wmma::load_matrix_sync(fa, a + (size_t)row * k + t, k);
		for (int i = 0; i < 4; i++) {
			wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> fb;
			wmma::load_matrix_sync(fb, b + (size_t)(col + 16 * i) * k + t, k);
			wmma::mma_sync(acc[i], fa, fb, acc[i]);
		}
	}
	for (int i = 0; i < 4; i++) wmma::store_matrix_sync(c + (size_t)row * n + col + 16 * i, acc[i], n, wmma::mem_row_major);
}
__global__ void dequantise(const int *c, const float *sa, const float *sb, float *out, int n)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	if (i < (size_t)n * n) out[i] = c[i] * sa[i / n] * sb[i % n];
}
__global__ void gemv4bit(const uint32_t *w, const float *x, float *y, int cols) // groups of eight nibbles, minus 8
{
	int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	float acc = 0;
	for (int i = lane; i < cols / 8; i += 32) {
		uint32_t v = w[(size_t)row * (cols / 8) + i];
#pragma unroll
		for (int k = 0; k < 8; k++) acc += ((int)(v >> 4 * k & 15) - 8) * x[i * 8 + k];
	}
	for (int d = 16; d; d >>= 1) acc += __shfl_xor_sync(~0u, acc, d);
	if (lane == 0) y[row] = acc;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 2048, loops = argc > 2 ? atoi(argv[2]) : 500, wrong = 0;
	size_t nn = (size_t)n * n;
	std::vector<float> a(nn), b(nn), c(nn), x(n), y(n);
	std::vector<int> i1(nn), i2(nn);
	std::vector<uint32_t> w(nn / 8);
	uint32_t s = 3;
	for (auto *v : {&a, &b, &x}) for (auto &e : *v) { s = s * 1664525 + 1013904223; e = (int)(s >> 8) / 8388608.f - 1; }
	for (auto &e : w) { s = s * 1664525 + 1013904223; e = s ^ s >> 15; }
	float *da, *db, *dc, *sa, *sb, *dx, *dy;
	int8_t *qa, *qb;
	int *acc;
	uint32_t *dw;
	cudaMalloc(&da, 4 * nn); cudaMalloc(&db, 4 * nn); cudaMalloc(&dc, 4 * nn); cudaMalloc(&sa, 4 * n); cudaMalloc(&sb, 4 * n); cudaMalloc(&dx, 4 * n);
	cudaMalloc(&dy, 4 * n); cudaMalloc(&qa, nn); cudaMalloc(&qb, nn); cudaMalloc(&acc, 4 * nn); cudaMalloc(&dw, nn / 2);
	cudaMemcpy(da, a.data(), 4 * nn, cudaMemcpyHostToDevice); cudaMemcpy(db, b.data(), 4 * nn, cudaMemcpyHostToDevice);
	cudaMemcpy(dx, x.data(), 4 * n, cudaMemcpyHostToDevice); cudaMemcpy(dw, w.data(), nn / 2, cudaMemcpyHostToDevice);
	unsigned flat = (unsigned)((nn + 255) / 256);
	for (int l = 0; l < loops; l++) {
		rowScale<<<n, 256>>>(da, sa, n); rowScale<<<n, 256>>>(db, sb, n);
		quantise<<<flat, 256>>>(da, sa, qa, n, nn); quantise<<<flat, 256>>>(db, sb, qb, n, nn);
		gemmDp4a<<<dim3(n / 16, n / 16), dim3(16, 16)>>>((int *)qa, (int *)qb, acc, n, n / 4);
		if (l == loops - 1) cudaMemcpy(i1.data(), acc, 4 * nn, cudaMemcpyDeviceToHost);
		gemmTensor<<<dim3(n / 64, n / 64), 128>>>((signed char *)qa, (signed char *)qb, acc, n, n);
		dequantise<<<flat, 256>>>(acc, sa, sb, dc, n);
		for (int r = 0; r < 4; r++) gemv4bit<<<n / 8, 256>>>(dw, dx, dy, n);
	}
	cudaMemcpy(i2.data(), acc, 4 * nn, cudaMemcpyDeviceToHost); cudaMemcpy(c.data(), dc, 4 * nn, cudaMemcpyDeviceToHost);
	cudaMemcpy(y.data(), dy, 4 * n, cudaMemcpyDeviceToHost);
	wrong += i1 != i2;
	for (int t = 0; t < 200; t++) {
		size_t i = (size_t)t * 7919 % n, j = (size_t)t * 104729 % n;
		double e = 0, g = 0;
		for (int k = 0; k < n; k++) e += (double)a[i * n + k] * b[j * n + k], g += ((int)(w[i * (n / 8) + k / 8] >> 4 * (k % 8) & 15) - 8) * (double)x[k];
		wrong += fabs(e - c[i * n + j]) > 0.02 * sqrt((double)n) || fabs(g - y[i]) > 1e-2;
	}
	printf("wrong: %d, %s\n", wrong, cudaGetErrorString(cudaGetLastError()));
	return wrong != 0;
}
