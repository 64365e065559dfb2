/* The cost of reading the clock: what a timed instruction costs when there is none (Sanchez Gil 2017, 4.1.8). */
#include <stdint.h>

#include "kernels/clock.h"

/* Every warp reads the clock twice, GW_CLOCK_BATCH times in a row, `rounds` times over; the
 * differences in cycles go to cost[(round * BATCH + i) * warps + warp]. All lanes of a warp see the
 * same, so one writes (Sanchez Gil 2017 keeps one value of 32 afterwards). All 64 bits are kept: for fewer the
 * compiler takes now this, now that instruction to read the clock, and they differ in cost. */
extern "C" __global__ void gw_clock_cost(int64_t *cost, uint32_t rounds)
{
	uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint32_t warps = gridDim.x * blockDim.x / 32;

	for (uint32_t round = 0; round < rounds; round++) {
		int64_t seen[GW_CLOCK_BATCH];

#pragma unroll
		for (int i = 0; i < GW_CLOCK_BATCH; i++) {
			uint64_t start, end;

			asm volatile("mov.u64 %0, %%clock64;" : "=l"(start)::"memory");
			asm volatile("mov.u64 %0, %%clock64;" : "=l"(end)::"memory");
			seen[i] = (int64_t)(end - start);
		}
		/* No write may be pending while the next batch is timed. */
		__syncthreads();
		if (threadIdx.x % 32 == 0)
			for (int i = 0; i < GW_CLOCK_BATCH; i++)
				cost[(round * GW_CLOCK_BATCH + i) * warps + warp] = seen[i];
		__threadfence();
		__syncthreads();
	}
}
