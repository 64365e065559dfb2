#include "preload/runtime/clock.h"

#include "preload/runtime/hot.h"

#include <math.h>
#include <time.h>

struct pair {
	uint64_t ticks, ns; /* ns: CLOCK_REALTIME */
	uint64_t steady_ns; /* CLOCK_MONOTONIC: the rate must outlive steps of the other */
	uint64_t width;     /* ticks within which the two were read */
};

enum { STEP_NS = 1000000 }; /* by less the wall clock is not seen to be set */

static struct pair first, last; /* the worker's, but for gw_clock_start before it runs */
static double ns_per_tick;      /* between the two, 0 before the second */
static uint64_t highest_ns;     /* that the wall clock had shown when it was set back; 0: never */
static _Atomic uint64_t overhead_ticks, attach_ticks;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t gw_wall_ns(void)
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

	best.width = UINT64_MAX;
	for (int i = 0; i < 5; i++) {
		uint64_t before = gw_ticks(), ns = gw_wall_ns();
		uint64_t steady = clock_ns(CLOCK_MONOTONIC), after = gw_ticks();

		if (after - before < best.width)
			best = (struct pair){before + (after - before) / 2, ns, steady,
					     after - before};
	}
	return best;
}

void gw_clock_start(uint64_t *ticks, uint64_t *realtime_ns, uint64_t *monotonic_ns)
{
	first = last = take();
	ns_per_tick = 0;
	highest_ns = 0;
	*ticks = first.ticks;
	*realtime_ns = first.ns;
	*monotonic_ns = first.steady_ns;
}

/* Both clocks are slewed alike, so what one gained on the other between two pairs is a step. */
static int64_t set_between(const struct pair *a, const struct pair *b)
{
	int64_t by = (int64_t)(b->ns - a->ns) - (int64_t)(b->steady_ns - a->steady_ns);
	double slack = STEP_NS + (double)(a->width + b->width) * ns_per_tick;

	return fabs((double)by) > slack ? by : 0;
}

int64_t gw_clock_update(void)
{
	struct pair before = last;
	int64_t by;

	last = take();
	if (last.ticks > first.ticks)
		ns_per_tick = (double)(last.steady_ns - first.steady_ns) /
			      (double)(last.ticks - first.ticks);
	by = set_between(&before, &last);
	if (by < 0) /* as it would show now, had it not been */
		highest_ns = (uint64_t)((int64_t)last.ns - by);
	return by;
}

bool gw_clock_ahead(uint64_t ns)
{
	return ns > last.ns && last.ns < highest_ns && ns > gw_wall_ns() + STEP_NS;
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

uint64_t gw_ticks_ns(uint64_t ticks)
{
	return (uint64_t)((double)ticks * ns_per_tick);
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
	return gw_ticks_ns(atomic_load(&overhead_ticks));
}

uint64_t gw_attach_ns(void)
{
	return gw_ticks_ns(atomic_load(&attach_ticks));
}
