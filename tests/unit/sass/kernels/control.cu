// SPDX-License-Identifier: Apache-2.0
// Control flow, warps and blocks working together.
#include <cooperative_groups.h>
#include <stdint.h>
#include <stdio.h>
namespace cg = cooperative_groups;

extern "C" __global__ void divergence(int *a, const int *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, r = 0;
	if (b[i] & 1) {
		for (int k = 0; k < b[i]; k++)
			r += b[k] * k;
	} else if (b[i] > n) {
		r = a[b[i]];
		if (r < 0)
			return;
	}
	while (r > n) {
		r = a[r];
		if (r == 17)
			break;
		if (r == 5)
			continue;
		a[r + 1] = r;
	}
	a[i] = r;
}

extern "C" __global__ void switches(int *a, int n)
{
	int i = threadIdx.x, v = a[i];
	switch (v) {
	case 0: a[i] = n; break;
	case 1: a[i + n] = v * 3; break;
	case 2: a[i] = a[n]; break;
	case 3: a[i] = __popc(n); break;
	case 4: a[i + 4] = n + 3; break;
	case 5: a[i + 5] = n / 3; break;
	case 6: a[i + 6] = n * n; break;
	case 7: a[i + 7] ^= n; break;
	case 8: a[i + 8] |= n; break;
	default: a[i + 9] = -1;
	}
}

__device__ __noinline__ int helper(int x, int *a)
{
	return x < 2 ? a[x] : a[x - 1] * 3 + a[x / 2];
}

__device__ __noinline__ int fibonacci(int x)
{
	return x < 2 ? x : fibonacci(x - 1) + fibonacci(x - 2);
}

extern "C" __global__ void calls(int *a, int n)
{
	int r = 0;
	for (int k = 0; k < n; k++)
		r += helper(k, a);
	a[threadIdx.x] = r + fibonacci(n);
}

typedef int (*function)(int, int *);
__device__ int other(int x, int *a)
{
	return a[x] ^ x;
}
__device__ function functions[2] = {helper, other};

extern "C" __global__ void indirect_calls(int *a, int n)
{
	a[threadIdx.x] = functions[n & 1](n, a);
}

extern "C" __global__ void warp_ops(int *a, float *f, int n)
{
	int i = threadIdx.x, v = a[i];
	v += __shfl_xor_sync(~0u, v, 16) + __shfl_up_sync(~0u, v, 1) + __shfl_down_sync(~0u, v, 2);
	v += __shfl_sync(~0u, v, n);
	v += __ballot_sync(~0u, v > n) + __any_sync(~0u, v > 3) + __all_sync(~0u, v > 4);
	v += __activemask() + __popc(__match_any_sync(~0u, v));
	int p;
	v += __match_all_sync(~0u, v, &p) + p;
	__syncwarp();
	uint32_t lane, clk;
	asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
	asm volatile("mov.u32 %0, %%smid;" : "=r"(clk));
	a[i] = v + lane + clk + (int)clock64() + clock();
}

extern "C" __global__ void reduce(float *a, const float *b, int n)
{
	__shared__ float s[256];
	int i = threadIdx.x;
	float r = 0;
	for (int k = i; k < n; k += blockDim.x)
		r += b[k];
	s[i] = r;
	__syncthreads();
	for (int w = 128; w > 0; w >>= 1) {
		if (i < w)
			s[i] += s[i + w];
		__syncthreads();
	}
	if (i == 0)
		a[blockIdx.x] = s[0];
}

extern "C" __global__ void named_barriers(int *a, int n)
{
	__shared__ int s[64];
	if (threadIdx.x < 32) {
		s[threadIdx.x] = n;
		asm volatile("bar.arrive 1, 64;" ::: "memory");
	} else {
		asm volatile("bar.sync 1, 64;" ::: "memory");
		a[threadIdx.x] = s[threadIdx.x & 31];
	}
	asm volatile("trap;");
}

extern "C" __global__ void groups(int *a, int n)
{
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
	int v = a[block.thread_rank()];
	v += tile.shfl_down(v, 2) + tile.any(v > n);
	tile.sync();
	cg::grid_group grid = cg::this_grid();
	a[block.thread_rank()] = v;
	grid.sync();
	cg::coalesced_group active = cg::coalesced_threads();
	a[n] = active.thread_rank();
	if (v == n)
		__trap();
}

extern "C" __global__ void gemm(float *c, const float *a, const float *b, int n)
{
	__shared__ float as[16][16], bs[16][17];
	int x = threadIdx.x, y = threadIdx.y;
	int row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
	float sum = 0;
	for (int k = 0; k < n; k += 16) {
		as[y][x] = a[row * n + k + x];
		bs[y][x] = b[(k + y) * n + col];
		__syncthreads();
#pragma unroll
		for (int j = 0; j < 16; j++)
			sum += as[y][j] * bs[j][x];
		__syncthreads();
	}
	c[row * n + col] = sum;
}

extern "C" __global__ void nested_loops(float *a, const float *b, int n, int m)
{
	float s = 0;
	for (int i = 0; i < n; i++) {
#pragma unroll 1
		for (int j = 0; j < m; j++) {
			s += b[i * m + j];
#pragma unroll 1
			for (int k = 0; k < 3; k++)
				s *= 1.5f;
		}
		a[i] = s;
	}
}

extern "C" __global__ void printing(int n)
{
	if (n > threadIdx.x)
		printf("%d\n", n);
}

extern "C" __global__ void uniform_work(int *a, int n, int m)
{
	int base = n * m + (n >> 3) + (m & 7);
	for (int k = 0; k < n; k++)
		base = base * 3 + (base ^ k);
	a[threadIdx.x + base] = min(base, m) + __popc(base) + (n > m ? base << 2 : 7);
}
