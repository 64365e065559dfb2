/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/clock.h"

#include "preload/state.h"

#include <time.h>

struct pair {
	uint64_t ticks, ns; /* ns: CLOCK_REALTIME */
	uint64_t steady_ns; /* CLOCK_MONOTONIC: the rate must outlive steps of the other */
};

static struct pair first, last; /* the worker's, but for gw_clock_start before it runs */
static double ns_per_tick;      /* between the two, 0 before the second */
static _Atomic uint64_t overhead_ticks, attach_ticks;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t gw_now_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t gw_steady_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* The tightest of a few readings: a preemption between the two clocks would skew the pair. */
static struct pair take(void)
{
	struct pair best = {0};
	uint64_t width = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = gw_ticks(), ns = gw_now_ns();
		uint64_t steady = clock_ns(CLOCK_MONOTONIC), after = gw_ticks();

		if (after - before < width) {
			width = after - before;
			best = (struct pair){before + (after - before) / 2, ns, steady};
		}
	}
	return best;
}

void gw_clock_start(uint64_t *ticks, uint64_t *realtime_ns, uint64_t *monotonic_ns)
{
	first = last = take();
	ns_per_tick = 0;
	*ticks = first.ticks;
	*realtime_ns = first.ns;
	*monotonic_ns = first.steady_ns;
}

void gw_clock_update(void)
{
	last = take();
	if (last.ticks > first.ticks)
		ns_per_tick = (double)(last.steady_ns - first.steady_ns) /
		              (double)(last.ticks - first.ticks);
}

uint64_t gw_clock_ns(uint64_t ticks)
{
	/* From the newest pair backwards: a step of CLOCK_REALTIME shows in old times only. */
	double delta = ((double)ticks - (double)last.ticks) * ns_per_tick;

	return (uint64_t)((int64_t)last.ns + (int64_t)delta);
}

uint32_t gw_clock_khz(void)
{
	return ns_per_tick > 0 ? (uint32_t)(1e6 / ns_per_tick + 0.5) : 0;
}

void gw_overhead_since(uint64_t begin)
{
	atomic_fetch_add_explicit(&overhead_ticks, gw_ticks() - begin, memory_order_relaxed);
}

void gw_attach_since(uint64_t begin)
{
	atomic_fetch_add_explicit(&attach_ticks, gw_ticks() - begin, memory_order_relaxed);
}

uint64_t gw_overhead_ns(void)
{
	return (uint64_t)((double)atomic_load(&overhead_ticks) * ns_per_tick);
}

uint64_t gw_attach_ns(void)
{
	return (uint64_t)((double)atomic_load(&attach_ticks) * ns_per_tick);
}
