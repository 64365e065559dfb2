// SPDX-License-Identifier: Apache-2.0
// Memory of the host read and written by kernels in place (mapped, pinned), beside the same in device memory.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#define TRY(x) if ((x) != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(cudaGetLastError())); return 2; }

__global__ void saxpy(const float *x, const float *y, float *z, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) z[i] = a * x[i] + y[i];
}
__global__ void total(const float *x, int n, double *out)
{
	double s = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
	for (int d = 16; d; d >>= 1) s += __shfl_down_sync(~0u, s, d);
	if (threadIdx.x % 32 == 0) atomicAdd(out, s);
}
__global__ void gather(const float *table, const int *index, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) out[i] = table[index[i]];
}
__global__ void poll(volatile int *mailbox, int *result, int rounds) // answers on the host's memory
{
	int sum = 0;
	for (int i = 0; i < rounds; i++) { sum += mailbox[i & 63]; mailbox[64] = sum; }
	*result = sum;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 4000000, loops = argc > 2 ? atoi(argv[2]) : 300, bad = 0;
	float *hx, *hy, *hz, *dx, *dy, *dz, *mx, *my, *mz;
	int *hi, *mi, *box, *mbox, *res;
	double *sum, hs[2];
	TRY(cudaHostAlloc(&hx, 4l * n, cudaHostAllocMapped)) TRY(cudaHostAlloc(&hy, 4l * n, cudaHostAllocMapped)) TRY(cudaHostAlloc(&hz, 4l * n, cudaHostAllocMapped))
	TRY(cudaHostAlloc(&hi, 4l * n, cudaHostAllocMapped)) TRY(cudaHostAlloc(&box, 512, cudaHostAllocMapped))
	TRY(cudaMalloc(&dx, 4l * n)) TRY(cudaMalloc(&dy, 4l * n)) TRY(cudaMalloc(&dz, 4l * n)) TRY(cudaMalloc(&sum, 16)) TRY(cudaMalloc(&res, 4))
	TRY(cudaHostGetDevicePointer(&mx, hx, 0)) TRY(cudaHostGetDevicePointer(&my, hy, 0)) TRY(cudaHostGetDevicePointer(&mz, hz, 0))
	TRY(cudaHostGetDevicePointer(&mi, hi, 0)) TRY(cudaHostGetDevicePointer(&mbox, box, 0))
	unsigned s = 1;
	for (int i = 0; i < n; i++) { hx[i] = i % 1000; hy[i] = i % 77; s = s * 1664525 + 1013904223; hi[i] = (s >> 8) % n; }
	for (int i = 0; i < 64; i++) box[i] = i;
	TRY(cudaMemcpy(dx, hx, 4l * n, cudaMemcpyHostToDevice)) TRY(cudaMemcpy(dy, hy, 4l * n, cudaMemcpyHostToDevice))
	int g = (n + 255) / 256;
	for (int l = 0; l < loops; l++) {
		saxpy<<<g, 256>>>(dx, dy, dz, 2, n);       // device memory
		saxpy<<<g, 256>>>(mx, my, dz, 2, n);       // read over the bus
		saxpy<<<g, 256>>>(dx, dy, mz, 2, n);       // written over the bus
		cudaMemsetAsync(sum, 0, 16);
		total<<<132, 256>>>(dx, n, sum);
		total<<<132, 256>>>(mx, n, sum + 1);
	}
	TRY(cudaMemcpy(hs, sum, 16, cudaMemcpyDeviceToHost))
	for (int i = 0; i < n; i++) bad += hz[i] != 2 * hx[i] + hy[i];
	gather<<<(n / 16 + 255) / 256, 256>>>(mx, mi, dz, n / 16);
	TRY(cudaMemcpy(hz, dz, 4l * (n / 16), cudaMemcpyDeviceToHost))
	for (int i = 0; i < n / 16; i++) bad += hz[i] != hx[hi[i]];
	int r = 0;
	poll<<<1, 1>>>(mbox, res, 6400);
	TRY(cudaMemcpy(&r, res, 4, cudaMemcpyDeviceToHost))
	bad += r != 100 * 2016 || hs[0] != hs[1];
	printf("%d wrong\n", bad);
	return bad ? 1 : 0;
}
