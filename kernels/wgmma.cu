/*
 * Warpgroup matrix operations of sm_90a: m64n256, factors in shared memory (rows of 128 bytes,
 * swizzled), sum in 128 registers of each of 128 threads. A tile of factors is four operations
 * deep. The host supplies the contents: random for a rate, one number throughout for a checked
 * result, which makes it independent of the layout.
 */
#include "operations.cuh"

namespace gw {


/* Descriptor of a tile: its address, 1024 bytes from eight rows to the next, 128-byte swizzle. */
__device__ inline b64 descriptor(b32 at)
{
	return (b64)((at & 0x3ffff) >> 4) | (b64)1 << 16 | (b64)(1024 >> 4) << 32 | (b64)1 << 62;
}

/* The sum's registers in PTX, and as operands of an asm statement: f for f32, r for s32. */
#define SUM_REGISTERS \
	"%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
	"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
	"%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
	"%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
	"%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
	"%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
	"%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
	"%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define FOUR(k, at)    "+" k(x[at]), "+" k(x[at + 1]), "+" k(x[at + 2]), "+" k(x[at + 3])
#define SIXTEEN(k, at) FOUR(k, at), FOUR(k, at + 4), FOUR(k, at + 8), FOUR(k, at + 12)
#define SUM_OPERANDS(k) \
	SIXTEEN(k, 0), SIXTEEN(k, 16), SIXTEEN(k, 32), SIXTEEN(k, 48), SIXTEEN(k, 64), SIXTEEN(k, 80), \
	SIXTEEN(k, 96), SIXTEEN(k, 112)

#define WGMMA(name, type, kind, sass, suffix, scales) \
	struct name { \
		using T = type; \
		static __device__ void step(T (&x)[GW_WGMMA_SUMS], b64 a, b64 b) \
		{ \
			asm volatile("wgmma.mma_async.sync.aligned.m64n256" suffix \
				     " {" SUM_REGISTERS "}, %128, %129, 1" scales ";" \
				     : SUM_OPERANDS(kind) \
				     : "l"(a), "l"(b)); \
		} \
	};
#include "wgmma.def"
#undef WGMMA

/** The factors A and B from a.in into shared memory. */
__device__ inline void fill(const arguments &a, b32 *words)
{
	for (unsigned i = threadIdx.x; i < (GW_WGMMA_A_BYTES + GW_WGMMA_B_BYTES) / 4; i += blockDim.x)
		words[i] = ((const b32 *)a.in)[i];
	asm volatile("fence.proxy.async;" ::: "memory");
	__syncthreads();
}

__device__ inline void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void finish()
{
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
	asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/** @p count operations, each waited for. */
template <class Op, unsigned count>
__device__ inline void one_by_one(typename Op::T (&x)[GW_WGMMA_SUMS], b64 a, b64 b)
{
#pragma unroll
	for (unsigned i = 0; i < count; i++) {
		fence();
		Op::step(x, a + 2 * (i % GW_WGMMA_SLICES), b + 2 * (i % GW_WGMMA_SLICES));
		finish();
	}
}

/** As chain of operations.cuh, for one warpgroup: the latency of an operation waited for. */
template <class Op> __device__ inline void wait_chain(const arguments &a)
{
	extern __shared__ __align__(1024) b32 tile[];
	const b32 at = (b32)__cvta_generic_to_shared(tile);
	const b64 factor = descriptor(at), other = descriptor(at + GW_WGMMA_A_BYTES);
	const gw_hidden hidden = *a.hidden;
	typename Op::T x[GW_WGMMA_SUMS] = {};

	fill(a, tile);
#pragma unroll 1
	for (unsigned round = 0; round < hidden.rounds; round++) {
		b32 t[4];

		/* Untimed: so that the addresses of the slices are there before the clock is read. */
		one_by_one<Op, GW_WGMMA_SLICES>(x, factor, other);
		t[0] = start(x[0], hidden.zero);
		one_by_one<Op, GW_WGMMA_SLICES>(x, factor, other);
		t[1] = stop(x[0], hidden.guard);
		t[2] = start(x[0], hidden.zero);
		one_by_one<Op, GW_LONG * GW_WGMMA_SLICES>(x, factor, other);
		t[3] = stop(x[0], hidden.guard);
		if (!threadIdx.x) {
			a.cycles[2 * round] = t[1] - t[0];
			a.cycles[2 * round + 1] = t[3] - t[2];
		}
	}
#pragma unroll
	for (unsigned i = 0; i < GW_WGMMA_SUMS; i++)
		((typename Op::T *)a.out)[threadIdx.x * GW_WGMMA_SUMS + i] = x[i];
}

/** As rate of operations.cuh: the block's warpgroups alternate on the tensor cores. */
template <class Op> __device__ inline void stream(const arguments &a)
{
	extern __shared__ __align__(1024) b32 tile[];
	const b32 at = (b32)__cvta_generic_to_shared(tile);
	const b64 factor = descriptor(at), other = descriptor(at + GW_WGMMA_A_BYTES);
	const unsigned rounds = a.hidden->rounds;
	typename Op::T x[GW_WGMMA_SUMS] = {};
	b32 began, ended;

	fill(a, tile);
	began = clock_now();
#pragma unroll 1
	for (unsigned round = 0; round < rounds; round++) {
		fence();
#pragma unroll
		for (unsigned i = 0; i < GW_WGMMA_STEPS; i++)
			Op::step(x, factor + 2 * (i % GW_WGMMA_SLICES), other + 2 * (i % GW_WGMMA_SLICES));
		finish();
	}
	ended = clock_now();
	record(a, began, ended);
	/* One row of sums per block shows whether all were correct. */
	if (threadIdx.x < GW_WGMMA_THREADS)
#pragma unroll
		for (unsigned i = 0; i < GW_WGMMA_SUMS; i++)
			((typename Op::T *)a.out)[threadIdx.x * GW_WGMMA_SUMS + i] = x[i];
}

} // namespace gw

#define WGMMA(name, type, kind, sass, suffix, scales) \
	extern "C" __global__ void __launch_bounds__(128) gw_chain_##name(gw::arguments a) \
	{ \
		gw::wait_chain<gw::name>(a); \
	} \
	extern "C" __global__ void __launch_bounds__(256) gw_rate_##name(gw::arguments a) \
	{ \
		gw::stream<gw::name>(a); \
	}
#include "wgmma.def"
