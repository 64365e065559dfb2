/*
 * Timing without activity records: a pair of events around one kernel, or graph, in so many. The
 * pair is asked for its time at a later sampled launch of the same thread, never waited for.
 * Everything happens on the launching thread, so no driver call of ours can meet the end of
 * a context on another thread.
 *
 * What a pair reads is more than the launch: events take time by themselves, and a kernel between
 * them is one more gap; where the stream had nothing left to do, the GPU waited for the launch call
 * after the first event instead. What events take is read now and then between the second one and
 * one right behind it, the gap is the device profile's, and that the GPU waited shows by the first
 * event, which has passed when the second is recorded. Then the kernel begins as long after the
 * call's return as the first event after its own: to 0.3 us on an H200. With a graph, or where the
 * call took unusually long, the GPU may begin at any time during it: it is to be short then.
 */
#include "preload/launch/call.h"
#include "preload/runtime/clock.h"
#include "preload/maps/devices.h"
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"
#include "preload/launch/object_lifetime.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
	PAIRS = 64,
	PAIRS_SAMPLED = 8, /* of these, as long as one launch in so many is timed */
	CONTEXTS = 8,      /* that a thread has events in at a time */
	LEFT_MOST = 64,    /* times that a thread leaves its events to a context that lives on */
	CALL_MOST = 3,     /* times the least: a thread that was kept from running, or a slow way */
	CALLS_LEAST = 8,   /* … of so many */
	BASES = 64,        /* events that are made as bases, one in a context after another */
};

/* Of a pair's time beside the events' own: while kernels were queued so many gaps of the device
 * profile, where the GPU waited for the call, and a byte of parameters, ns (H200, medians of three
 * programs: docs/results/watch-2026-11-26). */
static const double QUEUED = 1.4, WAITED = 80, BYTE = 0.06;
enum { BEGIN = 8 }; /* a launch that may have begun within its call takes so many times that */

/* A thread's events in one context. */
struct events {
	CUcontext context;     /* NULL: none yet */
	uint32_t ends;         /* gw_context_ends() when they were made */
	uint32_t made;         /* pairs made */
	uint32_t ring;         /* pairs in use */
	uint32_t oldest, busy; /* pairs under way: oldest, oldest + 1, … */
	CUevent behind;        /* right behind the end of pair 0, now and then */
	bool behind_used; /* the pair 0 under way has it, and the GPU had not come to its end */
	float own_ns;     /* the least time between the two; 0: not known */
	uint64_t call;    /* ticks: the least that a launch call took … */
	uint32_t calls;   /* … of so many */
	struct gw_pair {
		CUevent begin, end;
		uint32_t ticket;
		uint32_t exact;          /* window in which all launches have one, or 0 */
		uint16_t stream, kernel; /* kernel: its slot; 0 of a graph */
		bool any;                /* the GPU may have begun at any time during the call */
		/* ticks: before and after the first was recorded; when the second had not passed
		 * yet; that the GPU waited for the call */
		uint64_t asked, begun, behind, waited;
	} pair[PAIRS];
};

struct gw_event_pool {
	uint32_t serial; /* of the thread whose launches they are around */
	uint32_t launches, dice;
	uint32_t left;      /* times that events were left behind */
	uint32_t next;      /* whose place the next context takes */
	struct events *now; /* of the launch under way */
	struct events of[CONTEXTS];
};

/* The event that the times of a window of exact pairs count from, recorded by its first launch. */
static struct {
	_Atomic uint32_t taken, ready; /* number of the window; taken: a thread is recording it */
	_Atomic(CUevent) event;
	_Atomic(CUcontext) context;
	_Atomic uintptr_t stream; /* stream_of() */
	_Atomic uint32_t ends;    /* gw_context_ends() of the context */
	uint32_t made;
	_Atomic uint64_t ticks; /* before it was recorded */
} base;

static CUresult record(CUevent event, CUstream stream, uint32_t pt)
{
	return pt && gw_driver.cuEventRecord_ptsz ? gw_driver.cuEventRecord_ptsz(event, stream)
						  : gw_driver.cuEventRecord(event, stream);
}

static bool usable(void)
{
	return gw_driver.cuEventCreate && gw_driver.cuEventRecord && gw_driver.cuEventQuery &&
	       gw_driver.cuEventElapsedTime;
}

/* The record had another owner: what it was waiting for is not ours. */
static void begin_anew(struct gw_event_pool *p, uint32_t serial)
{
	p->serial = serial;
	for (int i = 0; i < CONTEXTS; i++)
		p->of[i].busy = p->of[i].oldest = 0;
}

/* Of a context that has ended, the driver has freed them. */
static bool live(const struct events *v)
{
	return v->made && v->ends == gw_context_ends(v->context);
}

/*
 * Where those of @p context are, or will be. Events of a context that lives on are left to it where
 * there is no other place: a few times, and not without end where a thread goes round more contexts
 * than have a place. NULL then.
 */
static struct events *place_of(struct gw_event_pool *p, CUcontext context)
{
	struct events *v = NULL;

	for (int i = 0; i < CONTEXTS; i++) {
		if (p->of[i].context == context)
			return &p->of[i];
		if (!v && !live(&p->of[i]))
			v = &p->of[i];
	}
	if (v)
		return v;
	if (p->left == LEFT_MOST)
		return NULL;
	p->left++;
	return &p->of[p->next++ % CONTEXTS];
}

/* The events of the current context, put into the pool's `now`. */
static struct events *events_of(struct gw_thread *t)
{
	struct gw_event_pool *p = t->events;
	CUcontext context = gw_context_current();
	struct events *v;

	if (!p)
		p = t->events = gw_memory_new(GW_MEMORY_rings, 1, sizeof(*p));
	if (!p || !context)
		return NULL;
	if (p->serial != t->serial)
		begin_anew(p, t->serial);
	v = place_of(p, context);
	if (v && (v->context != context || !live(v)))
		*v = (struct events){.context = context,
				     .ends = gw_context_ends(context),
				     .ring = PAIRS_SAMPLED};
	p->now = v;
	return v;
}

/*
 * What our questions are to a capture that another thread has under way, or begins just then: with
 * RELAXED no reason to invalidate it. Returns what the thread's mode was.
 */
static CUstreamCaptureMode capture_mode(CUstreamCaptureMode mode)
{
	if (gw_driver.cuThreadExchangeStreamCaptureMode)
		gw_driver.cuThreadExchangeStreamCaptureMode(&mode);
	return mode;
}

GW_COLD static bool base_made(CUcontext context)
{
	CUevent event;

	if (base.made && base.context == context && base.ends == gw_context_ends(context))
		return true;
	if (base.made == BASES || gw_driver.cuEventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
		return false;
	base.made++;
	base.event = event;
	base.context = context;
	base.ends = gw_context_ends(context);
	return true;
}

/* A default stream has two handles; 1: the legacy one. */
static uintptr_t stream_of(CUstream stream, uint32_t pt)
{
	const uintptr_t key = (uintptr_t)stream;

	if (key > 2)
		return key;
	return (key ? key == 2 : pt) ? (uintptr_t)gw_self : 1;
}

/* Whether window @p exact has its base, in the context of @p p; by the first launch that asks. */
GW_COLD static bool based(const struct events *p, uint32_t exact, CUstream stream, uint32_t pt)
{
	uint32_t before = atomic_load(&base.taken);

	/* Pairs with the store below: the base was recorded. */
	if (atomic_load_explicit(&base.ready, memory_order_acquire) == exact)
		return base.context == p->context && base.ends == p->ends;
	if (before == exact || !atomic_compare_exchange_strong(&base.taken, &before, exact) ||
	    !base_made(p->context))
		return false;
	base.stream = stream_of(stream, pt);
	base.ticks = gw_ticks();
	if (record(base.event, stream, pt) != CUDA_SUCCESS)
		return false;
	atomic_store_explicit(&base.ready, exact, memory_order_release);
	return true;
}

/* The default streams wait for each other, but those of other threads. */
bool gw_events_beside(CUstream stream)
{
	const uintptr_t key = (uintptr_t)stream, known = base.stream;

	return key > 2 ? known != key : known != 1 && known != (uintptr_t)gw_self;
}

/* Into @p e when the launch of @p pair began, as far as its window's base is still there. */
GW_COLD static void place(const struct gw_pair *pair, struct gw_event *e)
{
	const uint64_t ticks = base.ticks;
	float ms = 0;

	e->grid[0] = 0;
	if (!pair->exact || atomic_load(&base.ready) != pair->exact ||
	    gw_driver.cuEventElapsedTime(&ms, base.event, pair->begin) != CUDA_SUCCESS ||
	    atomic_load(&base.taken) != pair->exact || !(ms >= 0))
		return;
	e->grid[0] = pair->exact;
	e->grid[1] = (uint32_t)(ms * 1e6f);
	e->grid[2] = (uint32_t)(pair->asked - ticks);
	e->config = (uint32_t)(pair->begun - pair->asked);
	e->digest = pair->behind > ticks ? (uint32_t)(pair->behind - ticks) : 0;
	e->cluster = (uint32_t)ticks;
	e->shared = (uint32_t)(ticks >> 32);
}

/* What a pair takes by itself: the least that was read. */
static void learn_own(struct events *p)
{
	float ms = 0;

	p->behind_used = false;
	if (gw_driver.cuEventElapsedTime(&ms, p->pair[0].end, p->behind) != CUDA_SUCCESS)
		return;
	if (ms > 0 && (!(p->own_ns > 0) || ms * 1e6f < p->own_ns))
		p->own_ns = ms * 1e6f;
}

/*
 * Hand the times that are ready to the worker, through the ring, behind the launch that is being
 * filled in; those that are not ready wait.
 */
static void harvest(struct gw_thread *t, struct events *p)
{
	CUstreamCaptureMode before = capture_mode(CU_STREAM_CAPTURE_MODE_RELAXED);

	while (p->busy) {
		struct gw_pair *pair = &p->pair[p->oldest];
		const uint64_t now = gw_ticks();
		float ms = 0;
		struct gw_event *e;

		/* Says that they have not passed, too: to ask that first would be another 2 us. */
		if (gw_driver.cuEventElapsedTime(&ms, pair->begin, pair->end) != CUDA_SUCCESS) {
			pair->behind = now;
			break;
		}
		e = gw_ring_reserve_inner(t);
		if (!e)
			break;
		if (!p->oldest && p->behind_used)
			learn_own(p);
		e->ticks = gw_ticks();
		e->kind = GW_EVENT_TIME;
		e->known = pair->ticket;
		e->predicted = ms * 1e6f;
		e->low = p->own_ns;
		e->high = (float)pair->waited;
		e->block_x = pair->any;
		e->kernel = pair->kernel;
		e->stream = pair->stream;
		place(pair, e);
		e->flags = GW_EVENT_DONE;
		p->oldest = (p->oldest + 1) % p->ring;
		p->busy--;
	}
	capture_mode(before);
}

static bool pair_ready(struct events *p, uint32_t at)
{
	if (at < p->made)
		return true;
	if (gw_driver.cuEventCreate(&p->pair[at].begin, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
	    gw_driver.cuEventCreate(&p->pair[at].end, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
		return false;
	p->made = at + 1;
	return true;
}

/*
 * Whether this launch, of so many kernels, is timed: one kernel in as many as gw_hot.events says
 * is, at random, so that a program that repeats itself is not met in step.
 */
static bool due(struct gw_event_pool *p, uint32_t kernels)
{
	/* It may be switched off meanwhile. */
	const uint32_t now = (uint32_t)atomic_load_explicit(&gw_hot.events, memory_order_relaxed),
		       rate = now ? now : 1;

	if (p->launches > kernels) {
		p->launches -= kernels;
		return false;
	}
	p->dice = p->dice * 1664525 + 1013904223;
	p->launches = 1 + (uint32_t)((uint64_t)(2 * (uint64_t)rate - 1) * (p->dice >> 8) >> 24);
	return true;
}

static bool begun(struct gw_pair *pair, CUstream stream, uint32_t pt)
{
	pair->asked = gw_ticks();
	if (record(pair->begin, stream, pt) != CUDA_SUCCESS)
		return false;
	pair->begun = gw_ticks();
	return true;
}

void gw_events_begin(struct gw_call *call, CUstream stream, uint32_t kernels)
{
	const uint32_t exact = atomic_load(&gw_hot.exact);
	struct gw_thread *t = call->thread;
	struct events *p;
	int saved = errno;
	uint64_t came;
	uint32_t at;

	/* A launch within a launch may have come in the midst of what is done here for the outer.
	 */
	if (call->how == GW_CALL_INNER)
		return;
	if (t->events && !exact && !due(t->events, kernels))
		return;
	came = gw_ticks();
	/* To ask an event for its time may invalidate a capture that any thread has under way. */
	if (gw_captures_of(atomic_load_explicit(&gw_hot.captures, memory_order_relaxed)) > 0) {
		gw_bump(&t->counts.events_skipped, 1);
		return;
	}
	if (!usable() || !(p = events_of(t))) {
		errno = saved;
		return;
	}
	harvest(t, p);
	if (exact && p->oldest + p->busy <= p->ring) /* none is over its end */
		p->ring = PAIRS;
	at = (p->oldest + p->busy) % p->ring;
	if (p->busy == p->ring || !pair_ready(p, at) ||
	    (exact && !based(p, exact, stream, call->pt)) ||
	    !begun(&p->pair[at], stream, call->pt)) {
		gw_bump(&t->counts.events_skipped, 1);
		errno = saved;
		return;
	}
	p->pair[at].exact = exact;
	p->pair[at].behind = 0;
	p->pair[at].stream = call->event->stream;
	gw_bump(&t->counts.pair_ticks, p->pair[at].begun - came);
	call->stream = stream;
	call->event->flags |= GW_EVENT_TIMED;
	errno = saved;
}

/* In the midst of a launch; a capture that another thread has begun meanwhile is left alone. */
static bool passed(CUevent event)
{
	CUstreamCaptureMode before = capture_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
	const CUresult result = gw_driver.cuEventQuery(event);

	capture_mode(before);
	return result == CUDA_SUCCESS;
}

/* Behind pair 0: what lies between two events with nothing between them, both in the queue. */
static void record_behind(struct events *p, const struct gw_call *call)
{
	p->behind_used = false;
	if (!p->behind && gw_driver.cuEventCreate(&p->behind, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
		p->behind = NULL;
		return;
	}
	p->behind_used = record(p->behind, call->stream, call->pt) == CUDA_SUCCESS &&
			 !passed(p->pair[0].end);
}

void gw_events_end(struct gw_call *call)
{
	struct events *p = call->thread->events->now;
	uint32_t at = (p->oldest + p->busy) % p->ring;
	struct gw_pair *pair = &p->pair[at];
	const uint64_t returned = gw_ticks(), took = returned - pair->begun;
	int saved = errno;

	if (!p->calls || took < p->call)
		p->call = took;
	pair->any = call->event->kind == GW_EVENT_GRAPH || p->calls < CALLS_LEAST ||
		    took > CALL_MOST * p->call;
	p->calls += p->calls < CALLS_LEAST;
	pair->ticket = gw_event_ticket(call->at);
	pair->kernel = call->event->kind == GW_EVENT_GRAPH ? 0 : call->event->kernel;
	if (record(pair->end, call->stream, call->pt) == CUDA_SUCCESS) {
		p->busy++;
		pair->waited = passed(pair->begin) ? took : 0;
		if (!at)
			record_behind(p, call);
	}
	gw_bump(&call->thread->counts.pairs, 1);
	gw_bump(&call->thread->counts.pair_ticks, gw_ticks() - returned);
	errno = saved;
}

double gw_events_seconds(const struct gw_event *e)
{
	const int gpu = (int)gw_slot_device(gw_hot.shared, e->stream) - 1;
	const struct gw_device *d = gw_device_profile(gw_device_id(gpu));
	const struct gw_layout *layout = gw_hot.shared->kernels[e->kernel].layout;
	const double waited = (double)e->high * 1e6 / gw_clock_khz();
	const double gap = d ? gw_param(d, GW_PARAM_launch_gap_stream) * 1e9 : 0;
	const double left = (double)e->predicted - (double)e->low -
			    (layout ? BYTE * layout->bytes : 0) -
			    (e->high > 0 ? waited + WAITED : fmax(QUEUED * gap, 0));

	/* It is known to 0.3 us, a quarter of what events take. */
	if (left > 0 && left >= (double)e->low && (!e->block_x || !(waited > left / BEGIN)))
		return left * 1e-9;
	gw_count(GW_COUNTER_events_unsure, 1);
	return 0;
}
