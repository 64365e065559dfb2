#include "preload/cupti/record_clock.h"

#include "preload/runtime/clock.h"
#include "preload/cupti/other_profiler.h"

static struct {
	gw_other_profiler_clock_fn *clock; /* NULL: libcupti's own, CLOCK_REALTIME */
	uint64_t first_theirs, first_steady, theirs, steady;
	uint64_t ns; /* CLOCK_REALTIME at `theirs` */
} now;

/* Around a reading of ours, so that being interrupted between them is seen and tried again. */
static void read_both(uint64_t *theirs, uint64_t *steady)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = gw_steady_ns(), t = now.clock(), wall = gw_wall_ns();
		uint64_t after = gw_steady_ns();

		if (after - before >= best)
			continue;
		best = after - before;
		*theirs = t;
		*steady = before + best / 2;
		now.ns = wall;
	}
}

void gw_record_clock_begin(void)
{
	now.clock = gw_other_profiler_clock();
	if (!now.clock)
		return;
	read_both(&now.first_theirs, &now.first_steady);
	now.theirs = now.first_theirs;
	now.steady = now.first_steady;
}

void gw_record_clock_look(void)
{
	if (now.clock)
		read_both(&now.theirs, &now.steady);
}

/* About when records were collected, so a time of the clock it is compared with. */
static int plausible(double ns)
{
	const double slack = 60e9, collected = (double)(now.steady - now.first_steady);

	return ns > (double)now.ns - collected - slack && ns < (double)now.ns + slack;
}

uint64_t gw_record_time(uint64_t time)
{
	double rate, ns;

	if (!now.clock || !time)
		return time;
	if (plausible((double)time)) /* one that was spoilt: it has libcupti's own clock */
		return time;
	rate = now.theirs == now.first_theirs ? 1
					      : (double)(now.steady - now.first_steady) /
							(double)(now.theirs - now.first_theirs);
	ns = (double)(int64_t)(time - now.theirs) * rate;
	if (!plausible((double)now.ns + ns))
		return 0;
	return (uint64_t)((int64_t)now.ns + (int64_t)ns);
}
