/*
 * The microbenchmarks of one operation, made from code.def. Three shapes:
 *   chain_NAME    two chains of dependent operations, short and long: the slope between
 *                 their lengths is the latency, and what reading the clock costs cancels
 *   batch_NAME_n  n independent operations between two clock reads (Sanchez Gil 2017, 5.5); clock_TYPE is
 *                 the same kernel without them, whose readings are the cost of the clock
 *   rate_NAME     many warps, several chains each: what the SM completes per cycle
 *
 * How a region is timed. Reading the clock neither waits for what was issued before it nor
 * keeps the compiler from moving later instructions before it. So the first operand is tied to
 * the first reading (its bits AND a zero that only the host knows), and the second reading
 * depends on a comparison of the last result: a warp issues in order, so it comes after the
 * comparison, which waits for its operand. Both are there without the operation too, so that
 * they cancel. The disassembly test holds every kernel to this.
 */
#ifndef GW_OPERATIONS_CUH
#define GW_OPERATIONS_CUH

#include "shape.h"
#include "timing.cuh"

namespace gw {

using f32 = float;
using f64 = double;
using b32 = uint32_t;
using b64 = uint64_t;
/* A thread's part of an accumulator of mma.sync. */
struct b32x4 {
	b32 w[4];
};
struct f64x4 {
	f64 w[4];
};

/** struct gw_operands with its pointers as they are here. */
struct arguments {
	const void *in;
	void *out;
	b32 *cycles;
	const gw_hidden *hidden;
};
static_assert(sizeof(arguments) == sizeof(gw_operands), "the host's view of the argument");

enum place { input, shared, shared_wide, shared_same, constant, local, global, global_same };

/* The word of a value that the clock is tied to; the other word of a 64-bit value stays. */
__device__ inline b32 low(b32 x) { return x; }
__device__ inline b32 low(b64 x) { return (b32)x; }
__device__ inline b32 low(f32 x) { return __float_as_uint(x); }
__device__ inline b32 low(f64 x) { return (b32)__double2loint(x); }
__device__ inline b32 low(const b32x4 &x) { return x.w[0]; }
__device__ inline b32 low(const f64x4 &x) { return low(x.w[0]); }
/* The word that is compared: of a 64-bit integer the upper, which comes last. */
template <class T> __device__ inline b32 last(const T &x) { return low(x); }
template <> __device__ inline b32 last(const b64 &x) { return (b32)(x >> 32); }
__device__ inline void mix(b32 &x, b32 bits) { x ^= bits; }
__device__ inline void mix(b64 &x, b32 bits) { x ^= bits; }
__device__ inline void mix(f32 &x, b32 bits) { x = __uint_as_float(__float_as_uint(x) ^ bits); }
__device__ inline void mix(f64 &x, b32 bits)
{
	x = __hiloint2double(__double2hiint(x), __double2loint(x) ^ (int)bits);
}

__device__ inline void mix(b32x4 &x, b32 bits) { x.w[0] ^= bits; }
__device__ inline void mix(f64x4 &x, b32 bits) { mix(x.w[0], bits); }

/**
 * Read the clock; what uses @p x afterwards cannot come before it. Tied is the upper word, and the
 * lower returned: a use of both makes the compiler take the one fast way of reading them.
 */
template <class T> __device__ inline b32 start(T &x, b32 zero)
{
	b64 now;

	asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
	mix(x, (b32)(now >> 32) & zero);
	return (b32)now;
}

/** Read the clock once @p x is known. */
template <class T> __device__ inline b32 stop(T x, b32 guard)
{
	b32 now = 0;

	asm volatile("{.reg .pred p; setp.ne.u32 p, %1, %2; @p mov.u32 %0, %%clock;}"
		     : "+r"(now)
		     : "r"(last(x)), "r"(guard)
		     : "memory");
	return now;
}

/* All zero: what a load at an offset finds is the offset of the first. */
__device__ __constant__ b32 constant_words[GW_LANES];

/** First operand of an operation whose operand is an address. */
template <place where, class T>
__device__ inline T address(const arguments &a, unsigned chain, T *own)
{
	extern __shared__ __align__(16) b32 words[];
	unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;

	if constexpr (where == shared || where == shared_wide || where == shared_same) {
		b32 *word = words + (where == shared_same ? threadIdx.x & a.hidden->zero
							  : (where == shared ? 1 : 2) * threadIdx.x);
		T at = (T)__cvta_generic_to_shared(word);

		*(volatile b32 *)word = (b32)at;
		__syncthreads();
		return at;
	} else if constexpr (where == global || where == global_same) {
		volatile T *word = (T *)a.out + (where == global ? thread : thread & a.hidden->zero);

		*word = (T)word;
		__syncthreads();
		return (T)word;
	} else if constexpr (where == local) {
		/* Not known when compiled, or the word would live in a register. */
		volatile T *word = own + chain + (threadIdx.x & a.hidden->zero);

		*word = (T)__cvta_generic_to_local((const T *)word);
		return *word;
	} else {
		/* constant: an offset, and all the words are zero */
		return (threadIdx.x & a.hidden->zero) + 4 * chain;
	}
}

/* One step of each type: %0 on is x, then the constants b and c. */
#define STEP_f32(ptx) asm volatile(ptx : "+f"(x) : "f"(b), "f"(c) : "memory")
#define STEP_f64(ptx) asm volatile(ptx : "+d"(x) : "d"(b), "d"(c) : "memory")
#define STEP_b32(ptx) asm volatile(ptx : "+r"(x) : "r"(b), "r"(c) : "memory")
#define STEP_b64(ptx) asm volatile(ptx : "+l"(x) : "l"(b), "l"(c) : "memory")
#define STEP_b32x4(ptx) \
	asm volatile(ptx \
		     : "+r"(x.w[0]), "+r"(x.w[1]), "+r"(x.w[2]), "+r"(x.w[3]) \
		     : "r"(b.w[0]), "r"(b.w[1]), "r"(b.w[2]), "r"(b.w[3]), "r"(c.w[0]), "r"(c.w[1]))
#define STEP_f64x4(ptx) \
	asm volatile(ptx \
		     : "+d"(x.w[0]), "+d"(x.w[1]), "+d"(x.w[2]), "+d"(x.w[3]) \
		     : "d"(b.w[0]), "d"(b.w[1]), "d"(b.w[2]), "d"(b.w[3]), "d"(c.w[0]), "d"(c.w[1]), \
		       "d"(c.w[2]), "d"(c.w[3]))

/** Steps of one chain in a turn of a rate kernel's loop, and chains of a thread. */
template <class T> struct extent;
#define EXTENT(type, bytes, count, ways) \
	template <> struct extent<type> { \
		static constexpr unsigned steps = count, chains = ways; \
		static_assert(sizeof(type) == bytes, "the host's view of the type"); \
	};
GW_TYPES(EXTENT)
#undef EXTENT

/* One struct per operation. */
#define CODE(name, type, where, count, parts, sass, ptx) \
	struct name { \
		using T = type; \
		static constexpr place from = where; \
		static constexpr unsigned length = count; \
		static constexpr unsigned chains = extent<type>::chains; \
		static constexpr unsigned unrolled = \
			length <= GW_SEQUENCE ? extent<type>::steps / 8 : extent<type>::steps; \
		__device__ static void step(T &x, T b, T c) { STEP_##type(ptx); } \
	};
#include "code.def"
#undef CODE

template <class Op> __device__ inline void step(typename Op::T &x, typename Op::T b, typename Op::T c)
{
	Op::step(x, b, c);
}

/* PTX has no address that is a constant symbol plus a register; C has. */
template <> __device__ inline void step<load_constant>(b32 &x, b32, b32)
{
	x = *(const b32 *)((const char *)constant_words + x);
}

template <class Op, unsigned count> __device__ inline void steps(typename Op::T &x, typename Op::T b,
								  typename Op::T c)
{
#pragma unroll
	for (unsigned i = 0; i < count; i++)
		step<Op>(x, b, c);
}

/** The two constants. By lane: what all threads share would go to the uniform datapath. */
template <class T> __device__ inline T constant_operand(const arguments &a, unsigned which)
{
	return ((const T *)a.in)[which * GW_LANES + threadIdx.x % GW_LANES];
}

/** First operand of this thread's chain number @p chain. */
template <class Op>
__device__ inline typename Op::T operand(const arguments &a, unsigned chain, typename Op::T *own)
{
	using T = typename Op::T;

	if constexpr (Op::from == input)
		return ((const T *)a.in)[(threadIdx.x + chain) % GW_LANES];
	else
		return address<Op::from, T>(a, chain, own);
}

/** cycles: round by round, short and long chain of the first thread of the first block. */
template <class Op> __device__ inline void chain(const arguments &a)
{
	using T = typename Op::T;
	T own[2];
	const T first = operand<Op>(a, 0, own), b = constant_operand<T>(a, 1),
		c = constant_operand<T>(a, 2);
	const gw_hidden hidden = *a.hidden;
	T x = first;

#pragma unroll 1
	for (unsigned round = 0; round < hidden.rounds; round++) {
		b32 t[4];

		x = first;
		t[0] = start(x, hidden.zero);
		steps<Op, Op::length>(x, b, c);
		t[1] = stop(x, hidden.guard);
		t[2] = start(x, hidden.zero);
		steps<Op, GW_LONG * Op::length>(x, b, c);
		t[3] = stop(x, hidden.guard);
		if (!blockIdx.x && !threadIdx.x) {
			a.cycles[2 * round] = t[1] - t[0];
			a.cycles[2 * round + 1] = t[3] - t[2];
		}
	}
	((T *)a.out)[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

/**
 * cycles: [round][warp of the grid], one reading per warp: a warp's threads read the clock
 * together, so Sanchez Gil 2017 keeps one of 32. @p count operations, none for the cost of the clock.
 *
 * Between the operations and the last reading the clock is read once more: the compiler moves
 * nothing over a reading, and without this one would hasten the operation that is compared and
 * leave others to come after the comparison.
 */
template <class Op, unsigned count> __device__ inline void batch(const arguments &a)
{
	using T = typename Op::T;
	constexpr unsigned results = count ? count : 1;
	const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
	const unsigned warps = gridDim.x * (blockDim.x / GW_LANES);
	const gw_hidden hidden = *a.hidden;
	T own[2], first[results], x[results], b = constant_operand<T>(a, 1), c = constant_operand<T>(a, 2);

#pragma unroll
	for (unsigned i = 0; i < results; i++)
		first[i] = operand<Op>(a, i, own);
#pragma unroll 1
	for (unsigned round = 0; round < hidden.rounds; round++) {
		b32 began, between, ended;

#pragma unroll
		for (unsigned i = 0; i < results; i++)
			x[i] = first[i];
		asm volatile("bar.sync 0;" ::: "memory");
		began = start(b, hidden.zero);
#pragma unroll
		for (int i = 0; i < (int)count; i++)
			step<Op>(x[i], b, c);
		between = start(count ? x[results - 1] : b, hidden.zero);
		ended = stop(count ? x[results - 1] : b, hidden.guard);
		asm volatile("bar.sync 0;" ::: "memory");
		if (threadIdx.x % GW_LANES == 0)
			a.cycles[round * warps + thread / GW_LANES] = ended - began + (between & hidden.zero);
	}
#pragma unroll
	for (unsigned i = 0; i < results; i++)
		((T *)a.out)[thread * results + i] = x[i];
}

/** What a warp of a rate kernel leaves: its SM, its first and last reading, and any word. */
__device__ inline void record(const arguments &a, b32 began, b32 ended, b32 word = 0)
{
	const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;

	if (thread % GW_LANES == 0) {
		b32 *row = a.cycles + GW_RECORD * (thread / GW_LANES);

		row[0] = gw_sm();
		row[1] = began;
		row[2] = ended;
		row[3] = word;
	}
}

__device__ inline b32 clock_now()
{
	b32 now;

	asm volatile("mov.u32 %0, %%clock;" : "=r"(now)::"memory");
	return now;
}

/**
 * cycles: what record leaves. out: a number per chain, of an operation on addresses only the
 * first; the rest is in the record, so that no chain is dropped.
 */
template <class Op> __device__ inline void rate(const arguments &a)
{
	using T = typename Op::T;
	const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
	T own[Op::chains], x[Op::chains], b = constant_operand<T>(a, 1), c = constant_operand<T>(a, 2);
	const unsigned rounds = a.hidden->rounds;
	b32 began, ended, all = 0;

#pragma unroll
	for (unsigned k = 0; k < Op::chains; k++)
		x[k] = operand<Op>(a, k, own);
	__syncthreads();
	began = clock_now();
#pragma unroll 1
	for (unsigned round = 0; round < rounds; round++)
#pragma unroll
		for (unsigned i = 0; i < Op::unrolled; i++)
#pragma unroll
			for (unsigned k = 0; k < Op::chains; k++)
				step<Op>(x[k], b, c);
	ended = clock_now();
#pragma unroll
	for (unsigned k = 0; k < Op::chains; k++)
		all ^= low(x[k]);
	record(a, began, ended, all);
	if constexpr (Op::from == input)
#pragma unroll
		for (unsigned k = 0; k < Op::chains; k++)
			((T *)a.out)[thread * Op::chains + k] = x[k];
	else
		((T *)a.out)[thread] = x[0];
}

} // namespace gw

#endif
