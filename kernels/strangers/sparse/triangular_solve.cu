// SPDX-License-Identifier: Apache-2.0
/*
 * Solves L x = b for a sparse lower triangular L.
 *  (1) without synchronisation: a warp to a row, which spins until the rows it needs are done
 *  (2) level by level, a launch to a level
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

static int rows = 200000, repeats = 350;

__global__ void spin_solve(const int *ptr, const int *idx, const double *val, const double *b, volatile double *x, volatile int *done, int n,
                           int *ticket)
{
	__shared__ int base;
	if (threadIdx.x == 0)
		base = atomicAdd(ticket, 1) * (blockDim.x / 32);
	__syncthreads();
	int row = base + threadIdx.x / 32, lane = threadIdx.x % 32;
	if (row >= n)
		return;
	int last = ptr[row + 1] - 1;
	double sum = 0;
	for (int j = ptr[row] + lane; j < last; j += 32) {
		while (!done[idx[j]])
			;
		__threadfence();
		sum += val[j] * x[idx[j]];
	}
	for (int d = 16; d; d >>= 1)
		sum += __shfl_xor_sync(0xffffffffu, sum, d);
	if (lane == 0) {
		x[row] = (b[row] - sum) / val[last];
		__threadfence();
		done[row] = 1;
	}
}

__global__ void level_solve(const int *order, int from, int to, const int *ptr, const int *idx, const double *val, const double *b, double *x)
{
	int i = from + blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= to)
		return;
	int row = order[i], last = ptr[row + 1] - 1;
	double sum = b[row];
	for (int j = ptr[row]; j < last; j++)
		sum -= val[j] * x[idx[j]];
	x[row] = sum / val[last];
}

__global__ void clear_done(int *done, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		done[i] = 0;
}

int main(int argc, char **argv)
{
	if (argc > 1) rows = atoi(argv[1]);
	if (argc > 2) repeats = atoi(argv[2]);
	int n = rows, *ptr = (int *)malloc(4 * (n + 1)), *idx = (int *)malloc(4l * n * 8), *level = (int *)calloc(n, 4), levels = 0, nnz = 0;
	double *val = (double *)malloc(8l * n * 8), *b = (double *)malloc(8 * n), *x = (double *)malloc(8 * n), *got = (double *)malloc(8 * n);
	srand(31);
	for (int r = 0; r < n; r++) {
		int deps = r < 64 ? 0 : rand() % 7;
		ptr[r] = nnz;
		b[r] = rand() % 1000 / 100.0;
		double sum = 0;
		for (int k = 0; k < deps; k++) {
			int c = rand() % 8 ? (int)(r * (rand() / (RAND_MAX + 1.0))) : r - 1 - rand() % 60;
			idx[nnz] = c;
			val[nnz] = (rand() % 100) / 200.0;
			sum += val[nnz] * x[c];
			if (level[c] + 1 > level[r]) level[r] = level[c] + 1;
			nnz++;
		}
		idx[nnz] = r;
		val[nnz] = 2 + rand() % 3;
		x[r] = (b[r] - sum) / val[nnz];
		nnz++;
		if (level[r] + 1 > levels) levels = level[r] + 1;
	}
	ptr[n] = nnz;
	int *order = (int *)malloc(4 * n), *start = (int *)calloc(levels + 2, 4);
	for (int r = 0; r < n; r++) start[level[r] + 1]++;
	for (int l = 0; l < levels; l++) start[l + 1] += start[l];
	int *at = (int *)malloc(4 * (levels + 1));
	for (int l = 0; l <= levels; l++) at[l] = start[l];
	for (int r = 0; r < n; r++) order[at[level[r]]++] = r;
	int *dptr, *didx, *ddone, *dorder, *ticket;
	double *dval, *db, *dx;
	cudaMalloc(&dptr, 4 * (n + 1)); cudaMalloc(&didx, 4l * nnz); cudaMalloc(&ddone, 4 * n); cudaMalloc(&dorder, 4 * n); cudaMalloc(&ticket, 4);
	cudaMalloc(&dval, 8l * nnz); cudaMalloc(&db, 8 * n); cudaMalloc(&dx, 8 * n);
	cudaMemcpy(dptr, ptr, 4 * (n + 1), cudaMemcpyHostToDevice); cudaMemcpy(didx, idx, 4l * nnz, cudaMemcpyHostToDevice);
	cudaMemcpy(dval, val, 8l * nnz, cudaMemcpyHostToDevice); cudaMemcpy(db, b, 8 * n, cudaMemcpyHostToDevice);
	cudaMemcpy(dorder, order, 4 * n, cudaMemcpyHostToDevice);
	double worst = 0;
	for (int way = 0; way < 2; way++) {
		for (int r = 0; r < repeats; r++) {
			if (way == 0) {
				cudaMemset(ticket, 0, 4);
				clear_done<<<(n + 255) / 256, 256>>>(ddone, n);
				spin_solve<<<(n + 7) / 8, 256>>>(dptr, didx, dval, db, dx, ddone, n, ticket);
			} else
				for (int l = 0; l < levels; l++)
					level_solve<<<(start[l + 1] - start[l] + 127) / 128, 128>>>(dorder, start[l], start[l + 1], dptr, didx, dval, db, dx);
		}
		if (cudaMemcpy(got, dx, 8 * n, cudaMemcpyDeviceToHost) != cudaSuccess) {
			printf("%s\n", cudaGetErrorString(cudaGetLastError()));
			return 3;
		}
		for (int r = 0; r < n; r++)
			if (!(fabs(got[r] - x[r]) <= 1e-9 * (1 + fabs(x[r])))) worst = INFINITY;
		cudaMemset(dx, 0, 8 * n);
	}
	printf("%d rows, %d levels: %s\n", n, levels, worst == 0 ? "ok" : "wrong");
	return worst != 0;
}
