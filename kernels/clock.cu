/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of reading the clock: what a timed instruction costs when there is none (000, 4.1.8). */
#include <stdint.h>

#include "kernels/clock.h"

/* Every warp reads the clock twice, GW_CLOCK_BATCH times in a row, `rounds` times over; the
 * differences in cycles go to cost[(round * BATCH + i) * warps + warp]. All lanes of a warp see the
 * same, so one writes (000 keeps one value of 32 afterwards). */
extern "C" __global__ void gw_clock_cost(int32_t *cost, uint32_t rounds)
{
	uint32_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint32_t warps = gridDim.x * blockDim.x / 32;

	for (uint32_t round = 0; round < rounds; round++) {
		int32_t seen[GW_CLOCK_BATCH];

#pragma unroll
		for (int i = 0; i < GW_CLOCK_BATCH; i++) {
			uint32_t start, end;

			asm volatile("mov.u32 %0, %%clock;" : "=r"(start)::"memory");
			asm volatile("mov.u32 %0, %%clock;" : "=r"(end)::"memory");
			seen[i] = (int32_t)(end - start);
		}
		/* Nothing of the writing may be pending while the next batch is timed. */
		__syncthreads();
		if (threadIdx.x % 32 == 0)
			for (int i = 0; i < GW_CLOCK_BATCH; i++)
				cost[(round * GW_CLOCK_BATCH + i) * warps + warp] = seen[i];
		__threadfence();
		__syncthreads();
	}
}
