/*
 * Rates of instruction mixes: the warp instructions an SM issues to different pipes, and
 * alternating shared-memory loads and stores (Konstantinidis 2017, A.4), by width.
 */
#include "operations.cuh"

namespace gw {

/**
 * Alternating an addition and a minimum, which use different pipes, in four chains each. They read
 * two registers: with three the register file does not deliver enough for an instruction a cycle.
 */
__device__ inline void issue(const arguments &a)
{
	const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
	const unsigned rounds = a.hidden->rounds;
	const f32 *in = (const f32 *)a.in;
	const f32 b = constant_operand<f32>(a, 1), c = constant_operand<f32>(a, 2);
	f32 x[GW_ISSUE_CHAINS], y[GW_ISSUE_CHAINS];
	b32 began, ended;

#pragma unroll
	for (unsigned k = 0; k < GW_ISSUE_CHAINS; k++) {
		x[k] = in[(threadIdx.x + k) % GW_LANES];
		y[k] = x[k];
	}
	__syncthreads();
	began = clock_now();
#pragma unroll 1
	for (unsigned round = 0; round < rounds; round++)
#pragma unroll
		for (unsigned i = 0; i < GW_ISSUE_STEPS; i++)
#pragma unroll
			for (unsigned k = 0; k < GW_ISSUE_CHAINS; k++) {
				add_f32::step(x[k], b, c);
				if (i % 2)
					asm volatile("max.f32 %0, %0, %1;" : "+f"(y[k]) : "f"(c));
				else
					asm volatile("min.f32 %0, %0, %1;" : "+f"(y[k]) : "f"(b));
			}
	ended = clock_now();
	record(a, began, ended);
#pragma unroll
	for (unsigned k = 0; k < GW_ISSUE_CHAINS; k++)
		((f32 *)a.out)[thread * GW_ISSUE_CHAINS + k] = x[k] + y[k];
}

/* A thread's words of a load or store. */
template <unsigned words> struct row;
template <> struct row<1> {
	static __device__ void load(b32 (&x)[1], b32 at)
	{
		asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(x[0]) : "r"(at) : "memory");
	}
	static __device__ void store(b32 at, const b32 (&x)[1])
	{
		asm volatile("st.volatile.shared.b32 [%0], %1;" ::"r"(at), "r"(x[0]) : "memory");
	}
};
template <> struct row<2> {
	static __device__ void load(b32 (&x)[2], b32 at)
	{
		asm volatile("ld.volatile.shared.v2.b32 {%0, %1}, [%2];"
			     : "=r"(x[0]), "=r"(x[1])
			     : "r"(at)
			     : "memory");
	}
	static __device__ void store(b32 at, const b32 (&x)[2])
	{
		asm volatile("st.volatile.shared.v2.b32 [%0], {%1, %2};" ::"r"(at), "r"(x[0]),
			     "r"(x[1])
			     : "memory");
	}
};
template <> struct row<4> {
	static __device__ void load(b32 (&x)[4], b32 at)
	{
		asm volatile("ld.volatile.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
			     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
			     : "r"(at)
			     : "memory");
	}
	static __device__ void store(b32 at, const b32 (&x)[4])
	{
		asm volatile("st.volatile.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(x[0]),
			     "r"(x[1]), "r"(x[2]), "r"(x[3])
			     : "memory");
	}
};

/**
 * Each step swaps two rows of shared memory of the thread's own: two loads and two stores, of
 * consecutive threads at consecutive addresses, so that no two conflict in a bank.
 */
template <unsigned words> __device__ inline void swap(const arguments &a)
{
	extern __shared__ __align__(16) b32 memory[];
	const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
	const unsigned rounds = a.hidden->rounds;
	const b32 first = (b32)__cvta_generic_to_shared(memory + words * threadIdx.x);
	const b32 second = first + 4 * words * blockDim.x;
	b32 x[words], y[words], began, ended;

#pragma unroll
	for (unsigned i = 0; i < words; i++) {
		memory[words * threadIdx.x + i] = thread;
		memory[words * (blockDim.x + threadIdx.x) + i] = ~thread;
	}
	__syncthreads();
	began = clock_now();
#pragma unroll 1
	for (unsigned round = 0; round < rounds; round++)
#pragma unroll
		for (unsigned i = 0; i < GW_SWAP_STEPS; i++) {
			row<words>::load(x, first);
			row<words>::load(y, second);
			row<words>::store(first, y);
			row<words>::store(second, x);
		}
	ended = clock_now();
	record(a, began, ended);
	row<words>::load(x, first);
	((b32 *)a.out)[thread] = x[words - 1];
}

} // namespace gw

#define RATE(name, function) \
	extern "C" __global__ void __launch_bounds__(1024) gw_rate_##name(gw::arguments a) \
	{ \
		gw::function(a); \
	}
RATE(issue, issue)
RATE(swap_32, swap<1>)
RATE(swap_64, swap<2>)
RATE(swap_128, swap<4>)
