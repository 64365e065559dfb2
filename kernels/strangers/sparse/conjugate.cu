// SPDX-License-Identifier: Apache-2.0
// Conjugate gradients for Poisson's equation on a square, double precision, Jacobi preconditioner.
//   conjugate [side] [solves]
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#define CUDA(x) if ((x) != cudaSuccess) { fprintf(stderr, "line %d\n", __LINE__); return 2; }

__global__ void laplace(const double *p, double *ap, int side)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= side || y >= side) return;
	int i = y * side + x;
	double v = 4 * p[i];
	if (x > 0) v -= p[i - 1];
	if (x < side - 1) v -= p[i + 1];
	if (y > 0) v -= p[i - side];
	if (y < side - 1) v -= p[i + side];
	ap[i] = v;
}

__global__ void dot(const double *a, const double *b, int n, double *out)
{
	__shared__ double part[32];
	double s = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += a[i] * b[i];
	for (int d = 16; d; d >>= 1) s += __shfl_down_sync(0xffffffff, s, d);
	if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
	__syncthreads();
	if (threadIdx.x < 32) {
		s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
		for (int d = 16; d; d >>= 1) s += __shfl_down_sync(0xffffffff, s, d);
		if (threadIdx.x == 0) atomicAdd(out, s);
	}
}

// x += alpha p; r -= alpha ap, with alpha = rz / pap read on the device
__global__ void step(double *x, double *r, const double *p, const double *ap, const double *scalars, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		double alpha = scalars[0] / scalars[1];
		x[i] += alpha * p[i];
		r[i] -= alpha * ap[i];
	}
}

__global__ void precondition(const double *r, double *z, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) z[i] = 0.25 * r[i];
}

__global__ void direction(const double *z, double *p, const double *scalars, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) p[i] = z[i] + scalars[2] / scalars[0] * p[i];
}

__global__ void shift(double *scalars)
{
	scalars[0] = scalars[2];
	scalars[1] = scalars[2] = 0;
}

int main(int argc, char **argv)
{
	int side = argc > 1 ? atoi(argv[1]) : 1500, solves = argc > 2 ? atoi(argv[2]) : 2, n = side * side;
	std::vector<double> b(n), x(n);
	for (int i = 0; i < n; i++) b[i] = sin(i * 0.001) + (i % 17) * 0.01;
	double *dx, *dr, *dz, *dp, *dap, *sc, h[3];
	CUDA(cudaMalloc(&dx, n * 8)) CUDA(cudaMalloc(&dr, n * 8)) CUDA(cudaMalloc(&dz, n * 8)) CUDA(cudaMalloc(&dp, n * 8))
	CUDA(cudaMalloc(&dap, n * 8)) CUDA(cudaMalloc(&sc, 24))
	dim3 block(32, 8), grid((side + 31) / 32, (side + 7) / 8);
	int flat = (n + 255) / 256, its = 0;
	for (int s = 0; s < solves; s++) {
		CUDA(cudaMemset(dx, 0, n * 8)) CUDA(cudaMemset(sc, 0, 24))
		CUDA(cudaMemcpy(dr, b.data(), n * 8, cudaMemcpyHostToDevice))
		precondition<<<flat, 256>>>(dr, dz, n);
		CUDA(cudaMemcpy(dp, dz, n * 8, cudaMemcpyDeviceToDevice))
		dot<<<256, 256>>>(dr, dz, n, sc);
		for (its = 0; its < 8000; its++) {
			laplace<<<grid, block>>>(dp, dap, side);
			dot<<<256, 256>>>(dp, dap, n, sc + 1);
			step<<<flat, 256>>>(dx, dr, dp, dap, sc, n);
			precondition<<<flat, 256>>>(dr, dz, n);
			dot<<<256, 256>>>(dr, dz, n, sc + 2);
			direction<<<flat, 256>>>(dz, dp, sc, n);
			shift<<<1, 1>>>(sc);
			if (its % 50 == 49) {
				CUDA(cudaMemcpy(h, sc, 24, cudaMemcpyDeviceToHost))
				if (h[0] < 1e-16 * n) break;
			}
		}
	}
	CUDA(cudaMemcpy(x.data(), dx, n * 8, cudaMemcpyDeviceToHost))
	double worst = 0;
	for (int y = 0; y < side; y++)
		for (int c = 0; c < side; c++) {
			int i = y * side + c;
			double v = 4 * x[i] - (c ? x[i - 1] : 0) - (c < side - 1 ? x[i + 1] : 0) - (y ? x[i - side] : 0) - (y < side - 1 ? x[i + side] : 0);
			worst = fmax(worst, fabs(v - b[i]));
		}
	printf("%d iterations, worst residual %g\n", its, worst);
	return worst > 1e-5;
}
