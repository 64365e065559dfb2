/*
 * Pointer chases: one thread follows a chain of addresses through memory, so that each load
 * waits for the one before.
 */
#include "permutation.h"
#include "timing.cuh"

/** What a chase reports. */
struct gw_chase_result {
	gw_u64 cycles; /* of the timed loads */
	gw_u64 next;   /* where the chain goes on */
};

/*
 * Lay a chain over [base, base + count * stride); its last link leads to the first. Links that
 * follow each other are written by different SMs: what L2 keeps on which side depends on it.
 */
extern "C" __global__ void gw_chain_build(char *base, unsigned count, gw_u64 stride, unsigned seed)
{
	unsigned step = gridDim.x * blockDim.x;

	for (unsigned i = threadIdx.x * gridDim.x + blockIdx.x; i < count; i += step)
		*(char **)(base + gw_link_offset(i, count, stride, seed)) =
			base + gw_link_offset(i + 1 < count ? i + 1 : 0, count, stride, seed);
}

/*
 * True in all threads of one block that runs on SM @p sm; the others have nothing to do. The
 * launch has enough blocks that one reaches each SM.
 */
static __device__ bool elected(unsigned sm, unsigned *claim)
{
	__shared__ unsigned mine;

	if (threadIdx.x == 0)
		mine = gw_sm() == sm && atomicExch(claim, 1u) == 0;
	__syncthreads();
	return mine;
}

/*
 * Bring [base, base + bytes) into this SM's side of L2: all threads, one word of each line. The
 * words are consumed at @p shared: the assembler drops loads with unused results.
 */
static __device__ void warm_up(const char *base, gw_u64 bytes, unsigned *shared)
{
	unsigned all = 0;

	for (gw_u64 at = threadIdx.x * 128ull; at < bytes; at += blockDim.x * 128ull) {
		unsigned word;

		GW_LOAD32("cg", word, base + at);
		all ^= word;
	}
	GW_ARRIVED(shared, all);
	__syncthreads();
}

/*
 * From @p start, follow @p skip links untimed and @p loads (a multiple of 16) timed together. The
 * cost of the clock is one part in `loads`, so none is subtracted.
 */
#define CHASE(suffix, operator_) \
	extern "C" __global__ void gw_chase_##suffix(const char *base, gw_u64 warm, gw_u64 start, \
						     unsigned skip, unsigned loads, unsigned sm, \
						     unsigned *claim, gw_chase_result *result) \
	{ \
		__shared__ unsigned arrived; \
		gw_u64 p = start, begin; \
												   \
		if (!elected(sm, claim)) \
			return; \
		warm_up(base, warm, &arrived); \
		if (threadIdx.x) \
			return; \
		_Pragma("unroll 1") for (unsigned i = 0; i < skip; i++) \
			GW_LOAD64(operator_, p, p); \
		begin = gw_cycle(); \
		_Pragma("unroll 1") for (unsigned i = 0; i < loads; i += 16) \
		{ \
			_Pragma("unroll") for (unsigned j = 0; j < 16; j++) \
				GW_LOAD64(operator_, p, p); \
		} \
		GW_ARRIVED(&arrived, p); \
		result->cycles = gw_cycle() - begin; \
		result->next = p; \
	}

CHASE(ca, "ca")
CHASE(cg, "cg")

/*
 * The same, each load timed on its own, into shared memory and from there to @p cycles. The twin
 * without the load measures the cost of the two readings of the clock and the store between them.
 */
#define CHASE_EACH(suffix, load) \
	extern "C" __global__ void gw_chase_each_##suffix( \
		const char *base, gw_u64 warm, gw_u64 start, unsigned skip, unsigned loads, \
		unsigned sm, unsigned *claim, gw_chase_result *result, unsigned *cycles) \
	{ \
		extern __shared__ unsigned each[]; \
		__shared__ unsigned arrived; \
		gw_u64 p = start; \
												   \
		if (!elected(sm, claim)) \
			return; \
		warm_up(base, warm, &arrived); \
		if (threadIdx.x == 0) { \
			_Pragma("unroll 1") for (unsigned i = 0; i < skip; i++) \
				load; \
			_Pragma("unroll 1") for (unsigned i = 0; i < loads; i++) \
			{ \
				gw_u64 begin = gw_cycle(); \
												   \
				load; \
				GW_ARRIVED(&arrived, p); \
				each[i] = gw_interval(begin, gw_cycle()); \
			} \
			result->next = p; \
			result->cycles = loads; \
		} \
		__syncthreads(); \
		for (unsigned i = threadIdx.x; i < loads; i += blockDim.x) \
			cycles[i] = each[i]; \
	}

CHASE_EACH(ca, GW_LOAD64("ca", p, p))
CHASE_EACH(cg, GW_LOAD64("cg", p, p))
CHASE_EACH(none, (void)0)
