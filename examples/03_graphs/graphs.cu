/* SPDX-License-Identifier: Apache-2.0
 *
 * A Jacobi sweep captured once into a graph and launched many times. Only the graph's
 * launches run kernels; the captured calls do not.
 */
#include "../check.h"

__global__ void sweep(const float *from, float *to, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
		to[y * n + x] = 0.25f * (from[y * n + x - 1] + from[y * n + x + 1] +
					 from[(y - 1) * n + x] + from[(y + 1) * n + x]);
}

__global__ void edges(float *grid, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		grid[i] = 1.0f;
}

int main(void)
{
	enum { N = 2048, SWEEPS = 20, LAUNCHES = 600 };
	const dim3 block(32, 8), blocks(N / 32, N / 8);
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	float *a, *b, value;

	CHECK(cudaMalloc(&a, N * N * sizeof *a));
	CHECK(cudaMalloc(&b, N * N * sizeof *b));
	CHECK(cudaMemset(a, 0, N * N * sizeof *a));
	CHECK(cudaMemset(b, 0, N * N * sizeof *b));
	edges<<<N / 256, 256>>>(a, N);
	edges<<<N / 256, 256>>>(b, N);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < SWEEPS; i++) {
		sweep<<<blocks, block, 0, stream>>>(a, b, N);
		sweep<<<blocks, block, 0, stream>>>(b, a, N);
	}
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < LAUNCHES; i++) {
		CHECK(cudaGraphLaunch(exec, stream));
		CHECK(cudaStreamSynchronize(stream));
	}
	CHECK(cudaMemcpy(&value, a + N + N / 2, sizeof value, cudaMemcpyDeviceToHost));
	printf("%d sweeps, next to the edge %.4f\n", 2 * SWEEPS * LAUNCHES, value);
	return 0;
}
