/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands for a program whose source is lost: the build strips it, and the example looks
 * at the binary only. An all-pairs force sum, a histogram with contended atomics, and a
 * transpose that forgets to coalesce its writes.
 */
#include "../check.h"

__global__ void forces(const float4 *at, float4 *force, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float4 me = at[i], sum = make_float4(0, 0, 0, 0);

	for (int j = 0; j < n; j++) {
		float4 o = at[j];
		float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
		float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = o.w * r * r * r;

		sum.x += dx * s;
		sum.y += dy * s;
		sum.z += dz * s;
	}
	force[i] = sum;
}

__global__ void histogram(const float4 *force, unsigned *bins, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&bins[min(15, (int)fabsf(force[i].x))], 1u);
}

__global__ void transpose(const float *in, float *out, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	out[x * n + y] = in[y * n + x];
}

int main(void)
{
	enum { BODIES = 1 << 14, SIDE = 4096, STEPS = 300 };
	float4 *at, *force;
	float *in, *out;
	unsigned *bins, host[16], total = 0;

	CHECK(cudaMalloc(&at, BODIES * sizeof *at));
	CHECK(cudaMalloc(&force, BODIES * sizeof *force));
	CHECK(cudaMalloc(&bins, sizeof host));
	CHECK(cudaMalloc(&in, SIDE * SIDE * sizeof *in));
	CHECK(cudaMalloc(&out, SIDE * SIDE * sizeof *out));
	CHECK(cudaMemset(at, 0, BODIES * sizeof *at));
	CHECK(cudaMemset(in, 0, SIDE * SIDE * sizeof *in));
	CHECK(cudaMemset(bins, 0, sizeof host));
	for (int step = 0; step < STEPS; step++) {
		forces<<<BODIES / 128, 128>>>(at, force, BODIES);
		histogram<<<64, 256>>>(force, bins, BODIES);
		transpose<<<dim3(SIDE / 32, SIDE / 8), dim3(32, 8)>>>(in, out, SIDE);
		CHECK(cudaDeviceSynchronize());
	}
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(host, bins, sizeof host, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 16; i++)
		total += host[i];
	printf("binned %u of %u\n", total, BODIES * STEPS);
	return total == BODIES * STEPS ? 0 : 1;
}
