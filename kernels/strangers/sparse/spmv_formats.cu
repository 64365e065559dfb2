// SPDX-License-Identifier: Apache-2.0
// One sparse matrix in five formats: y = A x, at several sizes. usage: spmv_formats [scale]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#define cudaCheck(call) { cudaError_t err = call; if (err != cudaSuccess) { printf("Error %d: %s\n", __LINE__, cudaGetErrorString(err)); exit(1); } }
const int WIDTH = 24; // of ELL
const int BS = 4;     // of blocks

__global__ void csr_scalar(int rows, const int *ptr, const int *idx, const float *val, const float *x, float *y)
{
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	if (r < rows) {
		float acc = 0;
		for (int j = ptr[r]; j < ptr[r + 1]; j++) acc += val[j] * x[idx[j]];
		y[r] = acc;
	}
}

__global__ void csr_vector(int rows, const int *ptr, const int *idx, const float *val, const float *x, float *y)
{
	int r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
	if (r < rows) {
		float acc = 0;
		for (int j = ptr[r] + lane; j < ptr[r + 1]; j += 32) acc += val[j] * x[idx[j]];
		acc += __shfl_xor_sync(~0u, acc, 16); acc += __shfl_xor_sync(~0u, acc, 8); acc += __shfl_xor_sync(~0u, acc, 4);
		acc += __shfl_xor_sync(~0u, acc, 2); acc += __shfl_xor_sync(~0u, acc, 1);
		if (lane == 0) y[r] = acc;
	}
}

__global__ void ell(int rows, const int *idx, const float *val, const float *x, float *y)
{
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	if (r >= rows) return;
	float acc = 0;
	for (int k = 0; k < WIDTH; k++) {
		int c = idx[k * rows + r];
		if (c >= 0) acc += val[k * rows + r] * x[c];
	}
	y[r] = acc;
}

__global__ void coo(int nnz, const int *ri, const int *ci, const float *val, const float *x, float *y)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < nnz; i += gridDim.x * blockDim.x)
		atomicAdd(y + ri[i], val[i] * x[ci[i]]);
}

template <int B> __global__ void bsr(int brows, const int *ptr, const int *idx, const float *val, const float *x, float *y)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x, br = t / B, r = t % B;
	if (br >= brows) return;
	float acc = 0;
	for (int j = ptr[br]; j < ptr[br + 1]; j++)
#pragma unroll
		for (int c = 0; c < B; c++) acc += val[(j * B + r) * B + c] * x[idx[j] * B + c];
	y[br * B + r] = acc;
}

static unsigned long long state = 88172645463325252ull;
static unsigned next() { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state >> 20; }
template <typename T> static T *dev(const std::vector<T> &h)
{
	T *d;
	cudaCheck(cudaMalloc(&d, h.size() * sizeof(T) + 16));
	cudaCheck(cudaMemcpy(d, h.data(), h.size() * sizeof(T), cudaMemcpyHostToDevice));
	return d;
}

static bool same(const std::vector<double> &ref, float *dy, const char *what)
{
	std::vector<float> y(ref.size());
	cudaCheck(cudaMemcpy(y.data(), dy, y.size() * 4, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < y.size(); i++)
		if (fabs(y[i] - ref[i]) > 1e-4 * (1 + fabs(ref[i]))) { printf("%s: row %zu is %g, not %g\n", what, i, y[i], ref[i]); return false; }
	return true;
}

int main(int argc, char **argv)
{
	double scale = argc > 1 ? atof(argv[1]) : 1;
	bool ok = true;
	for (int rows : {4096, 65536, 1000000}) {
		rows = (int)(rows * scale) / BS * BS;
		int repeats = (int)(1.2e9 / (rows + 60000) / scale);
		repeats = repeats > 2400 ? 2400 : repeats;
		std::vector<int> ptr{0}, idx, ri, ei((size_t)rows * WIDTH, -1), bptr{0}, bidx;
		std::vector<float> val, ev((size_t)rows * WIDTH, 0), bval, x(rows);
		for (auto &v : x) v = next() % 1000 / 500.f - 1;
		std::vector<double> ref(rows), bref(rows);
		for (int r = 0; r < rows; r++) {
			int len = next() % 4 ? 4 + next() % 6 : 1 + next() % WIDTH;
			for (int k = 0; k < len; k++) {
				int c = next() % 3 ? (r + next() % 300) % rows : next() % rows;
				float v = next() % 100 / 50.f;
				idx.push_back(c), val.push_back(v), ri.push_back(r);
				ei[(size_t)k * rows + r] = c, ev[(size_t)k * rows + r] = v;
				ref[r] += (double)v * x[c];
			}
			ptr.push_back(idx.size());
		}
		for (int b = 0; b < rows / BS; b++) {
			int len = 1 + next() % 5;
			for (int k = 0; k < len; k++) {
				bidx.push_back(next() % (rows / BS));
				for (int e = 0; e < BS * BS; e++) {
					bval.push_back(next() % 100 / 50.f);
					bref[b * BS + e / BS] += (double)bval.back() * x[bidx.back() * BS + e % BS];
				}
			}
			bptr.push_back(bidx.size());
		}
		int *dptr = dev(ptr), *didx = dev(idx), *dri = dev(ri), *dei = dev(ei), *dbptr = dev(bptr), *dbidx = dev(bidx);
		float *dval = dev(val), *dev_ = dev(ev), *dbval = dev(bval), *dx = dev(x), *dy = dev(std::vector<float>(rows));
		for (int i = 0; i < repeats; i++) csr_scalar<<<(rows + 127) / 128, 128>>>(rows, dptr, didx, dval, dx, dy);
		ok &= same(ref, dy, "csr scalar");
		for (int i = 0; i < repeats; i++) csr_vector<<<(rows + 7) / 8, 256>>>(rows, dptr, didx, dval, dx, dy);
		ok &= same(ref, dy, "csr vector");
		for (int i = 0; i < repeats; i++) ell<<<(rows + 255) / 256, 256>>>(rows, dei, dev_, dx, dy);
		ok &= same(ref, dy, "ell");
		for (int i = 0; i < repeats / 2; i++) {
			cudaCheck(cudaMemsetAsync(dy, 0, rows * 4));
			coo<<<264, 256>>>(idx.size(), dri, didx, dval, dx, dy);
		}
		ok &= same(ref, dy, "coo");
		for (int i = 0; i < repeats; i++) bsr<BS><<<(rows + 127) / 128, 128>>>(rows / BS, dbptr, dbidx, dbval, dx, dy);
		ok &= same(bref, dy, "bsr");
		for (void *p : {(void *)dptr, (void *)didx, (void *)dri, (void *)dei, (void *)dbptr, (void *)dbidx, (void *)dval, (void *)dev_, (void *)dbval, (void *)dx, (void *)dy})
			cudaCheck(cudaFree(p));
	}
	printf("%s\n", ok ? "all formats agree" : "WRONG");
	return ok ? 0 : 1;
}
