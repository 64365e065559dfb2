/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing without activity records: a pair of events around one launch in so many. The pair
 * is asked for its time at a later sampled launch of the same thread, never waited for.
 * Everything happens on the launching thread, so no driver call of ours can meet the end of
 * a context on another thread.
 */
#include "preload/launch/call.h"
#include "preload/runtime/clock.h"
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"

#include <errno.h>
#include <stdlib.h>

enum { PAIRS = 8 };

struct gw_event_pool {
	CUcontext context;   /* the events belong to it */
	uint32_t generation; /* of contexts when they were made */
	uint32_t serial;     /* of the thread the tickets are counted for */
	uint32_t launches, tickets;
	uint32_t made;         /* pairs made */
	uint32_t oldest, busy; /* pairs under way: oldest, oldest + 1, … */
	struct {
		CUevent begin, end;
		uint32_t ticket;
	} pair[PAIRS];
};

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

/* The pool of the current context; events of a context that may have ended are forgotten. */
static struct gw_event_pool *pool_of(struct gw_thread *t)
{
	struct gw_event_pool *p = t->events;
	CUcontext context = gw_context_current();
	uint32_t generation = atomic_load(&gw_hot.context_generation);

	if (!p)
		p = t->events = gw_memory_new(GW_MEMORY_rings, 1, sizeof(*p));
	if (!p || !context)
		return NULL;
	if (p->serial != t->serial) {
		/* The record had another owner: what it was waiting for is not ours. */
		p->serial = t->serial;
		p->tickets = p->busy = p->oldest = 0;
	}
	if (p->context != context || p->generation != generation) {
		/* Where the context lives on, its events are left to it: a few, and rarely. */
		p->context = context;
		p->generation = generation;
		p->made = p->busy = p->oldest = 0;
	}
	return p;
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

/*
 * Hand the times that are ready to the worker, through the ring, behind the launch that is being
 * filled in; those that are not ready wait.
 */
static void harvest(struct gw_thread *t, struct gw_event_pool *p)
{
	CUstreamCaptureMode before = capture_mode(CU_STREAM_CAPTURE_MODE_RELAXED);

	while (p->busy) {
		float ms = 0;
		struct gw_event *e;

		if (gw_driver.cuEventQuery(p->pair[p->oldest].end) != CUDA_SUCCESS ||
		    gw_driver.cuEventElapsedTime(&ms, p->pair[p->oldest].begin,
		                                 p->pair[p->oldest].end) != CUDA_SUCCESS)
			break;
		e = gw_ring_reserve_inner(t);
		if (!e)
			break;
		e->ticks = gw_ticks();
		e->kind = GW_EVENT_TIME;
		e->known = p->pair[p->oldest].ticket;
		e->predicted = ms * 1e6f;
		e->flags = GW_EVENT_DONE;
		p->oldest = (p->oldest + 1) % PAIRS;
		p->busy--;
	}
	capture_mode(before);
}

static bool pair_ready(struct gw_event_pool *p, uint32_t at)
{
	if (at < p->made)
		return true;
	if (gw_driver.cuEventCreate(&p->pair[at].begin, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
	    gw_driver.cuEventCreate(&p->pair[at].end, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
		return false;
	p->made = at + 1;
	return true;
}

void gw_events_begin(struct gw_call *call, CUstream stream)
{
	struct gw_thread *t = call->thread;
	struct gw_event_pool *p = t->events;
	int saved = errno;
	uint32_t at;

	/* A launch within a launch may have come in the midst of what is done here for the outer.
	 */
	if (call->how == GW_CALL_INNER)
		return;
	if (p && ++p->launches % gw_options.event_rate)
		return;
	/* To ask an event for its time may invalidate a capture that any thread has under way. */
	if (gw_captures_of(atomic_load_explicit(&gw_hot.captures, memory_order_relaxed)) > 0) {
		gw_bump(&t->counts.events_skipped, 1);
		return;
	}
	if (!usable() || !(p = pool_of(t)))
		return;
	harvest(t, p);
	at = (p->oldest + p->busy) % PAIRS;
	if (p->busy == PAIRS || !pair_ready(p, at) ||
	    record(p->pair[at].begin, stream, call->pt) != CUDA_SUCCESS) {
		gw_bump(&t->counts.events_skipped, 1);
		errno = saved;
		return;
	}
	call->stream = stream;
	call->event->flags |= GW_EVENT_TIMED;
	errno = saved;
}

void gw_events_end(struct gw_call *call)
{
	struct gw_event_pool *p = call->thread->events;
	uint32_t at = (p->oldest + p->busy) % PAIRS;
	int saved = errno;

	/* The worker numbers the timed launches it meets in the ring, and so do we. */
	p->pair[at].ticket = ++p->tickets;
	if (record(p->pair[at].end, call->stream, call->pt) == CUDA_SUCCESS)
		p->busy++;
	errno = saved;
}
