/* Streams: a slot for each, numbered as in activity records, forgotten with the handle. */
#include "preload/cupti/activity.h"
#include "preload/runtime/bell.h"
#include "preload/launch/call.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/degrade.h"
#include "preload/launch/object_lifetime.h"
#include "preload/runtime/process.h"

#include <errno.h>

CUcontext gw_context_ask(struct gw_thread *t, uint32_t generation)
{
	static _Atomic int unseen;
	CUcontext context = gw_context_current();

	if (t->last.context && generation == t->last.context_generation &&
	    t->last.context != (uintptr_t)context && !atomic_exchange(&unseen, 1))
		gw_degrade_asked(GW_DEGRADED_OTHER,
				 "a thread's current context was changed by a call that is not "
				 "seen: up to %d launches into default streams count for the "
				 "context before",
				 GW_CONTEXT_CHECK);
	t->last.context =
		atomic_load_explicit(&unseen, memory_order_relaxed) || gw_injection_active()
			? 0
			: (uintptr_t)context;
	t->last.context_generation = generation;
	return context;
}

bool gw_context_enter(CUcontext context, bool *pushed)
{
	*pushed = false;
	if (gw_context_current() == context)
		return true;
	*pushed = gw_driver.cuCtxPushCurrent_v2 && gw_driver.cuCtxPopCurrent_v2 &&
		  gw_driver.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
	return *pushed;
}

void gw_context_leave(bool pushed)
{
	CUcontext context;

	if (pushed)
		gw_driver.cuCtxPopCurrent_v2(&context);
}

int gw_context_device(CUcontext context)
{
	CUdevice device = -1;
	bool pushed;

	if (!gw_driver.cuCtxGetDevice || !gw_context_enter(context, &pushed))
		return -1;
	if (gw_driver.cuCtxGetDevice(&device) != CUDA_SUCCESS)
		device = -1;
	gw_context_leave(pushed);
	return device;
}

/* What the driver and libcupti say of a stream that is seen for the first time. */
static void ask(struct gw_stream_slot *slot, CUstream stream, CUcontext context, uint32_t kind)
{
	unsigned long long id = 0;

	slot->kind = kind;
	slot->context = (uintptr_t)context;
	slot->device = gw_context_device(context);
	slot->generation++;
	slot->context_id = 0;
	slot->cupti_context = slot->cupti_stream = 0;
	/* Asked of a context that was destroyed, libcupti crashes. */
	if (gw_driver.cuCtxGetId && gw_driver.cuCtxGetId(context, &id) != CUDA_SUCCESS)
		return;
	slot->context_id = id;
	gw_activity_stream_ids(context, stream, kind == GW_STREAM_PER_THREAD, &slot->cupti_context,
			       &slot->cupti_stream);
}

/* A thread's own streams end with it. Of more contexts than there is room for, they end with these.
 */
static void keep_own(struct gw_thread *t, uintptr_t key)
{
	for (int i = 0; i < 4; i++) {
		if (!t->own_streams[i]) {
			t->own_streams[i] = key;
			break;
		}
	}
}

uint32_t gw_stream_resolve(struct gw_thread *t, CUstream stream, CUcontext context, uint32_t kind,
			   uintptr_t key)
{
	struct gw_shared *s = gw_hot.shared;
	uint64_t begin = gw_ticks();
	uint32_t at = gw_slot_take(&s->streams_free), first;
	int saved = errno;

	/* Before the driver is asked anything: while there is none, each launch comes here. */
	if (!at) {
		gw_degrade(GW_DEGRADED_TABLE_FULL,
			   "more than %d streams at a time: the others have no number",
			   GW_STREAMS_MAX - 1);
		errno = saved;
		return 0;
	}
	if (!context && gw_driver.cuStreamGetCtx && stream)
		gw_driver.cuStreamGetCtx(stream, &context);
	if (!context)
		context = gw_context_current();
	if (context)
		ask(&s->stream_slots[at], stream, context, kind);
	/* Without a context the driver is about to refuse the launch. */
	first = context ? gw_map_put(&s->streams, key, at, 0, (uintptr_t)context) : 0;
	if (first != at)
		gw_slot_free(&s->streams_free, at);
	else if (kind == GW_STREAM_PER_THREAD)
		keep_own(t, key);
	gw_overhead_since(begin);
	errno = saved;
	return first;
}

bool gw_stream_capturing(CUstream stream, uint32_t pt)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	__typeof__(gw_driver.cuStreamIsCapturing) is_capturing =
		pt ? gw_driver.cuStreamIsCapturing_ptsz : gw_driver.cuStreamIsCapturing;

	gw_bell_launched();
	if (gw_captures_of(atomic_load(&gw_hot.captures)) <= 0)
		return false;
	/* Unknown counts as captured: better to miss a launch than to claim one that did not run.
	 */
	return !is_capturing || is_capturing(stream, &status) != CUDA_SUCCESS ||
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Captures under way, by the streams that began them. */
enum { CAPTURES = 64, FREE = 0, BUSY = 1 };
static struct {
	_Atomic uintptr_t stream, context;
} captures[CAPTURES];

void gw_capture_of(CUstream stream)
{
	if ((uintptr_t)stream <= 2)
		return;
	for (int i = 0; i < CAPTURES; i++) {
		uintptr_t none = FREE;

		if (!atomic_compare_exchange_strong(&captures[i].stream, &none, BUSY))
			continue;
		atomic_store(&captures[i].context, (uintptr_t)gw_context_current());
		atomic_store(&captures[i].stream, (uintptr_t)stream);
		return;
	}
}

uint32_t gw_captures_take(CUstream stream, CUcontext context)
{
	uint32_t count = 0;

	for (int i = 0; i < CAPTURES; i++) {
		uintptr_t there = atomic_load(&captures[i].stream);

		if (there > BUSY &&
		    (there == (uintptr_t)stream ||
		     (context && atomic_load(&captures[i].context) == (uintptr_t)context)))
			count += atomic_compare_exchange_strong(&captures[i].stream, &there, FREE);
	}
	return count;
}

/* Never to below none: of a capture whose begin was not seen the end may be. */
void gw_captures_over(uint32_t count)
{
	for (; count; count--)
		if (gw_captures_of(atomic_fetch_sub_explicit(&gw_hot.captures, 1,
							     memory_order_relaxed)) <= 0)
			atomic_fetch_add_explicit(&gw_hot.captures, 1, memory_order_relaxed);
}

static void slot_retire(uint32_t at)
{
	gw_slot_retire(&gw_hot.shared->streams_free, at);
}

void gw_stream_made(CUstream stream)
{
	/* A handle that is still known belongs to a stream whose end we did not see. */
	if (gw_map_get(&gw_hot.shared->streams, (uintptr_t)stream))
		gw_stream_gone(stream);
}

/* That no thread uses what it remembers of the stream comes before its slot can be reused. */
void gw_stream_gone(CUstream stream)
{
	if ((uintptr_t)stream <= 2)
		return;
	gw_map_remove(&gw_hot.shared->streams, (uintptr_t)stream, slot_retire);
	atomic_fetch_add(&gw_hot.stream_generation, 1);
}

/* A later thread may get the same key: serials are cut to 16 bits in it. */
void gw_stream_thread_gone(struct gw_thread *t)
{
	for (int i = 0; gw_hot.shared && i < 4; i++) {
		if (t->own_streams[i])
			gw_map_remove(&gw_hot.shared->streams, t->own_streams[i], slot_retire);
		t->own_streams[i] = 0;
	}
}

/* Of contexts whose handles share a place one's end counts for all: their events are made anew. */
static _Atomic uint32_t *ends_of(CUcontext context)
{
	static _Atomic uint32_t ends[256];

	return &ends[gw_map_hash((uintptr_t)context) % 256];
}

uint32_t gw_context_ends(CUcontext context)
{
	return atomic_load(ends_of(context));
}

void gw_context_gone(CUcontext context)
{
	struct gw_shared *s = gw_hot.shared;

	gw_map_remove_all(&s->streams, 0, (uintptr_t)context, slot_retire);
	gw_map_remove_all(&s->functions, 0, (uintptr_t)context, NULL);
	gw_map_remove_all(&s->modules, 0, (uintptr_t)context, NULL);
	atomic_fetch_add(&gw_hot.stream_generation, 1);
	atomic_fetch_add(ends_of(context), 1);
	atomic_fetch_add(&gw_hot.function_generation, 1);
}
