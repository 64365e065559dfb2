/*
 * The memory method of Sanchez Gil 2017 (5.3, 5.4, 5.6): every thread loads its word three times, a
 * barrier before each, and the clock is read before and after. One thread of each warp reports (the
 * thesis keeps one of 32: the others are equal). Consecutive threads load consecutive words, so a
 * warp's request is one transaction. @p near is an untimed word in the same page: it loads the
 * page's translation.
 */
#include "timing.cuh"

enum { LOADS = 3 };

/* Each warp's readings in shared memory: LOADS each, then out behind one another. */
static __device__ void report(const unsigned *readings, unsigned *cycles)
{
	unsigned warps = blockDim.x / 32;

	__syncthreads();
	for (unsigned i = threadIdx.x; i < warps * LOADS; i += blockDim.x)
		cycles[blockIdx.x * warps * LOADS + i] = readings[i];
}

/*
 * @p load reads a word into `word` from `data` (global) or `local` (the thread's own array,
 * indexed by an argument so that it stays in memory).
 */
#define SWEEP(suffix, prepare, load) \
	extern "C" __global__ void gw_sweep_##suffix(const unsigned *data, const unsigned *near, \
						     unsigned index, unsigned *cycles, \
						     unsigned *sums) \
	{ \
		extern __shared__ unsigned readings[]; \
		__shared__ unsigned arrived[32]; \
		unsigned thread = blockIdx.x * blockDim.x + threadIdx.x; \
		unsigned warp = threadIdx.x / 32, sum; \
												   \
		prepare; \
		GW_LOAD32("cg", sum, near); \
		GW_ARRIVED(&arrived[warp], sum); \
		sum = 0; \
		_Pragma("unroll") for (unsigned i = 0; i < LOADS; i++) \
		{ \
			unsigned word = index; \
			gw_u64 begin, end; \
												   \
			__syncthreads(); \
			begin = gw_cycle(); \
			load; \
			GW_ARRIVED(&arrived[warp], word); \
			end = gw_cycle(); \
			if (threadIdx.x % 32 == 0) \
				readings[warp * LOADS + i] = gw_interval(begin, end); \
			sum += word; \
		} \
		sums[thread] = sum; \
		report(readings, cycles); \
	}

SWEEP(global, const unsigned *at = data + thread, GW_LOAD32("cg", word, at))
SWEEP(local, unsigned array[256]; volatile unsigned *at = array + index; *at = data[thread],
      word = *at)
SWEEP(none, , )
