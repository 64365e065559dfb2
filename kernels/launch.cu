/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that do nothing, or only say when they ran. */
#include "timing.cuh"

extern "C" __global__ void gw_empty()
{
}

/** When one launch of gw_stamp ran, nanoseconds. */
struct gw_stamp_result {
	gw_u64 begin, end;
};

/* One block: the first and the last thing it does is to look at the clock of the device. */
extern "C" __global__ void gw_stamp(unsigned *launches, gw_stamp_result *results)
{
	gw_u64 begin = gw_nanosecond();
	unsigned slot;

	if (threadIdx.x)
		return;
	slot = atomicAdd(launches, 1u);
	results[slot].begin = begin;
	results[slot].end = gw_nanosecond();
}

/* The steps of the device's clock: @p count readings of it that differ from the one before. */
extern "C" __global__ void gw_clock_steps(gw_u64 *readings, unsigned count)
{
	gw_u64 last = gw_nanosecond();

	for (unsigned i = 0; i < count; i++) {
		gw_u64 now = gw_nanosecond();

		for (unsigned tries = 0; now == last && tries < 100000; tries++)
			now = gw_nanosecond();
		readings[i] = last = now;
	}
}
