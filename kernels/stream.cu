/*
 * Bandwidth of device memory: whole arrays read, written, copied, combined; reading with a set
 * number of bytes in flight; and a chase while other SMs read.
 */
#include "permutation.h"
#include "timing.cuh"

/* Words that the sink kernels search for: never found, but the compiler cannot know. */
enum : unsigned { NEVER = 0x9e3779b9u };

static __device__ unsigned fold(uint4 v)
{
	return v.x ^ v.y ^ v.z ^ v.w;
}

/* Index of the first element of this thread; elements of a block's batch follow each other. */
static __device__ gw_u64 first_element(unsigned batch)
{
	return (gw_u64)blockIdx.x * blockDim.x * batch + threadIdx.x;
}

/*
 * The sum by exclusive or of all @p count elements (a multiple of the grid's batch) into *sum,
 * which the host checks against what it put there.
 */
extern "C" __global__ void gw_stream_read(const uint4 *from, gw_u64 count, unsigned *sum)
{
	unsigned all = 0;

#pragma unroll 1
	for (gw_u64 i = first_element(8); i < count; i += (gw_u64)gridDim.x * blockDim.x * 8) {
		uint4 v[8];

#pragma unroll
		for (unsigned j = 0; j < 8; j++)
			GW_LOAD128("cg", v[j], from + i + j * blockDim.x);
#pragma unroll
		for (unsigned j = 0; j < 8; j++)
			all ^= fold(v[j]);
	}
	for (unsigned lanes = 16; lanes; lanes /= 2)
		all ^= __shfl_xor_sync(~0u, all, lanes);
	if (threadIdx.x % 32 == 0)
		atomicXor(sum, all);
}

/* Element i becomes its own number, mixed with @p seed: the host can check any of them. */
static __device__ uint4 element(gw_u64 i, unsigned seed)
{
	unsigned low = (unsigned)i ^ seed;

	return make_uint4(low, low * 3, low * 5, low * 7);
}

extern "C" __global__ void gw_stream_write(uint4 *to, gw_u64 count, unsigned seed)
{
#pragma unroll 1
	for (gw_u64 i = first_element(4); i < count; i += (gw_u64)gridDim.x * blockDim.x * 4)
#pragma unroll
		for (unsigned j = 0; j < 4; j++)
			to[i + j * blockDim.x] = element(i + j * blockDim.x, seed);
}

extern "C" __global__ void gw_stream_copy(uint4 *to, const uint4 *from, gw_u64 count)
{
#pragma unroll 1
	for (gw_u64 i = first_element(8); i < count; i += (gw_u64)gridDim.x * blockDim.x * 8) {
		uint4 v[8];

#pragma unroll
		for (unsigned j = 0; j < 8; j++)
			GW_LOAD128("cg", v[j], from + i + j * blockDim.x);
#pragma unroll
		for (unsigned j = 0; j < 8; j++)
			to[i + j * blockDim.x] = v[j];
	}
}

/* to = a + scale * b, in floats. */
extern "C" __global__ void gw_stream_triad(float4 *to, const float4 *a, const float4 *b,
					   float scale, gw_u64 count)
{
#pragma unroll 1
	for (gw_u64 i = first_element(4); i < count; i += (gw_u64)gridDim.x * blockDim.x * 4) {
		float4 x[4], y[4];

#pragma unroll
		for (unsigned j = 0; j < 4; j++) {
			x[j] = a[i + j * blockDim.x];
			y[j] = b[i + j * blockDim.x];
		}
#pragma unroll
		for (unsigned j = 0; j < 4; j++)
			to[i + j * blockDim.x] =
				make_float4(x[j].x + scale * y[j].x, x[j].y + scale * y[j].y,
					    x[j].z + scale * y[j].z, x[j].w + scale * y[j].w);
	}
}

/*
 * Read @p count elements with IN_FLIGHT loads of 16 bytes by each thread: the next ones are
 * issued when all of them have arrived, because the loop may end on what they bring. A NEVER
 * among the data (one in 2^32) would only end it early.
 */
#define IN_FLIGHT(loads) \
	extern "C" __global__ void gw_in_flight_##loads(const uint4 *from, gw_u64 count, \
							unsigned *sink) \
	{ \
		gw_u64 step = (gw_u64)gridDim.x * blockDim.x * loads; \
												   \
		_Pragma("unroll 1") for (gw_u64 i = first_element(loads); i < count; i += step) \
		{ \
			uint4 v[loads]; \
			unsigned all = 0; \
												   \
			_Pragma("unroll") for (unsigned j = 0; j < loads; j++) \
				GW_LOAD128("cg", v[j], from + i + j * blockDim.x); \
			_Pragma("unroll") for (unsigned j = 0; j < loads; j++) all ^= fold(v[j]); \
			if (all == NEVER) { \
				*sink = all; \
				return; \
			} \
		} \
	}

IN_FLIGHT(1)
IN_FLIGHT(2)
IN_FLIGHT(4)
IN_FLIGHT(8)

/** What a block of gw_loaded_chase reports. */
struct gw_loaded_result {
	gw_u64 begin, end; /* nanoseconds */
	gw_u64 bytes;      /* read in between */
	gw_u64 cycles;     /* of the chase, block 0 only */
	gw_u64 next;       /* where its chain goes on */
};

/* Block 0: a chase of @p loads links, after @p settle cycles for the others to start. */
static __device__ void chase_under_load(gw_u64 p, unsigned loads, unsigned settle,
					gw_loaded_result *result, volatile unsigned *done)
{
	__shared__ unsigned arrived;
	gw_u64 begin = gw_cycle();

	if (threadIdx.x)
		return;
	while (gw_cycle() - begin < settle)
		;
	result->begin = gw_nanosecond();
	begin = gw_cycle();
#pragma unroll 1
	for (unsigned i = 0; i < loads; i += 16) {
#pragma unroll
		for (unsigned j = 0; j < 16; j++)
			GW_LOAD64("cg", p, p);
	}
	GW_ARRIVED(&arrived, p);
	result->cycles = gw_cycle() - begin;
	result->end = gw_nanosecond();
	result->next = p;
	*done = 1;
}

/*
 * Block 0 chases, the others read @p from, 4 loads of 16 bytes in flight a thread and @p pause
 * cycles between batches, until block 0 is done or they have read @p most batches. One block an
 * SM: the launch asks for that much shared memory.
 */
extern "C" __global__ void gw_loaded_chase(const uint4 *from, gw_u64 count, unsigned pause,
					   unsigned most, gw_u64 chain, unsigned loads,
					   unsigned settle, volatile unsigned *done,
					   gw_loaded_result *results, unsigned *sink)
{
	gw_u64 step = (gw_u64)(gridDim.x - 1) * blockDim.x * 4;
	gw_u64 i = (gw_u64)(blockIdx.x - 1) * blockDim.x * 4 + threadIdx.x, begin;
	gw_loaded_result *result = results + blockIdx.x;
	unsigned batches = 0;

	if (blockIdx.x == 0) {
		chase_under_load(chain, loads, settle, result, done);
		return;
	}
	begin = gw_nanosecond();
#pragma unroll 1
	/* Rarely: all SMs read one word. */
	while (batches < most && (batches % 16 || !*done)) {
		uint4 v[4];
		gw_u64 until = gw_cycle() + pause;

#pragma unroll
		for (unsigned j = 0; j < 4; j++)
			GW_LOAD128("cg", v[j], from + i + j * blockDim.x);
		i += step;
		if (i >= count)
			i %= step;
		batches++;
		if ((fold(v[0]) ^ fold(v[1]) ^ fold(v[2]) ^ fold(v[3])) == NEVER)
			*sink = NEVER;
		while (gw_cycle() < until)
			;
	}
	for (unsigned lanes = 16; lanes; lanes /= 2)
		batches += __shfl_xor_sync(~0u, batches, lanes);
	if (threadIdx.x % 32 == 0)
		atomicAdd(&result->bytes, batches * 64ull);
	__syncthreads();
	if (threadIdx.x == 0) {
		result->begin = begin;
		result->end = gw_nanosecond();
	}
}
