// SPDX-License-Identifier: Apache-2.0
// Finite elements: linear triangles on a mapped square. Element matrices, assembly by atomics and by colours,
// matrix-free application, a few steps of Chebyshev-free Richardson iteration.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
using std::vector;

struct Mesh { int nodes, elems; const double2 *at; const int3 *tri; };

__global__ void elementMatrices(Mesh m, double *ke)
{
	int e = blockIdx.x * blockDim.x + threadIdx.x;
	if (e >= m.elems) return;
	int3 t = m.tri[e];
	double2 a = m.at[t.x], b = m.at[t.y], c = m.at[t.z];
	double gx[3] = {b.y - c.y, c.y - a.y, a.y - b.y}, gy[3] = {c.x - b.x, a.x - c.x, b.x - a.x};
	double area2 = (b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y);
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) ke[(i * 3 + j) * m.elems + e] = (gx[i] * gx[j] + gy[i] * gy[j]) / (2 * area2);
}

__global__ void applyAtomic(Mesh m, const double *ke, const double *u, double *r)
{
	int e = blockIdx.x * blockDim.x + threadIdx.x;
	if (e >= m.elems) return;
	int t[3] = {m.tri[e].x, m.tri[e].y, m.tri[e].z};
	double v[3] = {u[t[0]], u[t[1]], u[t[2]]};
	for (int i = 0; i < 3; i++) {
		double s = 0;
		for (int j = 0; j < 3; j++) s += ke[(i * 3 + j) * m.elems + e] * v[j];
		atomicAdd(&r[t[i]], s);
	}
}

__global__ void applyColour(Mesh m, const int *list, int count, const double *ke, const double *u, double *r)
{
	int k = blockIdx.x * blockDim.x + threadIdx.x;
	if (k >= count) return;
	int e = list[k], t[3] = {m.tri[e].x, m.tri[e].y, m.tri[e].z};
	double v[3] = {u[t[0]], u[t[1]], u[t[2]]};
	for (int i = 0; i < 3; i++) {
		double s = r[t[i]];
		for (int j = 0; j < 3; j++) s += ke[(i * 3 + j) * m.elems + e] * v[j];
		r[t[i]] = s;
	}
}

__global__ void loadVector(Mesh m, double *f)
{
	int e = blockIdx.x * blockDim.x + threadIdx.x;
	if (e >= m.elems) return;
	int3 t = m.tri[e];
	double2 a = m.at[t.x], b = m.at[t.y], c = m.at[t.z];
	double area = ((b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y)) / 2;
	double v = area / 3 * sin(3.141592653589793 * (a.x + b.x + c.x) / 3);
	atomicAdd(&f[t.x], v);
	atomicAdd(&f[t.y], v);
	atomicAdd(&f[t.z], v);
}

__global__ void richardson(double *u, const double *f, double *r, const unsigned char *fixed, double w, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	if (!fixed[i]) u[i] += w * (f[i] - r[i]);
	r[i] = 0;
}

template <class T> T *put(const vector<T> &v)
{
	T *p;
	if (cudaMalloc((void **)&p, v.size() * sizeof(T)) != cudaSuccess) exit(9);
	cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
	return p;
}

int main(int argc, char **argv)
{
	int side = argc > 1 ? atoi(argv[1]) : 800, its = argc > 2 ? atoi(argv[2]) : 2500, n = (side + 1) * (side + 1), ne = side * side * 2;
	vector<double2> at(n);
	vector<int3> tri(ne);
	vector<unsigned char> fixed(n);
	for (int j = 0; j <= side; j++)
		for (int i = 0; i <= side; i++) {
			double x = (double)i / side, y = (double)j / side;
			at[j * (side + 1) + i] = make_double2(x + 0.05 * sin(6.28 * y) * x * (1 - x), y + 0.05 * sin(6.28 * x) * y * (1 - y));
			fixed[j * (side + 1) + i] = !i || !j || i == side || j == side;
		}
	vector<vector<int>> colour(8);
	for (int j = 0, e = 0; j < side; j++)
		for (int i = 0; i < side; i++) {
			int a = j * (side + 1) + i, b = a + 1, c = a + side + 1, d = c + 1;
			tri[e] = make_int3(a, b, d); colour[(j % 2 * 2 + i % 2) * 2].push_back(e++);
			tri[e] = make_int3(a, d, c); colour[(j % 2 * 2 + i % 2) * 2 + 1].push_back(e++);
		}
	Mesh m = {n, ne, put(at), put(tri)};
	vector<double> zero(n, 0.0), ua(n), uc(n), ke(9l * ne);
	double *dke, *u = put(zero), *r = put(zero), *f = put(zero);
	cudaMalloc((void **)&dke, 72l * ne);
	unsigned char *dfix = put(fixed);
	int *lists[8];
	for (int c = 0; c < 8; c++) lists[c] = put(colour[c]);
	int be = (ne + 127) / 128, bn = (n + 255) / 256;
	elementMatrices<<<be, 128>>>(m, dke);
	loadVector<<<be, 128>>>(m, f);
	for (int way = 0; way < 2; way++) {
		cudaMemset(u, 0, 8 * n); cudaMemset(r, 0, 8 * n);
		for (int it = 0; it < its; it++) {
			if (way == 0) applyAtomic<<<be, 128>>>(m, dke, u, r);
			else
				for (int c = 0; c < 8; c++) applyColour<<<((int)colour[c].size() + 127) / 128, 128>>>(m, lists[c], (int)colour[c].size(), dke, u, r);
			richardson<<<bn, 256>>>(u, f, r, dfix, 0.2, n);
		}
		cudaMemcpy((way ? uc : ua).data(), u, 8 * n, cudaMemcpyDeviceToHost);
	}
	cudaMemcpy(ke.data(), dke, 72l * ne, cudaMemcpyDeviceToHost);
	double rows = 0, differ = 0, most = 0;
	for (int e = 0; e < ne; e++)
		for (int i = 0; i < 3; i++) rows = std::max(rows, fabs(ke[(long)(i * 3) * ne + e] + ke[(long)(i * 3 + 1) * ne + e] + ke[(long)(i * 3 + 2) * ne + e]));
	for (int i = 0; i < n; i++) differ = std::max(differ, fabs(ua[i] - uc[i])), most = std::max(most, ua[i]);
	printf("rows of element matrices sum to %g, two ways differ by %g, largest %g (%s)\n", rows, differ, most, cudaGetErrorString(cudaGetLastError()));
	return !(rows < 1e-9 && differ < 1e-12 && most > 0);
}
