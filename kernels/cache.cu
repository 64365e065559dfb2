/*
 * Bandwidth of the memories near the SMs: L2, L1, shared, constant, texture. Each thread repeats
 * the load that the name states; loaded values are combined and kept.
 */
#include "permutation.h"
#include "timing.cuh"

enum : unsigned { NEVER = 0x9e3779b9u };
enum { BATCH = 8 }; /* loads that a thread issues before it uses one */

/** Cycles a block took, by block. */
struct gw_span {
	gw_u64 cycles;
};

static __device__ unsigned fold(uint4 v)
{
	return v.x ^ v.y ^ v.z ^ v.w;
}

/*
 * How far a thread of the L2 kernels goes from load to load through @p count elements: the grid's
 * width and some blocks more, so that every SM comes to read all of it, from both sides of L2,
 * also where the grid's width divides count.
 */
static __device__ unsigned l2_step(unsigned count)
{
	return (gridDim.x + 37) * blockDim.x % count;
}

/* Read 8 elements of 16 bytes @p passes times, past L1; @p count is a multiple of the block. */
extern "C" __global__ void gw_l2_read(const uint4 *from, unsigned count, unsigned passes,
				      unsigned *sink)
{
	unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) % count;
	unsigned step = l2_step(count), all = 0;

#pragma unroll 1
	for (unsigned i = 0; i < passes; i++) {
		uint4 v[BATCH];

#pragma unroll
		for (unsigned j = 0; j < BATCH; j++) {
			GW_LOAD128("cg", v[j], from + at);
			at += step;
			at = at < count ? at : at - count;
		}
#pragma unroll
		for (unsigned j = 0; j < BATCH; j++)
			all ^= fold(v[j]);
	}
	if (all == NEVER)
		*sink = all;
}

extern "C" __global__ void gw_l2_write(uint4 *to, unsigned count, unsigned passes)
{
	unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) % count;
	unsigned step = l2_step(count);

#pragma unroll 1
	for (unsigned i = 0; i < passes; i++) {
#pragma unroll
		for (unsigned j = 0; j < BATCH; j++) {
			to[at] = make_uint4(at, i, j, step);
			at += step;
			at = at < count ? at : at - count;
		}
	}
}

/* Threads of the block agree on when it began and ended. */
static __device__ void span(gw_span *spans, gw_u64 begin)
{
	__syncthreads();
	if (threadIdx.x == 0)
		spans[blockIdx.x].cycles = gw_cycle() - begin;
}

/* One block an SM reads its own elements, 8 of each thread, once a pass, by L1. */
extern "C" __global__ void gw_l1_read(const uint4 *from, unsigned passes, gw_span *spans,
				      unsigned *sink)
{
	const uint4 *mine = from + blockIdx.x * blockDim.x * BATCH + threadIdx.x;
	unsigned all = 0;
	gw_u64 begin = 0;

#pragma unroll 1
	for (unsigned i = 0; i <= passes; i++) { /* the first brings it into L1 */
		if (i == 1) {
			__syncthreads();
			begin = gw_cycle();
		}
		uint4 v[BATCH];

#pragma unroll
		for (unsigned j = 0; j < BATCH; j++)
			GW_LOAD128("ca", v[j], mine + j * blockDim.x);
#pragma unroll
		for (unsigned j = 0; j < BATCH; j++)
			all ^= fold(v[j]);
	}
	span(spans, begin);
	if (all == NEVER)
		*sink = all;
}

/* One load of BYTES from shared memory; volatile, or the assembler would load once for all. */
template <unsigned BYTES> static __device__ unsigned load_shared(unsigned at);

template <> __device__ unsigned load_shared<4>(unsigned at)
{
	unsigned v;

	asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
	return v;
}

template <> __device__ unsigned load_shared<8>(unsigned at)
{
	uint2 v;

	asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];"
		     : "=r"(v.x), "=r"(v.y)
		     : "r"(at)
		     : "memory");
	return v.x ^ v.y;
}

template <> __device__ unsigned load_shared<16>(unsigned at)
{
	uint4 v;

	asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
		     : "r"(at)
		     : "memory");
	return fold(v);
}

/* 8 loads a pass, consecutive threads side by side: no two lanes need different words of a bank. */
template <unsigned BYTES>
static __device__ void shared_read(unsigned passes, gw_span *spans, unsigned *sink)
{
	extern __shared__ uint4 memory[]; /* 8 loads of every thread */
	unsigned at = (unsigned)__cvta_generic_to_shared(memory) + threadIdx.x * BYTES;
	unsigned all = 0;
	gw_u64 begin;

	for (unsigned i = threadIdx.x; i < blockDim.x * 8 * BYTES / 4; i += blockDim.x)
		((unsigned *)memory)[i] = gw_mix(i);
	__syncthreads();
	begin = gw_cycle();
#pragma unroll 1
	for (unsigned i = 0; i < passes; i++)
#pragma unroll
		for (unsigned j = 0; j < 8; j++)
			all ^= load_shared<BYTES>(at + j * blockDim.x * BYTES);
	span(spans, begin);
	if (all == NEVER)
		*sink = all;
}

extern "C" __global__ void gw_shared_32(unsigned passes, gw_span *spans, unsigned *sink)
{
	shared_read<4>(passes, spans, sink);
}

extern "C" __global__ void gw_shared_64(unsigned passes, gw_span *spans, unsigned *sink)
{
	shared_read<8>(passes, spans, sink);
}

extern "C" __global__ void gw_shared_128(unsigned passes, gw_span *spans, unsigned *sink)
{
	shared_read<16>(passes, spans, sink);
}

enum { TABLE = 1024 }; /* elements, as Konstantinidis's constbench */
__constant__ unsigned gw_constant_table[TABLE];

/*
 * 8 loads a pass from constant memory. @p spread 0: all lanes read one word; 1: each its own, so
 * that a request takes 32 turns.
 */
extern "C" __global__ void gw_constant(unsigned passes, unsigned spread, gw_span *spans,
				       unsigned *sink)
{
	unsigned at = threadIdx.x % 32 * spread, all = 0;
	gw_u64 begin;

	__syncthreads();
	begin = gw_cycle();
#pragma unroll 1
	for (unsigned i = 0; i < passes; i++) {
#pragma unroll
		for (unsigned j = 0; j < 8; j++)
			all ^= gw_constant_table[at + j * 32];
		at = (at + 256) % TABLE;
	}
	span(spans, begin);
	if (all == NEVER)
		*sink = all;
}

/*
 * Konstantinidis's cachebench by texture: the threads of a block fetch 32-bit elements side by side, the
 * @p count from the block's first on (a multiple of 8 blocks of threads), over and over. Blocks
 * begin @p apart elements from each other and go round at @p all_of_them.
 */
extern "C" __global__ void gw_texture(cudaTextureObject_t texture, unsigned count, unsigned apart,
				      unsigned all_of_them, unsigned passes, gw_span *spans,
				      unsigned *sink)
{
	unsigned first = blockIdx.x * apart, all = 0;
	gw_u64 begin = 0;

#pragma unroll 1
	for (unsigned pass = 0; pass <= passes; pass++) { /* the first brings it near */
		if (pass == 1) {
			__syncthreads();
			begin = gw_cycle();
		}
#pragma unroll 1
		for (unsigned i = threadIdx.x; i < count; i += blockDim.x * BATCH)
#pragma unroll
			for (unsigned j = 0; j < BATCH; j++) {
				unsigned at = first + i + j * blockDim.x;

				at = at < all_of_them ? at : at - all_of_them;
				all ^= tex1Dfetch<unsigned>(texture, (int)at);
			}
	}
	span(spans, begin);
	if (all == NEVER)
		*sink = all;
}
