/* SPDX-License-Identifier: Apache-2.0
 *
 * The first CUDA program: c = a + b, at three sizes.
 */
#include "../check.h"

__global__ void vector_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

__global__ void fill(float *x, float value, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = value;
}

int main(void)
{
	const int most = 1 << 26, block = 256;
	float *a, *b, *c, last;

	CHECK(cudaMalloc(&a, most * sizeof *a));
	CHECK(cudaMalloc(&b, most * sizeof *b));
	CHECK(cudaMalloc(&c, most * sizeof *c));
	fill<<<most / block, block>>>(a, 1.0f, most);
	fill<<<most / block, block>>>(b, 2.0f, most);
	for (int round = 0; round < 20; round++)
		for (int n = 1 << 20; n <= most; n <<= 3) {
			for (int i = 0; i < 50; i++)
				vector_add<<<n / block, block>>>(a, b, c, n);
			CHECK(cudaDeviceSynchronize());
		}
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(&last, c + most - 1, sizeof last, cudaMemcpyDeviceToHost));
	printf("1 + 2 = %.0f\n", last);
	return last == 3.0f ? 0 : 1;
}
