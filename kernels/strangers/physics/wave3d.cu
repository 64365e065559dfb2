// SPDX-License-Identifier: Apache-2.0
/* Acoustic waves in a box: second order in time, eighth in space; single and double precision, a source, an
   absorbing rim. Checks that both precisions and a plane of symmetry agree. */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <vector>

#define HALF 4
__constant__ float cf[HALF + 1];
__constant__ double cd[HALF + 1];

__global__ void wave_f(float *__restrict__ next, const float *__restrict__ now, const float *__restrict__ speed, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x + HALF, y = blockIdx.y * blockDim.y + threadIdx.y + HALF;
	if (x >= n - HALF || y >= n - HALF) return;
	int plane = n * n, i = y * n + x + HALF * plane;
	float q[2 * HALF + 1];
	for (int k = 0; k < 2 * HALF; k++) q[k + 1] = now[i + (k - HALF) * plane];
	for (int z = HALF; z < n - HALF; z++, i += plane) {
#pragma unroll
		for (int k = 0; k < 2 * HALF; k++) q[k] = q[k + 1];
		q[2 * HALF] = now[i + HALF * plane];
		float lap = 3 * cf[0] * q[HALF];
#pragma unroll
		for (int k = 1; k <= HALF; k++) lap += cf[k] * (q[HALF + k] + q[HALF - k] + now[i + k] + now[i - k] + now[i + k * n] + now[i - k * n]);
		next[i] = 2 * q[HALF] - next[i] + speed[i] * lap;
	}
}

__global__ void wave_d(double *next, const double *now, const float *speed, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
	if (x < HALF || y < HALF || z < HALF || x >= n - HALF || y >= n - HALF || z >= n - HALF) return;
	int plane = n * n, i = z * plane + y * n + x;
	double lap = 3 * cd[0] * now[i];
	for (int k = 1; k <= HALF; k++)
		lap += cd[k] * (now[i + k] + now[i - k] + now[i + k * n] + now[i - k * n] + now[i + k * plane] + now[i - k * plane]);
	next[i] = 2 * now[i] - next[i] + speed[i] * lap;
}

template <typename T> __global__ void sponge(T *a, T *b, int n, int width)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
	if (x >= n || y >= n) return;
	int d = min(min(min(x, n - 1 - x), min(y, n - 1 - y)), min(z, n - 1 - z));
	if (d >= width) return;
	T k = exp((T)-0.0004 * (width - d) * (width - d));
	a[(z * n + y) * n + x] *= k;
	b[(z * n + y) * n + x] *= k;
}

template <typename T> __global__ void inject(T *now, int at, T value) { now[at] += value; }

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 257, steps = argc > 2 ? atoi(argv[2]) : 500;
	size_t cells = (size_t)n * n * n;
	float w[HALF + 1] = {-205.f / 72, 8.f / 5, -1.f / 5, 8.f / 315, -1.f / 560};
	double wd[HALF + 1] = {-205. / 72, 8. / 5, -1. / 5, 8. / 315, -1. / 560};
	cudaMemcpyToSymbol(cf, w, sizeof w);
	cudaMemcpyToSymbol(cd, wd, sizeof wd);
	std::vector<float> speed(cells, 0.08f), f(cells);
	for (size_t i = 0; i < cells; i++)
		if ((int)(i / n / n) > n * 2 / 3 || (int)(i / n / n) < n - 1 - n * 2 / 3) speed[i] = 0.12f; // layers, alike above and below
	std::vector<double> d(cells);
	float *fa, *fb, *ds;
	double *da, *db;
	if (cudaMalloc(&fa, cells * 4) || cudaMalloc(&fb, cells * 4) || cudaMalloc(&ds, cells * 4) || cudaMalloc(&da, cells * 8) || cudaMalloc(&db, cells * 8)) {
		printf("no room\n");
		return 2;
	}
	cudaMemset(fa, 0, cells * 4); cudaMemset(fb, 0, cells * 4); cudaMemset(da, 0, cells * 8); cudaMemset(db, 0, cells * 8);
	cudaMemcpy(ds, speed.data(), cells * 4, cudaMemcpyHostToDevice);
	dim3 b(32, 8), g2((n + 31) / 32, (n + 7) / 8), g3(g2.x, g2.y, n);
	int centre = (n / 2 * n + n / 2) * n + n / 2;
	for (int s = 0; s < steps; s++) {
		double t = (s - 30) * 0.1, v = (1 - 2 * t * t) * exp(-t * t);
		inject<<<1, 1>>>(fb, centre, (float)v);
		wave_f<<<g2, b>>>(fa, fb, ds, n);
		sponge<<<g3, b>>>(fa, fb, n, 16);
		float *x = fa; fa = fb; fb = x;
		inject<<<1, 1>>>(db, centre, v);
		wave_d<<<g3, b>>>(da, db, ds, n);
		sponge<<<g3, b>>>(da, db, n, 16);
		double *y = da; da = db; db = y;
	}
	cudaMemcpy(f.data(), fb, cells * 4, cudaMemcpyDeviceToHost);
	cudaMemcpy(d.data(), db, cells * 8, cudaMemcpyDeviceToHost);
	if (cudaGetLastError() != cudaSuccess) return 2;
	double most = 0, differ = 0, mirror = 0;
	for (int z = 0; z < n; z++)
		for (int y = 0; y < n; y++)
			for (int x = 0; x < n; x++) {
				size_t i = ((size_t)z * n + y) * n + x;
				most = fmax(most, fabs(d[i]));
				differ = fmax(differ, fabs(d[i] - f[i]));
				mirror = fmax(mirror, fabs(d[i] - d[((size_t)(n - 1 - z) * n + y) * n + x]));
			}
	printf("largest %g, single off by %g, mirror image by %g\n", most, differ, mirror);
	return !(most > 1e-6 && differ < 1e-3 * most + 1e-5 && mirror < 1e-9 * most + 1e-15);
}
