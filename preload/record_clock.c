/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record_clock.h"

#include "preload/clock.h"
#include "preload/foreign.h"

static struct {
	gw_foreign_clock_fn *clock; /* NULL: libcupti's own, CLOCK_REALTIME */
	uint64_t first_theirs, first_ns, theirs, ns;
} now;

/* Around a reading of ours, so that being interrupted between them is seen and tried again. */
static void read_both(uint64_t *theirs, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = gw_now_ns(), t = now.clock(), after = gw_now_ns();

		if (after - before >= best)
			continue;
		best = after - before;
		*theirs = t;
		*ns = before + best / 2;
	}
}

void gw_record_clock_begin(void)
{
	now.clock = gw_foreign_clock();
	if (!now.clock)
		return;
	read_both(&now.first_theirs, &now.first_ns);
	now.theirs = now.first_theirs;
	now.ns = now.first_ns;
}

void gw_record_clock_look(void)
{
	if (now.clock)
		read_both(&now.theirs, &now.ns);
}

/* About when records were collected, so a time of the clock it is compared with. */
static int plausible(double ns)
{
	const double slack = 60e9;

	return ns > (double)now.first_ns - slack && ns < (double)now.ns + slack;
}

uint64_t gw_record_time(uint64_t time)
{
	double rate, ns;

	if (!now.clock || !time)
		return time;
	if (plausible((double)time)) /* one that was spoilt: it has libcupti's own clock */
		return time;
	rate = now.theirs == now.first_theirs
	               ? 1
	               : (double)(now.ns - now.first_ns) / (double)(now.theirs - now.first_theirs);
	ns = (double)(int64_t)(time - now.theirs) * rate;
	if (!plausible((double)now.ns + ns))
		return 0;
	return (uint64_t)((int64_t)now.ns + (int64_t)ns);
}
