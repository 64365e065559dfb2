#include "preload/cupti/window_cost.h"

#include "preload/maps/own_use.h"
#include "preload/maps/state.h"
#include "preload/runtime/bell.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"

#include <errno.h>
#include <math.h>

enum {
	CONDITIONAL_MS = 2000, /* that the call which adds such a node waits at most */
	WINDOWS_LEAST = 8,     /* of which the loss is known */
	WINDOWS_MOST = 64,     /* so many count: what changes is seen */
};

static const double PRIOR = 0.5;             /* loss in a window, before any was seen */
static const double LEAST = 0.02;            /* and what it is never taken to be below */
static const uint64_t SPAN_NS = 10000000000; /* over which calls are counted, about */
/* What a launch call takes longer while libcupti is attached and off, and a graph's for each of its
 * kernels: the most that was seen (H200: docs/results/watch-2026-11-26). */
static const double CALL_NS = 600, NODE_NS = 500;

/* So long, by the per cents of the budget, the program has launched before it is decided. */
static const double SEEN_NS = 1000000000;

/* What is charged for a pair, at least: on an H200 it takes 10 to 19 us of a launching thread, and
 * delays the GPU, too. In a window each launch reads its prediction. */
static const uint64_t PAIR_NS = 25000;
enum { TIMES = 2, LONGER = 20 };

/* What a hook takes of a launch call, the most that was seen (the same). */
static const double HOOK_NS = 70;
enum { LEFT = 16 }; /* this part of the budget windows have, whatever hooks take */

/* Pairs that a window is to have: where launches are few, more of them are timed. */
static const double PAIRS_NS = 5000000, PAIRS = 24;
enum { RATE_LEAST = 4 };

static const uint64_t EXACT_NS = 7000000;        /* for how long every launch has its pair */
static const uint64_t NEVER_NS = UINT64_MAX / 4; /* without a budget, to the next window */
static const double FULL = 0.5;             /* of a ring, in a round: the next may not have room */
static const uint64_t REST_NS = 1000000000; /* after a window in which the worker fell behind */

struct pace {
	double launches, ns;
};

static _Atomic int conditional; /* a graph has a conditional node, or is about to */
static _Atomic int records;     /* mode watch has kernels recorded, or is about to */

static struct {
	struct pace closed, open;     /* since the last window, in this one */
	double windows, mean, square; /* of the paces in windows by those before them */
	double delay, ns;             /* by an attached libcupti, in the last SPAN_NS about … */
	double calls;                 /* … in which there were so many launch calls */
	double launching;             /* … in rounds of so many ns */
	uint64_t pairs, ticks;        /* of event pairs, when they were last charged */
	uint32_t dice;
	bool behind, was_behind; /* a ring was about to be full in this one, in the last */
} cost;

void gw_window_cost_start(void)
{
	cost = (__typeof__(cost)){0};
}

void gw_window_cost_round(bool open, uint64_t ns, uint32_t launches, double full)
{
	struct pace *p = open ? &cost.open : &cost.closed;

	p->ns += (double)ns;
	p->launches += launches;
	cost.behind |= open && full >= FULL;
	cost.ns += (double)ns;
	cost.launching += launches ? (double)ns : 0;
	if (cost.ns > (double)SPAN_NS) {
		cost.ns /= 2;
		cost.delay /= 2;
		cost.calls /= 2;
		cost.launching /= 2;
	}
}

/*
 * Whether the GPU has work meanwhile, so that the program does not lose it, is not known: that a
 * program waits afterwards does not show it (docs/results/watch-2026-11-26).
 */
void gw_window_cost_launch(uint32_t nodes)
{
	cost.delay += CALL_NS + nodes * NODE_NS;
	cost.calls++;
}

bool gw_window_cost_behind(void)
{
	return cost.behind;
}

uint64_t gw_window_cost_rest(void)
{
	return cost.was_behind ? REST_NS : 0;
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
	cost.was_behind = cost.behind;
	cost.behind = false;
}

double gw_window_cost_share(void)
{
	double variance = cost.square - cost.mean * cost.mean, share;

	if (cost.windows < WINDOWS_LEAST)
		return PRIOR;
	share = 1 - cost.mean + 2 * sqrt(fmax(variance, 0) / cost.windows);
	return fmin(fmax(share, LEAST), 1);
}

uint64_t gw_window_cost_events(uint64_t launching)
{
	const uint32_t n = atomic_load(&gw_hot.shared->thread_count);
	uint64_t pairs = 0, ticks = 0, took, least;

	for (uint32_t i = 0; i < n && i < GW_THREADS_MAX; i++) {
		const struct gw_thread *t = atomic_load(&gw_hot.shared->threads[i]);

		pairs += t ? atomic_load_explicit(&t->counts.pairs, memory_order_relaxed) : 0;
		ticks += t ? atomic_load_explicit(&t->counts.pair_ticks, memory_order_relaxed) : 0;
	}
	took = TIMES * gw_ticks_ns(ticks - cost.ticks);
	least = PAIR_NS * (pairs - cost.pairs);
	cost.pairs = pairs;
	cost.ticks = ticks;
	return (took > least ? took : least) + launching / LONGER;
}

double gw_window_cost_left(uint32_t percent)
{
	const double budget = percent / 100.0;
	const double hooks = cost.launching > 0 ? HOOK_NS * cost.calls / cost.launching : 0;

	return fmax(budget - hooks, budget / LEFT);
}

uint64_t gw_window_cost_pause(uint64_t ns, bool pairs)
{
	const double share =
		pairs ? gw_window_cost_left(gw_options.budget) : gw_options.budget / 100.0;
	uint64_t least = share > 0 ? (uint64_t)((double)ns * (1 - share) / share) : NEVER_NS;

	if (gw_sheds(GW_SHED_WINDOWS) && share > 0)
		least *= GW_SHED_ONE_WINDOW_OF;

	/* Up to a third more: a program that repeats itself must not be met in step. */
	cost.dice = cost.dice * 1664525 + 1013904223;
	return least + least / 3 * (cost.dice >> 16) / 65536;
}

uint32_t gw_window_cost_rate(uint32_t most)
{
	const double calls = cost.launching > 0 ? PAIRS_NS * cost.calls / cost.launching : 0;
	const uint32_t rate = (uint32_t)fmin(fmax(calls / PAIRS, RATE_LEAST), most);

	return rate;
}

static bool seen(uint32_t percent)
{
	return cost.ns * percent >= SEEN_NS;
}

bool gw_window_cost_stay(uint32_t percent)
{
	return seen(percent) && cost.delay <= percent / 200.0 * cost.ns;
}

uint64_t gw_window_cost_of(bool by_events, uint64_t span, uint64_t launching)
{
	if (by_events)
		return gw_window_cost_events(launching);
	gw_window_cost_ended();
	return (uint64_t)(gw_window_cost_share() * (double)span);
}

void gw_window_events_begin(void)
{
	const uint32_t most = gw_options.event_rate;

	atomic_store(&gw_hot.events, (int)(gw_options_watch() ? gw_window_cost_rate(most) : most));
}

void gw_window_exact_begin(void)
{
	static uint32_t number;

	atomic_store(&gw_hot.exact, ++number);
}

bool gw_window_exact_over(uint64_t opened, uint64_t now)
{
	if (now < opened + EXACT_NS)
		return false;
	atomic_store(&gw_hot.exact, 0);
	return true;
}

void gw_window_taken(void)
{
	gw_degrade(GW_DEGRADED_CUPTI_TAKEN, "another profiler uses CUPTI: meanwhile kernels are %s",
		   gw_options_watch() ? "not timed" : "timed by sampled events");
}

bool gw_window_cost_attach(void)
{
	const uint32_t budget = gw_options.budget;

	if (gw_options.records && gw_window_cost_stay(budget))
		return true;
	if (!gw_options.records)
		gw_degrade_asked(GW_DEGRADED_NO_CUPTI,
				 "GPUWATCH_WINDOWS=events: kernels and whole graphs are timed by "
				 "sampled events");
	else if (seen(budget))
		gw_degrade_asked(GW_DEGRADED_NO_CUPTI,
				 "an attached CUPTI would take up to %.1f%% of the program's time, "
				 "and GPUWATCH_BUDGET allows %.1f%%: kernels and whole graphs are "
				 "timed by sampled events",
				 100 * cost.delay / cost.ns, budget / 2.0);
	return false;
}

bool gw_window_records_begin(void)
{
	atomic_store(&records, 1); /* both sides say first what they do, then look for the other */
	if (!atomic_load(&conditional))
		return true;
	atomic_store(&records, 0);
	return false;
}

void gw_window_records_end(void)
{
	atomic_store(&records, 0);
}

bool gw_window_conditional(void)
{
	if (!atomic_load(&conditional))
		return false;
	gw_degrade(GW_DEGRADED_CONDITIONAL, "%s: kernels are timed by sampled events",
		   "a graph has conditional nodes, beside which CUPTI's records can crash it");
	return true;
}

void gw_window_conditional_comes(void)
{
	int saved = errno;

	atomic_store(&conditional, 1);
	if (!atomic_load(&records))
		return;
	gw_bell_ring();
	gw_pause_while(&records, 200000, gw_deadline_in(CONDITIONAL_MS * GW_MS));
	errno = saved;
}
