/*
 * Operational intensity in steps (Konstantinidis 2017, 3.2 and A.1): each element is read once from
 * device memory and goes through a number of dependent multiply-adds, times the kernel's last
 * argument. The sum at the end is never stored: it only keeps the compiler from dropping the work.
 */
#include <cstdint>
#include <cuda_fp16.h>

enum { GRANULARITY = 8 }; /* elements of a thread in flight together */

__device__ inline float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double multiply_add(double a, double b, double c) { return fma(a, b, c); }
__device__ inline __half2 multiply_add(__half2 a, __half2 b, __half2 c) { return __hfma2(a, b, c); }
__device__ inline int32_t multiply_add(int32_t a, int32_t b, int32_t c) { return a * b + c; }
__device__ inline bool never(float x) { return x == -1.0f; }
__device__ inline bool never(double x) { return x == -1.0; }
__device__ inline bool never(int32_t x) { return x == -1; }
__device__ inline bool never(__half2 x) { return __heq(__low2half(x), __float2half(-1.0f)); }

template <class T, unsigned unrolled>
__device__ inline void mix(T *data, T seed, uint64_t tiles, uint32_t repeats)
{
	const uint64_t stride = (uint64_t)gridDim.x * blockDim.x * GRANULARITY;
	T *at = data + (uint64_t)blockIdx.x * blockDim.x * GRANULARITY + threadIdx.x;

#pragma unroll 1
	for (uint64_t tile = 0; tile < tiles; tile++, at += stride) {
		T x[GRANULARITY], sum = seed;

#pragma unroll
		for (unsigned k = 0; k < GRANULARITY; k++)
			x[k] = at[k * blockDim.x];
#pragma unroll 1
		for (uint32_t i = 0; i < repeats; i++)
#pragma unroll
			for (unsigned j = 0; j < unrolled; j++)
#pragma unroll
				for (unsigned k = 0; k < GRANULARITY; k++)
					x[k] = multiply_add(x[k], x[k], seed);
#pragma unroll
		for (unsigned k = 0; k < GRANULARITY; k += 2)
			sum = multiply_add(x[k], x[k + 1], sum);
		if (never(sum))
			*at = sum;
	}
}

/*
 * Steps of one iteration of the inner loop: few where few are needed, else enough to hide the
 * loop's own instructions.
 */
#define MIX_OF(name, T, unrolled) \
	extern "C" __global__ void __launch_bounds__(256) \
		gw_mix_##name##_##unrolled(T *data, T seed, uint64_t tiles, uint32_t repeats) \
	{ \
		mix<T, unrolled>(data, seed, tiles, repeats); \
	}
#define MIX(name, T) MIX_OF(name, T, 1) MIX_OF(name, T, 4) MIX_OF(name, T, 16)
MIX(fp32, float)
MIX(fp64, double)
MIX(fp16, __half2)
MIX(int, int32_t)
