/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/counters/deep.h"

#include "preload/cupti/activity.h"
#include "preload/cupti/cupti_overhead.h"
#include "preload/runtime/deadline.h"
#include "preload/counters/deep_sets.h"
#include "preload/counters/deep_streams.h"
#include "preload/runtime/degrade.h"
#include "preload/hook/injection.h"
#include "preload/worker/launch_config.h"
#include "preload/runtime/options.h"
#include "preload/counters/range_session.h"
#include "preload/analysis/known_work.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROGRESS_BITS = 14, /* configurations whose counting is followed */
	PROGRESS = 1 << PROGRESS_BITS,
	PROBE = 8,
	BACKOFF_MAX = 1 << 12, /* launches that are let pass after waiting in vain, at most */
	YIELD_MS = 500,        /* that another tool waits for a launch that is being counted */
	PATIENCE = 4,          /* launches in a row that want another set before it has its turn */
};

/* A configuration: how many of its sets have been counted. */
struct progress {
	_Atomic uint64_t key; /* of gw_cell_key, 0: free */
	_Atomic uint32_t next;
};

/* What was counted, on its way to the worker. */
struct result {
	struct result *next;
	struct gw_event event;
	uint32_t set;
	size_t size;
	_Alignas(max_align_t) uint8_t data[];
};

static bool asked_for;
/*
 * Launches hold it for reading, a launch that is counted for writing; nobody waits for it to be
 * free of readers, so that no launch waits for another's.
 */
static pthread_rwlock_t gate;
static struct progress progress[PROGRESS];
static _Atomic uint32_t passes_left; /* launches to be let pass */
static uint32_t backoff;             /* this and what follows: of who holds the gate for writing */
static struct gw_range range;
static CUcontext context; /* the one whose launches are counted */
static uint32_t open_for; /* the set that it is open for */
static uint32_t others;   /* launches since that wanted another */
static struct result *counting;
static _Atomic uint32_t bad; /* sets that failed, by bit */
static _Atomic int yielded;  /* to another tool, for good */
static struct progress *counting_of;
static pthread_mutex_t results_lock;
static struct result *results;

void gw_deep_start(void)
{
	pthread_rwlock_init(&gate, NULL);
	pthread_mutex_init(&results_lock, NULL);
	memset(progress, 0, sizeof(progress));
	atomic_store(&passes_left, 0);
	backoff = 0;
	range = (struct gw_range){0};
	context = NULL;
	counting = results = NULL;
	atomic_store(&bad, 0);
	atomic_store(&yielded, 0);
	gw_deep_streams_start();
	gw_deep_sets_start();
	asked_for = gw_options.counters == GW_COUNT_RANGE && gw_options.mode == GW_MODE_AUDIT;
	if (gw_options.counters == GW_COUNT_RANGE && !asked_for)
		gw_degrade_asked(GW_DEGRADED_COUNTERS,
		                 "GPUWATCH_COUNTERS=range: nothing is counted, that is for mode "
		                 "audit only");
	if (!asked_for)
		return;
	if (gw_injection_active()) {
		gw_degrade_asked(GW_DEGRADED_COUNTERS,
		                 "GPUWATCH_COUNTERS=range: nothing is counted, for gpuwatch was "
		                 "injected: preload it");
		asked_for = false;
		return;
	}
	/* Launches are met from the first on, long before any is counted: one that still runs then
	 * must be known, or a range would wait for it for good. */
	atomic_fetch_or(&gw_hot.events, GW_HOT_DEEP);
	gw_degrade(GW_DEGRADED_RANGE,
	           "GPUWATCH_COUNTERS=range: while a launch is counted, others wait; a "
	           "program whose kernels wait for the host or for each other may hang");
}

/* No more counting; what has been counted stays. */
static void give_up(const char *what, CUptiResult why)
{
	const char *text = "unknown error";

	if (why != CUPTI_SUCCESS)
		gw_cupti.cuptiGetResultString(why, &text);
	atomic_fetch_and(&gw_hot.events, ~GW_HOT_DEEP);
	gw_degrade(GW_DEGRADED_COUNTERS, "%s: %s: nothing is counted", what, text);
}

/* ---- on the launching thread ---- */

static struct progress *progress_of(const struct gw_event *e)
{
	uint64_t key = gw_cell_key(
	        gw_cell_kernel(e->kernel, gw_slot_device(gw_hot.shared, e->stream)), e->grid,
	        e->block_x, e->block_y, e->block_z, e->cluster, e->shared, e->digest);
	uint32_t at = (uint32_t)(key >> (64 - PROGRESS_BITS));

	for (unsigned i = 0; i < PROBE; i++, at = (at + 1) & (PROGRESS - 1)) {
		uint64_t there = 0;

		if (atomic_compare_exchange_strong(&progress[at].key, &there, key) || there == key)
			return &progress[at];
	}
	return NULL;
}

/* The next set to be counted of a configuration; gw_deep_sets_ready() when there is none left. */
static uint32_t next_set(struct progress *p)
{
	uint32_t set = atomic_load(&p->next), n = gw_deep_sets_ready();

	while (set < n && atomic_load(&bad) >> set & 1)
		set++;
	return set;
}

/* Whether this launch is worth counting, and harmless to count. */
static struct progress *wanted(const struct gw_event *e)
{
	struct progress *p;
	uint32_t left = atomic_load_explicit(&passes_left, memory_order_relaxed);

	if (left) {
		atomic_store_explicit(&passes_left, left - 1, memory_order_relaxed);
		return NULL;
	}
	if (e->flags & GW_EVENT_COOPERATIVE || gw_captures_of(atomic_load(&gw_hot.captures)) > 0 ||
	    !gw_deep_kernel_allowed(e->kernel))
		return NULL;
	p = progress_of(e);
	return p && next_set(p) < gw_deep_sets_ready() ? p : NULL;
}

/* Waited in vain: the next launches are let pass, ever more of them. */
static void back_off(void)
{
	gw_count(GW_COUNTER_deep_busy, 1);
	backoff = backoff ? backoff * 2 : 8;
	backoff = backoff < BACKOFF_MAX ? backoff : BACKOFF_MAX;
	atomic_store(&passes_left, backoff);
}

static bool open_range(CUcontext now, uint32_t set)
{
	CUptiResult why = gw_range_open(&range, now);

	open_for = set;
	if (why == CUPTI_SUCCESS) {
		context = now;
		return true;
	}
	give_up(range.failed ? range.failed : "the range profiler", why);
	gw_range_close(&range);
	return false;
}

/* A set that is not tried again. Any thread. */
static void set_bad(uint32_t set, const char *what, CUptiResult why)
{
	uint32_t all = (1u << gw_deep_sets_ready()) - 1, before = atomic_fetch_or(&bad, 1u << set);

	if (before != all && (before | 1u << set) == all)
		give_up(what, why);
}

/* One that failed; the others begin anew. */
static void set_failed(uint32_t set, CUptiResult why)
{
	const char *what = range.failed ? range.failed : "the range profiler";

	gw_range_close(&range);
	context = NULL;
	set_bad(set, what, why);
}

/* The gate is held for writing and the context idle. */
static bool begin(const struct gw_event *e, struct progress *p, CUcontext now)
{
	uint32_t set = next_set(p);
	struct result *r;
	CUptiResult why;
	size_t size;

	if (!range.object && !open_range(now, set))
		return false;
	size = gw_range_data_size(&range, gw_deep_set(set), &why);
	if (!size) {
		set_failed(set, why);
		return false;
	}
	r = calloc(1, sizeof(*r) + size);
	if (!r)
		return false;
	r->event = *e;
	r->set = set;
	r->size = size;
	why = gw_range_begin(&range, gw_deep_set(set), r->data, r->size);
	if (why != CUPTI_SUCCESS) {
		set_failed(set, why);
		free(r);
		return false;
	}
	counting = r;
	counting_of = p;
	return true;
}

/*
 * Whether it is the turn of @p set. On the H200 a profiler tells nothing of a second set it is
 * configured with, so for each it is opened anew, which takes some 0.2 s: not for a single launch.
 */
static bool in_turn(uint32_t set)
{
	if (!range.object || set == open_for) {
		others = 0;
		return true;
	}
	if (++others < PATIENCE)
		return false;
	others = 0;
	gw_range_close(&range);
	context = NULL;
	return true;
}

static bool count(struct gw_call *call, struct progress *p)
{
	CUcontext now = gw_context_current();

	if (!now || (context && context != now) || atomic_load(&yielded))
		return false;
	/* Again: it may have been counted while this thread came here. */
	if (next_set(p) >= gw_deep_sets_ready() || !in_turn(next_set(p)))
		return false;
	if (!gw_deep_streams_idle(now, call->thread->serial)) {
		back_off();
		return false;
	}
	backoff = 0;
	return begin(call->event, p, now);
}

void gw_deep_begin(struct gw_call *call, CUstream stream)
{
	int saved = errno;
	struct progress *p = wanted(call->event);

	call->event->flags |= GW_EVENT_GATED;
	if (p && !pthread_rwlock_trywrlock(&gate)) {
		if (count(call, p)) {
			call->event->flags |= GW_EVENT_COUNTED;
			errno = saved;
			return;
		}
		pthread_rwlock_unlock(&gate);
	}
	pthread_rwlock_rdlock(&gate);
	gw_deep_streams_used(stream, call->pt, call->thread->serial);
	errno = saved;
}

void gw_deep_graph(struct gw_call *call, CUstream stream)
{
	int saved = errno;

	call->event->flags |= GW_EVENT_GATED;
	pthread_rwlock_rdlock(&gate);
	gw_deep_streams_used(stream, call->pt, call->thread->serial);
	errno = saved;
}

static void hand_over(struct result *r)
{
	pthread_mutex_lock(&results_lock);
	r->next = results;
	results = r;
	pthread_mutex_unlock(&results_lock);
}

/* The kernel has been launched, or was refused: wait for it, and have what it did. */
static void end(struct gw_call *call, CUresult launched)
{
	CUptiResult why = gw_range_end(&range);
	uint32_t set = counting->set;

	/* A launch within this one has been counted with it. */
	if (why == CUPTI_SUCCESS && launched == CUDA_SUCCESS && !gw_ring_had_inner(call)) {
		atomic_store(&counting_of->next, set + 1);
		gw_count(GW_COUNTER_deep_counted, 1);
		hand_over(counting);
	} else {
		free(counting);
	}
	if (why != CUPTI_SUCCESS)
		set_failed(set, why);
	if (launched != CUDA_SUCCESS)
		call->event->flags &= (uint8_t)~GW_EVENT_COUNTED;
	counting = NULL;
}

void gw_deep_end(struct gw_call *call, CUresult result)
{
	int saved = errno;

	if (call->event->flags & GW_EVENT_COUNTED)
		end(call, result);
	pthread_rwlock_unlock(&gate);
	errno = saved;
}

void gw_deep_stream_gone(CUstream stream)
{
	if (asked_for)
		gw_deep_streams_gone(stream);
}

void gw_deep_context_gone(CUcontext gone, bool still_there)
{
	if (!asked_for)
		return;
	gw_deep_streams_context_gone(gone);
	pthread_rwlock_wrlock(&gate);
	if (context == gone) {
		if (still_there)
			gw_range_close(&range);
		range = (struct gw_range){0};
		context = NULL;
	}
	pthread_rwlock_unlock(&gate);
}

/* ---- on the worker ---- */

static struct result *take_results(void)
{
	struct result *r;

	pthread_mutex_lock(&results_lock);
	r = results;
	results = NULL;
	pthread_mutex_unlock(&results_lock);
	return r;
}

static void offer(const struct result *r)
{
	uint32_t config = gw_launch_config(&r->event);
	struct gw_work part;

	if (!gw_deep_sets_work(r->set, r->data, r->size, &part)) {
		set_bad(r->set, "CUPTI's answer", CUPTI_ERROR_INVALID_METRIC_VALUE);
		return;
	}
	if (!config)
		return;
	gw_subtract_cupti_overhead(config, &part);
	gw_work_offer(config, &part);
}

void gw_deep_tick(void)
{
	if (!asked_for)
		return;
	for (struct result *r = take_results(), *next; r; r = next) {
		next = r->next;
		offer(r);
		free(r);
	}
	gw_deep_kernels_analysis();
	if (atomic_load(&yielded) || gw_options.mode != GW_MODE_AUDIT || !gw_activity_on() ||
	    gw_deep_sets_ready())
		return;
	if (!gw_range_usable()) {
		give_up("the libcupti found has no range profiler", CUPTI_ERROR_NOT_SUPPORTED);
		asked_for = false;
	} else if (gw_deep_sets_make()) {
		if (gw_deep_sets_ready())
			return;
		give_up("no counter can be had", gw_deep_sets_why());
		asked_for = false;
	}
}

void gw_deep_yield(void)
{
	if (!asked_for || atomic_exchange(&yielded, 1))
		return;
	gw_degrade_asked(
	        GW_DEGRADED_COUNTERS,
	        "GPUWATCH_COUNTERS=range: another profiler came, nothing is counted any more");
	atomic_fetch_and(&gw_hot.events, ~GW_HOT_DEEP);
	for (int i = 0; i < YIELD_MS * 5; i++) {
		if (!pthread_rwlock_trywrlock(&gate)) {
			gw_range_close(&range);
			context = NULL;
			pthread_rwlock_unlock(&gate);
			return;
		}
		gw_pause(200000);
	}
}

void gw_deep_over(void)
{
	if (asked_for && !gw_deep_sets_ready() && !gw_activity_on())
		gw_degrade_asked(GW_DEGRADED_COUNTERS,
		                 "GPUWATCH_COUNTERS=range: nothing was counted, for kernels have "
		                 "no activity records");
}

void gw_deep_stop(void)
{
	if (asked_for)
		gw_deep_sets_stop();
}
