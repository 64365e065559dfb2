// SPDX-License-Identifier: Apache-2.0
// Recursive device functions: Fibonacci, queens on a board, Ackermann, a k-d tree search, a sum over a tree of pointers.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <algorithm>
#include <vector>

__host__ __device__ __noinline__ unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__global__ void fibonacci(unsigned *out, int n, int most) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = fib(i % most); }

__device__ __noinline__ int place(int size, unsigned columns, unsigned left, unsigned right)
{
	unsigned all = (1u << size) - 1;
	if (columns == all) return 1;
	int found = 0;
	for (unsigned open = all & ~(columns | left | right); open; open &= open - 1) {
		unsigned bit = open & -open;
		found += place(size, columns | bit, (left | bit) << 1, (right | bit) >> 1);
	}
	return found;
}
__global__ void queens(int size, unsigned *total) // the first two rows by the thread's number
{
	int t = blockIdx.x * blockDim.x + threadIdx.x;
	if (t >= size * size) return;
	unsigned a = 1u << t / size, b = 1u << t % size;
	if (b & (a | a << 1 | a >> 1)) return;
	unsigned columns = a | b, left = ((a << 1 | b) << 1), right = ((a >> 1 | b) >> 1);
	atomicAdd(total, place(size, columns, left, right));
}
__device__ __noinline__ int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
__global__ void ackermanns(int *out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = ackermann(2, i % 24); }

struct Point { float x, y; };
__device__ __noinline__ void nearest(const Point *p, int lo, int hi, int axis, float x, float y, float &best) // a k-d tree in order
{
	if (lo >= hi) return;
	int mid = (lo + hi) / 2;
	float dx = x - p[mid].x, dy = y - p[mid].y, d = dx * dx + dy * dy, off = axis ? dy : dx;
	if (d < best) best = d;
	if (off < 0) nearest(p, lo, mid, !axis, x, y, best); else nearest(p, mid + 1, hi, !axis, x, y, best);
	if (off * off < best) { if (off < 0) nearest(p, mid + 1, hi, !axis, x, y, best); else nearest(p, lo, mid, !axis, x, y, best); }
}
__global__ void queries(const Point *p, int n, const Point *q, float *out, int m) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < m) { float b = 1e30f; nearest(p, 0, n, 0, q[i].x, q[i].y, b); out[i] = b; } }

static void build(Point *p, int lo, int hi, int axis)
{
	if (hi - lo < 2) return;
	int mid = (lo + hi) / 2;
	std::nth_element(p + lo, p + mid, p + hi, [axis](const Point &a, const Point &b) { return axis ? a.y < b.y : a.x < b.x; });
	build(p, lo, mid, !axis);
	build(p, mid + 1, hi, !axis);
}
int main(int argc, char **argv)
{
	int most = argc > 1 ? atoi(argv[1]) : 24, size = argc > 2 ? atoi(argv[2]) : 13, n = 60000, m = 200000, bad = 0;
	cudaDeviceSetLimit(cudaLimitStackSize, 16384);
	unsigned *u, total = 0;
	int *a; float *d; Point *dp, *dq;
	cudaMalloc(&u, 4 * m); cudaMalloc(&a, 4 * m); cudaMalloc(&d, 4 * m); cudaMalloc(&dp, 8 * n); cudaMalloc(&dq, 8 * m);
	std::vector<Point> p(n), q(m);
	std::vector<unsigned> hu(m); std::vector<int> ha(m); std::vector<float> hd(m);
	srand(14);
	for (auto *v : {&p, &q}) for (auto &e : *v) e.x = rand() / (float)RAND_MAX, e.y = rand() / (float)RAND_MAX;
	build(p.data(), 0, n, 0);
	cudaMemcpy(dp, p.data(), 8 * n, cudaMemcpyHostToDevice); cudaMemcpy(dq, q.data(), 8 * m, cudaMemcpyHostToDevice);
	for (int k = 8; k <= most; k++) fibonacci<<<(m / 8 + 127) / 128, 128>>>(u, m / 8, k);
	cudaMemcpy(hu.data(), u, m / 2, cudaMemcpyDeviceToHost);
	for (int i = 0; i < most; i++) bad += hu[i] != fib(i);
	static const unsigned solutions[] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712};
	for (int s = 4; s <= size; s++) {
		cudaMemset(u, 0, 4);
		queens<<<(s * s + 31) / 32, 32>>>(s, u);
		cudaMemcpy(&total, u, 4, cudaMemcpyDeviceToHost);
		if (s < 14) bad += total != solutions[s];
	}
	for (int r = 0; r < 10; r++) ackermanns<<<64, 64>>>(a, 4096);
	cudaMemcpy(ha.data(), a, 4 * 4096, cudaMemcpyDeviceToHost);
	for (int i = 0; i < 4096; i++) bad += ha[i] != 2 * (i % 24) + 3;
	for (int r = 0; r < 60; r++) queries<<<(m + 127) / 128, 128>>>(dp, n, dq, d, m);
	if (cudaMemcpy(hd.data(), d, 4 * m, cudaMemcpyDeviceToHost)) { puts(cudaGetErrorString(cudaGetLastError())); return 2; }
	for (int i = 0; i < m; i += 2003) { float b = 1e30f; for (auto &e : p) b = std::min(b, (e.x - q[i].x) * (e.x - q[i].x) + (e.y - q[i].y) * (e.y - q[i].y)); bad += !(fabsf(b - hd[i]) <= 1e-3f * b + 1e-12f); }
	printf("%d wrong, %u queens' placements\n", bad, total);
	return bad != 0;
}
