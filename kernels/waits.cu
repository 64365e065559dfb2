/*
 * Chains of one warp (waits.def), two lengths each as in operations.cuh: the slope between them is
 * a step's time. And the one wait that no chain can contain, a taken branch.
 */
#include "operations.cuh"

namespace gw {

/** What a step may use beside x. */
struct context {
	b32 word, guard; /* constants, equal in all lanes; x is never the guard */
	b32 zero, nothing; /* 0, which the compiler does not know */
	b32 shared; /* 16 bytes of shared memory of the lane's own */
	b64 global; /* the same of global memory; both begin with their own address */
};

__device__ inline context own_words(const arguments &a)
{
	extern __shared__ __align__(16) b32 words[];
	context k;

	k.word = constant_operand<b32>(a, 1);
	k.guard = constant_operand<b32>(a, 2);
	k.zero = a.hidden->zero;
	k.nothing = a.hidden->zero & threadIdx.x;
	k.shared = (b32)__cvta_generic_to_shared(words + 4 * threadIdx.x);
	k.global = (b64)((char *)a.out + GW_WAIT_WORDS + 16 * threadIdx.x);
	*(volatile b32 *)(words + 4 * threadIdx.x) = k.shared;
	*(volatile b64 *)k.global = k.global;
	__threadfence();
	__syncthreads();
	return k;
}

enum wait_kind { number, mask, pointer, sm, paging };

/** The first x, by type. */
template <bool is_pointer> __device__ inline b32 first_x(const arguments &a, const context &k, b32)
{
	return is_pointer ? k.shared : ((const b32 *)a.in)[threadIdx.x];
}
template <bool is_pointer> __device__ inline b64 first_x(const arguments &, const context &k, b64)
{
	return k.global;
}

/** cycles: round by round, short and long chain. */
template <class Op> __device__ inline void waited(const arguments &a)
{
	using T = typename Op::T;
	context k = own_words(a);
	const gw_hidden hidden = *a.hidden;
	const T first = first_x<Op::kind == pointer>(a, k, T());
	T x = first;

#pragma unroll 1
	for (unsigned round = 0; round < hidden.rounds; round++) {
		b32 t[4];

		x = first;
		if (Op::kind == paging)
			k.global += GW_WAIT_PAGE;
		t[0] = start(x, hidden.zero);
#pragma unroll
		for (unsigned i = 0; i < Op::length; i++)
			Op::step(x, k);
		t[1] = stop(low(x), hidden.guard);
		t[2] = start(x, hidden.zero);
#pragma unroll
		for (unsigned i = 0; i < GW_LONG * Op::length; i++)
			Op::step(x, k);
		t[3] = stop(low(x), hidden.guard);
		if (!threadIdx.x) {
			a.cycles[2 * round] = t[1] - t[0];
			a.cycles[2 * round + 1] = t[3] - t[2];
		}
	}
	((T *)a.out)[threadIdx.x] = x;
}

#define WAITED(name, type, count, what, result, sass, ...) \
	struct wait_##name { \
		using T = type; \
		static constexpr unsigned length = count; \
		static constexpr wait_kind kind = what; \
		__device__ static void step(T &x, context &k) \
		{ \
			(void)k; \
			__VA_ARGS__; \
		} \
	};
#include "waits.def"

} // namespace gw

#define WAITED(name, type, count, what, result, sass, ...) \
	extern "C" __global__ void __launch_bounds__(GW_LANES) gw_chain_wait_##name(gw::arguments a) \
	{ \
		gw::waited<gw::wait_##name>(a); \
	}
#include "waits.def"

/**
 * cycles: the sum over the turns of a loop, all but its first, of what passes from a reading of the
 * clock right before the branch back to one right after it. The reading before has the branch's own
 * guard, so that nothing that computes the guard comes between.
 */
extern "C" __global__ void __launch_bounds__(GW_LANES) gw_wait_branch(gw::arguments a)
{
	const gw_hidden hidden = *a.hidden;
	gw::b32 before = 0, all = 0, trip = 0;

#pragma unroll 1
	do {
		const gw::b32 now = gw::clock_now();

		all += trip ? now - before : 0;
		trip++;
		asm volatile("{.reg .pred p; setp.lt.u32 p, %1, %2; @p mov.u32 %0, %%clock;}"
			     : "+r"(before)
			     : "r"(trip), "r"(hidden.rounds)
			     : "memory");
	} while (trip < hidden.rounds);
	if (!threadIdx.x)
		a.cycles[0] = all;
	((gw::b32 *)a.out)[threadIdx.x] = trip;
}
