/*
 * Clocks and loads as PTX statements, so that the compiler neither moves nor drops them. The
 * registers are read in program order; for what is timed to arrive before the second reading an
 * instruction must consume it, see GW_ARRIVED.
 */
#ifndef GW_KERNELS_TIMING_CUH
#define GW_KERNELS_TIMING_CUH

typedef unsigned long long gw_u64;

/** The SM's cycle counter: its intervals are those of one SM, never between two. */
static __device__ __forceinline__ gw_u64 gw_cycle()
{
	gw_u64 t;

	asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
	return t;
}

/**
 * Cycles from @p begin to @p end, 2^32 - 1 at most. From a plain truncation the assembler makes
 * 32-bit readings, the first through the uniform datapath, which is late by a varying amount.
 */
static __device__ __forceinline__ unsigned gw_interval(gw_u64 begin, gw_u64 end)
{
	return end - begin < ~0u ? (unsigned)(end - begin) : ~0u;
}

/** Nanoseconds of the clock that all SMs share; its step is the device's own. */
static __device__ __forceinline__ gw_u64 gw_nanosecond()
{
	gw_u64 t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
	return t;
}

static __device__ __forceinline__ unsigned gw_sm()
{
	unsigned sm;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
	return sm;
}

/** A load of 64 bits by the given cache operator (ca: L1 and L2, cg: L2 only). */
#define GW_LOAD64(operator_, to, address) \
	asm volatile("ld.global." operator_ ".u64 %0, [%1];" : "=l"(to) : "l"(address) : "memory")
#define GW_LOAD32(operator_, to, address) \
	asm volatile("ld.global." operator_ ".u32 %0, [%1];" : "=r"(to) : "l"(address) : "memory")
/** Four words at once. */
#define GW_LOAD128(operator_, to, address) \
	asm volatile("ld.global." operator_ ".v4.u32 {%0, %1, %2, %3}, [%4];" \
		     : "=r"((to).x), "=r"((to).y), "=r"((to).z), "=r"((to).w) \
		     : "l"(address) \
		     : "memory")

/**
 * Store @p value at @p shared: a warp issues in order, so a later clock reading follows the value's
 * arrival. The kernel without the load has the same store, so its cost cancels with that of the
 * clock.
 */
#define GW_ARRIVED(shared, value) \
	asm volatile("st.shared.u32 [%0], %1;" \
		     : \
		     : "r"((unsigned)__cvta_generic_to_shared(shared)), "r"((unsigned)(value)) \
		     : "memory")

#endif
