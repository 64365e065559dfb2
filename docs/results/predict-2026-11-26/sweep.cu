// SPDX-License-Identifier: Apache-2.0
// Sizes change at one grid from the first launch on: sweep ROUNDS.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

struct view { float *data; int rows, columns; };

__global__ void scale(float *x, float a, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		x[i] *= a;
}

__global__ void add(const float *x, const float *y, float *z, size_t n)
{
	for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
		z[i] = x[i] + y[i];
}

__global__ void iterate(float *x, int trips)
{
	float v = x[threadIdx.x];
	for (int i = 0; i < trips; i++)
		v = v * 0.999f + 0.5f;
	x[threadIdx.x] = v;
}

__global__ void rows(view v, float *sum)
{
	for (int r = blockIdx.x; r < v.rows; r += gridDim.x) {
		float s = 0;
		for (int c = threadIdx.x; c < v.columns; c += blockDim.x)
			s += v.data[(size_t)r * v.columns + c];
		atomicAdd(&sum[r & 1023], s);
	}
}

__global__ void square(const float *a, const float *b, float *c, int n)
{
	for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < n * n; at += gridDim.x * blockDim.x) {
		float s = 0;
		for (int k = 0; k < n; k++)
			s += a[at / n * n + k] * b[k * n + at % n];
		c[at] = s;
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20;
	float *a, *b, *c;
	long launches = 0;
	cudaMalloc(&a, 512u << 20); cudaMalloc(&b, 512u << 20); cudaMalloc(&c, 512u << 20);
	cudaMemset(a, 0, 512u << 20); cudaMemset(b, 0, 512u << 20);
	for (int round = 0; round < rounds; round++)
		for (int s = 0; s < 9; s++) {
			int n = 20000 << s;
			for (int again = 0; again < 2; again++, launches += 5) {
				scale<<<264, 256>>>(a, 1.0f, n);
				add<<<264, 256>>>(a, b, c, (size_t)n * 4);
				iterate<<<264, 256>>>(a, 500 << s);
				rows<<<264, 256>>>(view{a, 64 << s, 768}, b);
				square<<<264, 256>>>(a, b, c, 32 + 48 * s);
			}
		}
	cudaError_t e = cudaDeviceSynchronize();
	printf("%ld launches: %s\n", launches, cudaGetErrorString(e));
	return e != cudaSuccess;
}
