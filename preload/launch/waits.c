#include "preload/launch/waits.h"

#include "preload/launch/launch.h"
#include "preload/runtime/options.h"

enum { LOOK_NS = 100000000, AT_WORK = 4 /* GB/s */ };

static _Atomic uint64_t moved;              /* bytes between host and GPU, ever */
static _Atomic uint64_t least = UINT64_MAX; /* ticks of GW_WAIT_LEAST */

void gw_waits_clock(uint32_t khz)
{
	atomic_store_explicit(&least, khz ? (uint64_t)khz * GW_WAIT_LEAST / 1000 : UINT64_MAX,
			      memory_order_relaxed);
}

void gw_wait_begin(struct gw_call *call)
{
	call->since = gw_options.mode == GW_MODE_AUDIT ? gw_ticks() : 0;
}

void gw_host_copy_begin(struct gw_call *call, size_t bytes)
{
	if (bytes > GW_COPY_LITTLE)
		atomic_fetch_add_explicit(&moved, bytes, memory_order_relaxed);
	gw_wait_begin(call);
}

static bool at_work;

bool gw_copies_go_on(void)
{
	return at_work;
}

void gw_copies_look(uint64_t now)
{
	static uint64_t looked, before;
	const uint64_t all = atomic_load(&moved);

	if (now - looked >= LOOK_NS) {
		at_work = all - before >= AT_WORK * (now - looked);
		looked = now;
		before = all;
	}
}

void gw_copy_begin(struct gw_call *call, CUstream stream, size_t bytes, bool waits)
{
	const bool large = bytes > GW_COPY_LITTLE && atomic_load(&gw_hot.exact);

	call->stream = stream;
	call->since = large || (waits && gw_options.mode == GW_MODE_AUDIT) ? gw_ticks() : 0;
}

/* Launches first: waits take no slot that these might need. */
static bool room(const struct gw_thread *t, uint32_t head)
{
	/* Pairs with the release of `tail` (worker/drain.c): the slot has been read. */
	return head - atomic_load_explicit(&t->tail, memory_order_acquire) <= t->mask / 2;
}

void gw_wait_end(struct gw_call *call, enum gw_wait_call which)
{
	const uint64_t now = gw_ticks();
	const bool audit = gw_options.mode == GW_MODE_AUDIT;
	struct gw_thread *t = gw_self;
	struct gw_event *e;
	uint32_t head;

	if (!call->since || !t ||
	    (audit && now - call->since < atomic_load_explicit(&least, memory_order_relaxed)))
		return;
	head = atomic_load_explicit(&t->head, memory_order_relaxed);
	/* Within a launch, or before any succeeded: without launches there is no log. */
	if (t->next != head || !head)
		return;
	if (!room(t, head)) {
		gw_count(GW_COUNTER_waits_dropped, 1);
		return;
	}
	call->thread = t;
	e = gw_ring_slot(call);
	if (!e)
		return;
	e->ticks = call->since;
	e->flags = call->how == GW_CALL_OUTER ? 0 : GW_EVENT_DONE;
	gw_event_wait(e, which, now - call->since);
	e->stream = !audit && gw_events_beside(call->stream);
	if (call->how == GW_CALL_OUTER)
		gw_event_end(call, call->at);
}
