/* SPDX-License-Identifier: Apache-2.0
 *
 * Two kernels with different appetites on four streams: they overlap, and both an alone
 * and an overlapped time exist for each.
 */
#include "../check.h"

/* Few blocks, much arithmetic: leaves most of the GPU free. */
__global__ void polynomial(float *x, int rounds)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = x[i];

	for (int r = 0; r < rounds; r++)
		v = v * 0.999f + 0.001f;
	x[i] = v;
}

/* Many blocks, little arithmetic: bound by memory. */
__global__ void scale(float *x, float by, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] *= by;
}

int main(void)
{
	enum { STREAMS = 4, ROUNDS = 1000, N = 1 << 22 };
	cudaStream_t streams[STREAMS];
	float *x[STREAMS], first;

	for (int s = 0; s < STREAMS; s++) {
		CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
		CHECK(cudaMalloc(&x[s], N * sizeof **x));
		CHECK(cudaMemsetAsync(x[s], 0, N * sizeof **x, streams[s]));
	}
	for (int round = 0; round < ROUNDS; round++) /* one after the other */
		for (int s = 0; s < STREAMS; s++) {
			polynomial<<<16, 256, 0, streams[s]>>>(x[s], 10000);
			CHECK(cudaStreamSynchronize(streams[s]));
		}
	for (int round = 0; round < ROUNDS; round++) /* all together */
		for (int s = 0; s < STREAMS; s++) {
			polynomial<<<16, 256, 0, streams[s]>>>(x[s], 10000);
			scale<<<N / 256, 256, 0, streams[s]>>>(x[s], 1.0f, N);
		}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(&first, x[0], sizeof first, cudaMemcpyDeviceToHost));
	printf("x[0] = %.3f\n", first);
	return 0;
}
