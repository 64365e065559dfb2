/* SPDX-License-Identifier: Apache-2.0 */
/* What arguments decide in other ways than by comparing integers: tables among them that are read by an index, quotients
 * and sums of 64 bits, floats, what lanes tell each other; copies past registers; and a wait for an mbarrier. */
#include <cstdint>

struct table {
	unsigned char which[8];
	short rounds[4];
	long long at[4];
	int4 wide[2];
};

extern "C" __global__ void tabled(int *y, const int *, const __grid_constant__ table t)
{
	int which = t.which[blockIdx.x], rounds = t.rounds[which];
	int *to = y + t.at[which] + t.wide[blockIdx.x & 1].z + threadIdx.x;

#pragma unroll 1
	for (int i = 0; i < rounds; i++)
		to[64 * i] = i;
}

extern "C" __global__ void divided(int *y, const int *, unsigned long long begin, unsigned long long by, long long less)
{
	unsigned long long i = begin + blockIdx.x * blockDim.x + threadIdx.x;
	long long signed_one = (long long)i - less;

	y[i / by] = 1;
	y[i % by] = 2;
	y[4096 + signed_one / 7919 % 1000] = 3;
}

extern "C" __global__ void carried(int *y, const int *, unsigned long long a, unsigned long long b, unsigned long long c)
{
	unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long sum = a + b + i, less = c - b - i;

	if (sum > c)
		y[sum >> 32 & 1023] = 1;
	y[2048 + (less >> 30 & 1023)] = 2;
}

extern "C" __global__ void factors(float *y, const float *x, float alpha, float beta, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int most = (int)(alpha * (float)i + 0.5f), floor_of = (int)floorf(alpha * (float)(i - 40));
	float sum = 0;

	if (beta != 0)
		sum = beta * x[i];
	if (fabsf(alpha - 1.25f) > 0.125f && fminf(alpha, beta) <= beta)
		sum += x[i + 512 + floor_of];
	for (int j = 0; j < most && j < n; j++)
		sum += x[1024 + 32 * j];
	y[i] = sum;
}

/* The same of doubles. */
extern "C" __global__ void weighed(float *y, const float *x, double alpha, double beta, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	double w = fma(alpha, (double)i, -beta);
	int most = (int)ceil(fabs(w) * 0.125), round = 0;
	float sum = 0;

	if (w > beta && !(w >= 3 * beta + 1))
		sum += x[i];
	if ((float)w < 2.5f)
		sum += x[512 + (long long)floor(w + 1000.25)];
	for (int j = 0; j < most && j < n; j++)
		sum += x[4096 + 32 * j];
#pragma unroll 1
	for (double d = -beta; d < 1 - alpha; d += alpha)
		sum *= x[8192 + 64 * round++ + i];
	y[(unsigned long long)(w * w)] = sum;
}

extern "C" __global__ void told(int *y, const int *, int least, int by)
{
	unsigned lane = threadIdx.x % 32;
	int from = __shfl_sync(~0u, (int)threadIdx.x * 3, (int)lane ^ by), above = __shfl_down_sync(~0u, from, 4);
	unsigned those = __ballot_sync(~0u, (int)threadIdx.x * by > least);

	y[from + above] = 1;
	if (__any_sync(~0u, from == least))
		y[1024 + __popc(those) + lane] = 2;
	if (lane == (unsigned)__ffs((int)those) - 1)
		y[2048 + __clz((int)those) + (int)threadIdx.x] = 3;
	y[3072 + (__brev(those) >> 20)] = 4;
}

#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
extern "C" __global__ void copied(int *y, const int *x, int rounds)
{
	__shared__ int4 tile[2][64];

#pragma unroll 1
	for (int i = 0; i < rounds; i++) {
		unsigned to = (unsigned)__cvta_generic_to_shared(&tile[i & 1][threadIdx.x]);

		asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n cp.async.commit_group;\n cp.async.wait_group 1;" ::"r"(to),
		             "l"(x + 4 * (64 * i + threadIdx.x)));
		__syncthreads();
		y[64 * i + threadIdx.x] = tile[i & 1][63 - threadIdx.x].x;
	}
}
#endif

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
extern "C" __global__ void awaited(int *y, const int *, int rounds)
{
	__shared__ unsigned long long full;
	unsigned at = (unsigned)__cvta_generic_to_shared(&full);

	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(at));
	__syncthreads();
#pragma unroll 1
	for (int i = 0; i < rounds; i++) {
		asm volatile("{\n.reg .b64 s;\nmbarrier.arrive.shared.b64 s, [%0];\n}" ::"r"(at));
		asm volatile("{\n.reg .pred p;\nAGAIN: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@p bra DONE;\nbra AGAIN;\nDONE:\n}" ::"r"(at),
		             "r"(i & 1));
		y[64 * i + threadIdx.x] = i;
	}
}
#endif
