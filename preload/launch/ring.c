/*
 * What is rare of a thread's ring: launches within launches. A tool behind us, a callback or a
 * signal handler may launch while a launch of the same thread is anywhere between its begin and its
 * end. All of it runs on one thread, and who came last ends first, so a slot is reserved by one
 * unlocked compare-and-exchange of `next`, which no handler can come between.
 *
 * The slots from `head` to `next` are in flight: the first is the outermost launch, and the others
 * came within it. An inner one that has ended is marked GW_EVENT_DONE and waits for the outermost,
 * whose end hands all of them to the worker. What is handed over is the worker's to write: it takes
 * the mark off the slot before it gives the slot back.
 */
#include "preload/launch/launch.h"
#include "preload/launch/stacks.h"
#include "preload/live/live.h"
#include "preload/runtime/sandbox.h"

#include <signal.h>

static uint32_t head_of(const struct gw_thread *t)
{
	return atomic_load_explicit(&t->head, memory_order_relaxed);
}

static struct gw_event *slot(const struct gw_thread *t, uint32_t at)
{
	return &t->ring[at & t->mask];
}

static void make_none(struct gw_event *e)
{
	e->ticks = 0;
	e->kind = GW_EVENT_NONE;
	e->flags = 0;
}

/*
 * Hand over what is in flight: what has no end by now never ends. A handler may come at any point
 * and do the same, so the head moves on only from where it was looked at.
 */
static void settle(struct gw_thread *t)
{
	uint32_t head;

	while ((int32_t)(t->next - (head = head_of(t))) > 0) {
		struct gw_event *e = slot(t, head);

		if (!(e->flags & GW_EVENT_DONE)) {
			make_none(e);
			gw_count(GW_COUNTER_launches_abandoned, 1);
		}
		t->outer = NULL;
		t->outer_unknown = 0;
		gw_own_exchange((uint32_t *)(void *)&t->head, head, head + 1);
	}
}

void gw_ring_settle(struct gw_thread *t)
{
	settle(t);
}

/* It has a slot and is not known by its frame, which is so between two instructions alone. */
static bool outer_unknown_for_long(struct gw_thread *t)
{
	enum { ROUNDS = 200 }; /* of the worker: two seconds and more */
	uint32_t now = atomic_load_explicit(&gw_hot.round, memory_order_relaxed) | 1;

	if (!t->outer_unknown)
		t->outer_unknown = now;
	return now - t->outer_unknown > ROUNDS;
}

/*
 * Whether the outermost call has been left by a jump: its frame lies where ours is, or below. On an
 * alternative stack that says nothing.
 */
static bool outer_gone(struct gw_thread *t, const struct gw_call *call)
{
	const uintptr_t mine = (uintptr_t)call, other = (uintptr_t)t->outer;
	const uintptr_t stack = 8 << 20;
	stack_t now;

	if (!other)
		return outer_unknown_for_long(t);
	if (mine < other || mine - other > stack || gw_sandboxed())
		return false;
	return sigaltstack(NULL, &now) == 0 && !(now.ss_flags & SS_ONSTACK);
}

/* The ring holds nothing but launches in flight: the outermost of them is taken for lost. */
static bool outer_lost(const struct gw_thread *t)
{
	return head_of(t) == t->tail_seen && t->next - t->tail_seen > t->mask;
}

static struct gw_event *reserve_inner(struct gw_call *call, uint32_t at)
{
	struct gw_thread *t = call->thread;

	if (!gw_own_exchange(&t->next, at, at + 1))
		return NULL;
	call->how = GW_CALL_INNER;
	call->at = at;
	/* What the outer one is looking up at this moment may be half done. */
	call->last = t->last;
	t->last.stream_key = 0;
	t->last.cell = 0;
	return slot(t, at);
}

struct gw_event *gw_ring_reserve(struct gw_call *call)
{
	struct gw_thread *t = call->thread;

	for (;;) {
		uint32_t head = head_of(t), next = t->next;
		struct gw_event *e;

		/* Pairs with the release of `tail` (worker/drain.c): the slot has been read. */
		if (next - t->tail_seen > t->mask)
			t->tail_seen = atomic_load_explicit(&t->tail, memory_order_acquire);
		if (next != head && (slot(t, head)->flags & GW_EVENT_DONE || outer_gone(t, call) ||
				     outer_lost(t))) {
			settle(t);
			continue;
		}
		if (next - t->tail_seen > t->mask) {
			call->how = GW_CALL_DROPPED;
			return NULL;
		}
		if (next != head && (e = reserve_inner(call, next)))
			return e;
		if (next != head)
			continue;
		if (!gw_own_exchange(&t->next, next, next + 1))
			continue;
		t->outer = call;
		call->how = GW_CALL_OUTER;
		call->at = next;
		return slot(t, next);
	}
}

struct gw_event *gw_ring_reserve_inner(struct gw_thread *t)
{
	for (;;) {
		uint32_t next = t->next;

		/* Pairs with the release of `tail` (worker/drain.c). */
		if (next - atomic_load_explicit(&t->tail, memory_order_acquire) > t->mask)
			return NULL;
		if (gw_own_exchange(&t->next, next, next + 1))
			return slot(t, next);
	}
}

static struct gw_event *innermost(struct gw_thread *t)
{
	const uint32_t head = head_of(t);

	for (uint32_t at = t->next; at != head; at--) {
		struct gw_event *e = slot(t, at - 1);

		if (!(e->flags & GW_EVENT_DONE))
			return e;
	}
	return NULL;
}

/*
 * The hook that called the driver has filled in the slot of the thread's innermost launch. Where
 * there is no such hook, nothing is in flight.
 */
bool gw_ring_correlate(uint32_t id)
{
	struct gw_event *e = gw_self ? innermost(gw_self) : NULL;

	if (!e || (e->flags & GW_EVENT_CORRELATED))
		return false;
	gw_event_correlate(e, id);
	return true;
}

void gw_call_more(struct gw_call *call, void **params, void **extra)
{
	unsigned flags = call->event->flags;

	/* First: what is done before the second event counts as the kernel's time. */
	if (flags & GW_EVENT_TIMED)
		gw_events_end(call);
	/* The driver has read them, so they can be read. */
	if (flags & GW_EVENT_ARGUMENTS)
		gw_arguments_take(call, params, extra);
	if (flags & GW_EVENT_STACK)
		gw_stack_take(call);
}

/* An inner launch leaves what the outer one has looked up as it was. */
static void inner_end(struct gw_call *call, bool made)
{
	struct gw_thread *t = call->thread;
	uintptr_t context = t->last.context;

	if ((int32_t)(call->at - head_of(t)) <= 0)
		return; /* taken for lost: the slot is another's by now */
	if (made)
		/* Arguments lie in the order of ends, launches in that of begins. */
		call->event->flags &= (uint8_t) ~(GW_EVENT_ARGUMENTS | GW_EVENT_STACK);
	else if (!gw_own_exchange(&t->next, call->at + 1, call->at))
		make_none(call->event);
	if (t->next != call->at)
		call->event->flags |= GW_EVENT_DONE;
	t->last = call->last;
	t->last.context = context ? t->last.context : 0;
}

/* A launch that failed gives its slot back, unless others have one behind it. */
static void outer_failed(struct gw_call *call)
{
	struct gw_thread *t = call->thread;

	if (head_of(t) != call->at)
		return;
	t->outer = NULL;
	if (gw_own_exchange(&t->next, call->at + 1, call->at))
		return;
	make_none(call->event);
	/* Pairs with the acquire in snapshot() (worker/drain.c). */
	atomic_store_explicit(&t->head, call->at + 1, memory_order_release);
	settle(t);
}

void gw_call_odd_end(struct gw_call *call, CUresult result, bool graph)
{
	struct gw_thread *t = call->thread;
	bool made = result == CUDA_SUCCESS;

	if (call->how == GW_CALL_IGNORED)
		return;
	if (!t) {
		gw_count(GW_COUNTER_threads_dropped, made);
		gw_live_ringless(made);
		return;
	}
	if (call->how == GW_CALL_OUTER && !made)
		outer_failed(call);
	else if (call->how == GW_CALL_INNER)
		inner_end(call, made);
	if (!made) {
		gw_bump(&t->counts.failed, 1);
	} else if (call->how == GW_CALL_CAPTURED) {
		gw_bump(&t->counts.captured, 1);
		if (call->node)
			gw_kernel_in_graph(call->node);
	} else {
		gw_bump(graph ? &t->counts.graph_launches : &t->counts.launches, 1);
		if (call->how == GW_CALL_DROPPED)
			gw_bump(&t->counts.dropped, 1);
	}
}
