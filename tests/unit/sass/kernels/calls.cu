/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are not inlined decide how often loops run and where memory is touched. */
__device__ __noinline__ int step(int n)
{
	return 3 * n + 1;
}

__device__ __noinline__ int reach(int n, int times)
{
	int sum = 0;

	for (int i = 0; i < times; i++)
		sum += step(n + i);
	return sum;
}

extern "C" __global__ void stepping(int *y, const int *, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int j = 0; j < step(n); j++)
		y[i + step(n) * j] = i;
}

extern "C" __global__ void nested(int *y, const int *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	y[i] = x[i + reach(n, 3)];
}

__device__ __noinline__ int down(int n)
{
	return n < 2 ? n : down(n - 1) + down(n - 2);
}

extern "C" __global__ void recursive(int *y, const int *, int n)
{
	y[threadIdx.x] = down(n);
}

typedef int (*counted)(int);

/* Which function it is stands in a register. */
extern "C" __global__ void by_register(int *y, const counted *f, int n)
{
	for (int i = 0; i < n; i++)
		y[i] = f[i & 1](i);
}

__device__ counted both[2] = {step, down};
