/*
 * Departure delays of Hong & Kim: the additional time of each further transaction of a request, and
 * of each further request of an SM. And requests of 32 sectors at full rate (Kleimenov and Popova
 * 2021).
 *
 * All loads are of lines untouched since L2 was flushed, each once. Coalesced requests follow each
 * other through memory; the sectors of an uncoalesced one are scattered.
 */
#include "permutation.h"
#include "timing.cuh"

enum { LINE = 128 };

/*
 * One warp issues @p requests loads, each waiting for the one before, whose lanes read @p sectors
 * sectors (1 to 32) in as many of the @p lines lines, number @p first and the next in random order.
 * @p cycles receives the time of each.
 */
extern "C" __global__ void gw_request_sectors(const char *base, unsigned lines, unsigned first,
					      unsigned sectors, unsigned requests,
					      unsigned *cycles)
{
	__shared__ unsigned arrived;

	for (unsigned i = 0; i < requests; i++) {
		unsigned line = first + i * sectors + threadIdx.x % sectors;
		const char *at = base + (gw_u64)gw_permute(line, lines, 1) * LINE;
		unsigned word;
		gw_u64 begin;

		__syncwarp();
		begin = gw_cycle();
		GW_LOAD32("cg", word, at);
		GW_ARRIVED(&arrived, word);
		if (threadIdx.x == 0)
			cycles[i] = gw_interval(begin, gw_cycle());
	}
}

/** When a warp issued its loads, and when the last of them had arrived. */
struct gw_burst {
	gw_u64 begin, end; /* of the SM's clock */
};

/*
 * One block, all its warps at once: each issues 4 coalesced loads of a line, @p rounds times.
 * bursts[round * warps + warp] receives when.
 */
extern "C" __global__ void gw_request_burst(const char *base, unsigned first, unsigned rounds,
					    gw_burst *bursts)
{
	__shared__ unsigned arrived[32];
	unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x % 32;

	for (unsigned i = 0; i < rounds; i++) {
		const char *at[4];
		unsigned word[4];
		gw_u64 begin, end;

#pragma unroll
		for (unsigned j = 0; j < 4; j++)
			at[j] = base + (first + (i * warps + warp) * 4ull + j) * LINE + lane * 4;
		__syncthreads();
		begin = gw_cycle();
#pragma unroll
		for (unsigned j = 0; j < 4; j++)
			GW_LOAD32("cg", word[j], at[j]);
		GW_ARRIVED(&arrived[warp], word[0] ^ word[1] ^ word[2] ^ word[3]);
		end = gw_cycle();
		if (lane == 0)
			bursts[i * warps + warp] = gw_burst{begin, end};
		__syncwarp();
	}
}

/* Place of word @p n of a gather: a sector of its own, of a random line or of the next one. */
template <bool RANDOM> static __device__ gw_u64 word_of(unsigned n, unsigned lines)
{
	return RANDOM ? (gw_u64)(gw_mix(n) % lines) * LINE : (gw_u64)n * 32;
}

/*
 * All SMs: each lane reads a word of a sector of its own, 4 loads in flight; @p words of them in
 * all, a multiple of four times the threads.
 */
template <bool RANDOM>
static __device__ void gather(const char *base, unsigned lines, unsigned words, unsigned *sink)
{
	unsigned threads = gridDim.x * blockDim.x, all = 0;

#pragma unroll 1
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += threads * 4) {
		unsigned word[4];

#pragma unroll
		for (unsigned j = 0; j < 4; j++)
			GW_LOAD32("cg", word[j], base + word_of<RANDOM>(i + j * threads, lines));
		all ^= word[0] ^ word[1] ^ word[2] ^ word[3];
	}
	if (all == 0x9e3779b9u)
		*sink = all;
}

extern "C" __global__ void gw_gather_random(const char *base, unsigned lines, unsigned words,
					    unsigned *sink)
{
	gather<true>(base, lines, words, sink);
}

extern "C" __global__ void gw_gather_strided(const char *base, unsigned lines, unsigned words,
					     unsigned *sink)
{
	gather<false>(base, lines, words, sink);
}
