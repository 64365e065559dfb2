// SPDX-License-Identifier: Apache-2.0
// Kernels whose control and addresses depend on arguments and indices alone: the lowering of
// machine code is checked on them against test_sass_lower.c's own loops.
extern "C" __global__ void saxpy(float *y, const float *x, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = a * x[i] + y[i];
}

extern "C" __global__ void strided(float *y, const float *x, int n, int stride)
{
	float s = 0;
	for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += stride)
		s += x[k * 3 + 1];
	y[threadIdx.x] = s;
}

extern "C" __global__ void rectangle(float *y, const float *x, int width, int height)
{
	int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
	if (c < width && r < height)
		y[c * height + r] = x[r * width + c];
}

extern "C" __global__ void triangle(double *y, const double *x, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	double s = 0;
	for (unsigned j = 0; j <= i && j < n; j++)
		s += x[(i >> 2) * n + j];
	y[i] = s;
}

extern "C" __global__ void halving(int *y, const short *x, long long n)
{
	int s = 0;
	for (long long w = n; w > 0; w >>= 1)
		if (threadIdx.x < w)
			s += x[w + threadIdx.x];
	y[blockIdx.x * 64LL + (threadIdx.x ^ 5)] = s;
}

extern "C" __global__ void wide_index(long long *y, const char *x, long long n, int m)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
	for (long long k = i * m; k < n; k += (long long)gridDim.x * blockDim.x * m)
		y[k & 1023] += x[k - (k >> 3)];
}

extern "C" __global__ void clamped(float4 *y, const float4 *x, int n, int low, int high)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int at = min(max(i - low, 0), high);
	at = (at & 1) ? at * 5 : (at << 3) | 2;
	if (i % 3 != 1 || i > n)
		y[i] = x[at];
}
