// SPDX-License-Identifier: Apache-2.0
// Heat on plates of many sizes, one after the other in one process: Jacobi from global memory and from a shared
// tile, red-black Gauss-Seidel with a residual.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#define IDX(x, y) ((y) * nx + (x))

__global__ void jacobi(const float *u, float *v, int nx, int ny)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;
	if (x < nx - 1 && y < ny - 1) v[IDX(x, y)] = 0.25f * (u[IDX(x - 1, y)] + u[IDX(x + 1, y)] + u[IDX(x, y - 1)] + u[IDX(x, y + 1)]);
}

#define TX 32
#define TY 8
__global__ void jacobiTile(const float *u, float *v, int nx, int ny)
{
	__shared__ float s[TY + 2][TX + 2];
	int x = blockIdx.x * TX + threadIdx.x + 1, y = blockIdx.y * TY + threadIdx.y + 1, lx = threadIdx.x + 1, ly = threadIdx.y + 1;
	if (x < nx && y < ny) {
		s[ly][lx] = u[IDX(x, y)];
		if (threadIdx.x == 0) s[ly][0] = u[IDX(x - 1, y)];
		if (threadIdx.y == 0) s[0][lx] = u[IDX(x, y - 1)];
		if (threadIdx.x == TX - 1 && x + 1 < nx) s[ly][TX + 1] = u[IDX(x + 1, y)];
		if (threadIdx.y == TY - 1 && y + 1 < ny) s[TY + 1][lx] = u[IDX(x, y + 1)];
	}
	__syncthreads();
	if (x < nx - 1 && y < ny - 1) v[IDX(x, y)] = 0.25f * (s[ly][lx - 1] + s[ly][lx + 1] + s[ly - 1][lx] + s[ly + 1][lx]);
}

__global__ void redBlack(float *u, int nx, int ny, int colour, float omega)
{
	int y = blockIdx.y * blockDim.y + threadIdx.y + 1, x = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1 + ((y + colour) & 1);
	if (x < nx - 1 && y < ny - 1) {
		float n = 0.25f * (u[IDX(x - 1, y)] + u[IDX(x + 1, y)] + u[IDX(x, y - 1)] + u[IDX(x, y + 1)]);
		u[IDX(x, y)] += omega * (n - u[IDX(x, y)]);
	}
}

__global__ void residual(const float *u, int nx, int ny, unsigned *worst)
{
	float r = 0;
	for (int y = blockIdx.x + 1; y < ny - 1; y += gridDim.x)
		for (int x = threadIdx.x + 1; x < nx - 1; x += blockDim.x)
			r = fmaxf(r, fabsf(0.25f * (u[IDX(x - 1, y)] + u[IDX(x + 1, y)] + u[IDX(x, y - 1)] + u[IDX(x, y + 1)]) - u[IDX(x, y)]));
	for (int d = 16; d; d >>= 1) r = fmaxf(r, __shfl_xor_sync(~0u, r, d));
	if ((threadIdx.x & 31) == 0) atomicMax(worst, __float_as_uint(r)); // not negative: the order of bits is that of values
}

int main(int argc, char **argv)
{
	int most = argc > 1 ? atoi(argv[1]) : 8000, bad = 0;
	for (int nx = 64; nx <= most; nx = nx * 3 / 2 + 5) {
		int ny = nx * 2 / 3 + 1, steps = nx < 500 ? 1000 : 600;
		size_t bytes = sizeof(float) * nx * ny;
		std::vector<float> h(nx * ny, 0.f), a(nx * ny), b(nx * ny);
		for (int x = 0; x < nx; x++) h[x] = 1;
		float *u, *v;
		unsigned *worst, bits;
		cudaMalloc(&u, bytes); cudaMalloc(&v, bytes); cudaMalloc(&worst, 4);
		dim3 block(TX, TY), grid((nx - 2 + TX - 1) / TX, (ny - 2 + TY - 1) / TY);
		for (int way = 0; way < 2; way++) {
			cudaMemcpy(u, h.data(), bytes, cudaMemcpyHostToDevice);
			cudaMemcpy(v, h.data(), bytes, cudaMemcpyHostToDevice);
			for (int s = 0; s < steps; s++) {
				if (way) jacobiTile<<<grid, block>>>(u, v, nx, ny);
				else jacobi<<<grid, block>>>(u, v, nx, ny);
				float *t = u; u = v; v = t;
			}
			cudaMemcpy(way ? b.data() : a.data(), u, bytes, cudaMemcpyDeviceToHost);
		}
		bad += memcmp(a.data(), b.data(), bytes) != 0;
		cudaMemcpy(u, h.data(), bytes, cudaMemcpyHostToDevice);
		float first = 0, last = 0;
		for (int s = 0; s < steps; s++) {
			redBlack<<<dim3((nx / 2 + TX - 1) / TX, grid.y), block>>>(u, nx, ny, 0, 1.5f);
			redBlack<<<dim3((nx / 2 + TX - 1) / TX, grid.y), block>>>(u, nx, ny, 1, 1.5f);
			if (s % 50 == 0 || s == steps - 1) {
				cudaMemset(worst, 0, 4);
				residual<<<132, 256>>>(u, nx, ny, worst);
				cudaMemcpy(&bits, worst, 4, cudaMemcpyDeviceToHost);
				memcpy(&last, &bits, 4);
				if (!s) first = last;
			}
		}
		bad += !(last < first);
		// a few steps by hand near the hot edge are enough: after s steps nothing below row s is warm
		for (int y = steps + 1; y < ny; y++)
			for (int x = 0; x < nx; x++) bad += a[y * nx + x] != 0;
		for (int x = 0; x < nx; x++) bad += a[x] != 1;
		cudaFree(u); cudaFree(v); cudaFree(worst);
	}
	bad += cudaDeviceSynchronize() != cudaSuccess;
	printf(bad ? "%d errors\n" : "fine (%d)\n", bad);
	return bad ? 1 : 0;
}
