/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of reading the clock: what a timed instruction costs when there is none (000, 4.1.2). */
#include <stdint.h>

/* Each thread reads the clock twice, `repeats` times; cost[repeat * threads + thread] is the
 * difference in cycles. */
extern "C" __global__ void gw_clock_cost(int32_t *cost, uint32_t repeats)
{
	uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;

	for (uint32_t r = 0; r < repeats; r++) {
		uint32_t start, end;

		asm volatile("mov.u32 %0, %%clock;" : "=r"(start)::"memory");
		asm volatile("mov.u32 %0, %%clock;" : "=r"(end)::"memory");
		cost[r * threads + thread] = (int32_t)(end - start);
	}
}
