/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/cupti/window_cost.h"

#include <math.h>

enum {
	WINDOWS_LEAST = 8, /* of which the loss is known */
	WINDOWS_MOST = 64, /* so many count: what changes is seen */
	PAIRS_LEAST = 64,  /* timed launches that show what the program waits for … */
	PAIRS_MOST = 1024, /* … the latest of them */
};

static const double PRIOR = 0.5;   /* loss in a window, before any was seen */
static const double LEAST = 0.02;  /* and what it is never taken to be below */
static const double QUEUED = 0.95; /* share of launches that find work: the GPU is waited for */
static const uint64_t SPAN_NS = 10000000000; /* over which calls are counted, about */
/* What a launch call takes longer while libcupti is attached and off:
 * docs/results/watch-2026-11-26. */
static const double CALL_NS = 500;

struct pace {
	double launches, ns;
};

static struct {
	struct pace closed, open;     /* since the last window, in this one */
	struct pace recent;           /* outside windows, the last SPAN_NS about */
	double windows, mean, square; /* of the paces in windows by those before them */
	double pairs, queued;
} cost;

void gw_window_cost_start(void)
{
	cost = (__typeof__(cost)){0};
}

static void add(struct pace *p, uint64_t ns, uint32_t launches)
{
	p->ns += (double)ns;
	p->launches += launches;
}

void gw_window_cost_round(bool open, uint64_t ns, uint32_t launches)
{
	add(open ? &cost.open : &cost.closed, ns, launches);
	if (open)
		return;
	add(&cost.recent, ns, launches);
	if (cost.recent.ns > (double)SPAN_NS) {
		cost.recent.ns /= 2;
		cost.recent.launches /= 2;
	}
}

/* Mean and mean square of the last windows: older ones fade. */
void gw_window_cost_ended(void)
{
	if (cost.open.ns > 0 && cost.closed.launches > 0) {
		double ratio =
		        cost.open.launches / cost.open.ns * cost.closed.ns / cost.closed.launches;

		if (cost.windows < WINDOWS_MOST)
			cost.windows++;
		cost.mean += (ratio - cost.mean) / cost.windows;
		cost.square += (ratio * ratio - cost.square) / cost.windows;
	}
	cost.open = cost.closed = (struct pace){0};
}

double gw_window_cost_share(void)
{
	double variance = cost.square - cost.mean * cost.mean, share;

	if (cost.windows < WINDOWS_LEAST)
		return PRIOR;
	share = 1 - cost.mean + 2 * sqrt(fmax(variance, 0) / cost.windows);
	return fmin(fmax(share, LEAST), 1);
}

void gw_window_cost_pair(bool queued)
{
	cost.pairs++;
	cost.queued += queued;
	if (cost.pairs > PAIRS_MOST) {
		cost.pairs /= 2;
		cost.queued /= 2;
	}
}

bool gw_window_cost_stay(uint32_t percent)
{
	double share = cost.recent.ns > 0 ? cost.recent.launches / cost.recent.ns * CALL_NS : 0;

	return share <= percent / 200.0 ||
	       (cost.pairs >= PAIRS_LEAST && cost.queued >= QUEUED * cost.pairs);
}
