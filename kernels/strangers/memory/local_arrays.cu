// SPDX-License-Identifier: Apache-2.0
// Arrays of a thread's own, indexed by data: insertion sorts, permutations by Heap's method, small matrices, spills.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <algorithm>
#include <vector>

template <int N> __global__ void sortEach(const int *in, int *out, int groups)
{
	int g = blockIdx.x * blockDim.x + threadIdx.x;
	if (g >= groups) return;
	int a[N];
	for (int i = 0; i < N; i++) {
		int v = in[i * groups + g], j = i;
		while (j > 0 && a[j - 1] > v) { a[j] = a[j - 1]; j--; }
		a[j] = v;
	}
	for (int i = 0; i < N; i++) out[i * groups + g] = a[i];
}
__global__ void permutations(const float *cost, float *best, int n, int problems) // Heap's algorithm, not recursive
{
	int p = blockIdx.x * blockDim.x + threadIdx.x;
	if (p >= problems) return;
	int a[8], c[8], i = 0;
	const float *m = cost + p % 97 * 64;
	float least = 1e30f;
	for (int k = 0; k < n; k++) a[k] = k, c[k] = 0;
	for (;;) {
		float s = 0;
		for (int k = 0; k < n; k++) s += m[k * 8 + a[k]];
		least = fminf(least, s);
		while (i < n && c[i] >= i) c[i++] = 0;
		if (i >= n) break;
		int q = i % 2 ? c[i] : 0, t = a[q];
		a[q] = a[i]; a[i] = t;
		c[i]++;
		i = 0;
	}
	best[p] = least;
}
__global__ void invertEach(const double *in, double *out, int count) // 6 x 6 with pivots
{
	int p = blockIdx.x * blockDim.x + threadIdx.x;
	if (p >= count) return;
	double a[6][12];
	for (int r = 0; r < 6; r++)
		for (int c = 0; c < 6; c++) { a[r][c] = in[(r * 6 + c) * count + p]; a[r][c + 6] = r == c; }
	for (int k = 0; k < 6; k++) {
		int piv = k;
		for (int r = k + 1; r < 6; r++) if (fabs(a[r][k]) > fabs(a[piv][k])) piv = r;
		for (int c = 0; c < 12; c++) { double t = a[k][c]; a[k][c] = a[piv][c]; a[piv][c] = t; }
		double inv = 1 / a[k][k];
		for (int c = 0; c < 12; c++) a[k][c] *= inv;
		for (int r = 0; r < 6; r++)
			if (r != k) { double f = a[r][k]; for (int c = 0; c < 12; c++) a[r][c] -= f * a[k][c]; }
	}
	for (int r = 0; r < 6; r++) for (int c = 0; c < 6; c++) out[(r * 6 + c) * count + p] = a[r][c + 6];
}
__global__ __launch_bounds__(1024, 2) void spilled(const float *in, float *out, int n) // 32 registers for 64 values
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	float v[64];
#pragma unroll
	for (int k = 0; k < 64; k++) v[k] = in[(i + k * 33) % n];
	for (int round = 0; round < 4; round++)
#pragma unroll
		for (int k = 0; k < 64; k++) v[k] = 0.5f * v[k] + 0.5f * v[(k * 5 + 1) % 64];
	float s = 0;
#pragma unroll
	for (int k = 0; k < 64; k++) s += v[k];
	out[i] = s;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 200000, loops = argc > 2 ? atoi(argv[2]) : 200, bad = 0;
	std::vector<int> h(64l * n), o(64l * n);
	std::vector<double> m(36l * n), inv(36l * n);
	std::vector<float> cost(97 * 64), best(n), f(n), fo(n);
	srand(6);
	for (auto &x : h) x = rand() % 100000;
	for (auto &x : m) x = rand() / (double)RAND_MAX - 0.5;
	for (int p = 0; p < n; p++) for (int r = 0; r < 6; r++) m[(r * 7l) * n + p] += 3;
	for (auto &x : cost) x = rand() % 1000;
	for (auto &x : f) x = rand() % 16;
	int *di, *dout; double *dm, *dinv; float *dc, *db, *df;
	if (cudaMalloc(&di, 256l * n) || cudaMalloc(&dout, 256l * n) || cudaMalloc(&dm, 288l * n) || cudaMalloc(&dinv, 288l * n) || cudaMalloc(&dc, 4 * cost.size()) || cudaMalloc(&db, 4l * n) || cudaMalloc(&df, 4l * n)) return 2;
	cudaMemcpy(di, h.data(), 256l * n, cudaMemcpyHostToDevice); cudaMemcpy(dm, m.data(), 288l * n, cudaMemcpyHostToDevice);
	cudaMemcpy(dc, cost.data(), 4 * cost.size(), cudaMemcpyHostToDevice); cudaMemcpy(df, f.data(), 4l * n, cudaMemcpyHostToDevice);
	for (int l = 0; l < loops; l++) {
		sortEach<16><<<(n + 127) / 128, 128>>>(di, dout, n);
		sortEach<64><<<(n + 127) / 128, 128>>>(di, dout, n);
		permutations<<<(n + 127) / 128, 128>>>(dc, db, 4 + l % 3, n);
		invertEach<<<(n + 63) / 64, 64>>>(dm, dinv, n);
	}
	cudaMemcpy(o.data(), dout, 256l * n, cudaMemcpyDeviceToHost); cudaMemcpy(inv.data(), dinv, 288l * n, cudaMemcpyDeviceToHost);
	permutations<<<(n + 127) / 128, 128>>>(dc, db, 6, n);
	cudaMemcpy(best.data(), db, 4l * n, cudaMemcpyDeviceToHost);
	for (int l = 0; l < loops; l++) spilled<<<(n + 1023) / 1024, 1024>>>(df, db, n);
	cudaMemcpy(fo.data(), db, 4l * n, cudaMemcpyDeviceToHost);
	for (int g = 0; g < n; g += 53) {
		std::vector<int> a(64);
		for (int i = 0; i < 64; i++) a[i] = h[(size_t)i * n + g];
		std::sort(a.begin(), a.end());
		for (int i = 0; i < 64; i++) bad += o[(size_t)i * n + g] != a[i];
		for (int r = 0; r < 6; r++) for (int c = 0; c < 6; c++) {
			double e = 0;
			for (int k = 0; k < 6; k++) e += m[(r * 6l + k) * n + g] * inv[(k * 6l + c) * n + g];
			bad += !(fabs(e - (r == c)) < 1e-6);
		}
		float v[64], s = 0;
		for (int k = 0; k < 64; k++) v[k] = f[(g + k * 33) % n];
		for (int r = 0; r < 4; r++) for (int k = 0; k < 64; k++) v[k] = 0.5f * v[k] + 0.5f * v[(k * 5 + 1) % 64];
		for (float x : v) s += x;
		bad += !(fabsf(s - fo[g]) < 1e-3f);
	}
	for (int p = 0; p < 97; p++) {
		int a[6] = {0, 1, 2, 3, 4, 5};
		float least = 1e30f;
		do { float s = 0; for (int k = 0; k < 6; k++) s += cost[p * 64 + k * 8 + a[k]]; least = std::min(least, s); } while (std::next_permutation(a, a + 6));
		bad += least != best[p];
	}
	printf("%d wrong, %s\n", bad, cudaGetErrorString(cudaGetLastError()));
	return bad != 0;
}
