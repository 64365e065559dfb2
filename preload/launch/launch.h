/*
 * The launch path: what runs on the application's thread for every launch. No lock, no
 * allocation, no system call; the slow functions it calls run on first use only.
 */
#ifndef GW_LAUNCH_H
#define GW_LAUNCH_H

#include "preload/launch/call.h"

#include <string.h>

#define GW_LIKELY(x)   __builtin_expect(!!(x), 1)
#define GW_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* A launch has eleven arguments: each call inside the hook would push them once more. */
#define GW_INLINE static inline __attribute__((always_inline))

/*
 * What a launch needs of its kernel, in one cache line: what the program and the driver do between
 * two launches throws our tables out of the near caches, and here each line is waited for.
 */
static inline const struct gw_known_kernel *gw_kernel_known(struct gw_call *call, CUfunction f)
{
	/* Pairs with the increments in modules.c, streams.c and analysis/digests.c. */
	uint32_t generation =
		atomic_load_explicit(&gw_hot.function_generation, memory_order_acquire);
	struct gw_thread_known *known = call->thread->known;

	if (GW_LIKELY(known)) {
		const struct gw_known_kernel *k = gw_known_line(known, (uintptr_t)f);

		if (GW_UNLIKELY(k->function != (uintptr_t)f))
			k++;
		if (GW_LIKELY(k->function == (uintptr_t)f && k->generation == generation))
			return k;
	}
	return gw_kernel_look_up(call, f, generation);
}

/*
 * A created stream's handle names it alone; a default stream is one per context, a
 * per-thread default stream one per context and thread. Handles are 8-aligned user
 * addresses, so the low bits and the upper 16 are free to distinguish these.
 */
static inline uintptr_t gw_stream_key(const struct gw_thread *t, CUcontext context, uint32_t kind)
{
	if (kind == GW_STREAM_LEGACY)
		return (uintptr_t)context + 1;
	return ((uintptr_t)context + 2) ^ ((uintptr_t)t->serial << 48);
}

/*
 * To ask the driver for it costs more than all else that a launch into a default stream has us do.
 * Our hooks see it change, but for ways that nobody is known to use: each 64th launch asks.
 */
static inline CUcontext gw_context_of(struct gw_thread *t, uint32_t generation)
{
	/* Looked at once: a launch in a signal handler may find that it has changed. */
	uintptr_t context = *(volatile uintptr_t *)&t->last.context;

	if (GW_LIKELY(context && generation == t->last.context_generation &&
		      t->next % GW_CONTEXT_CHECK))
		return (CUcontext)context;
	return gw_context_ask(t, generation);
}

GW_INLINE uint32_t gw_stream_slot_of(struct gw_shared *s, struct gw_thread *t, CUstream stream,
				     uint32_t pt)
{
	uint32_t kind = GW_STREAM_CREATED, slot;
	/* Pairs with the increments in streams.c. */
	uint32_t generation = atomic_load_explicit(&gw_hot.stream_generation, memory_order_acquire);
	uintptr_t key = (uintptr_t)stream;
	CUcontext context = NULL;

	if (key <= 2) {
		kind = (key ? key == 2 : pt) ? GW_STREAM_PER_THREAD : GW_STREAM_LEGACY;
		context = gw_context_of(t, generation);
		key = gw_stream_key(t, context, kind);
	}
	if (GW_LIKELY(key == t->last.stream_key && generation == t->last.stream_generation))
		return t->last.stream_slot;
	slot = gw_map_get(&s->streams, key);
	if (GW_UNLIKELY(!slot))
		slot = gw_stream_resolve(t, stream, context, kind, key);
	t->last.stream_key = slot ? key : 0;
	t->last.stream_slot = slot;
	t->last.stream_device = gw_slot_device(s, slot);
	t->last.stream_generation = generation;
	return slot;
}

/*
 * Read the published prediction of a launch on @p device; a cell that is being written counts as
 * absent, and so does one that was written since the call, by what e->known says. Returns where it
 * was found, plus one; 0: nowhere. Not inlined: in count mode it is never called.
 */
static __attribute__((noinline)) uint32_t gw_cell_read(struct gw_shared *s, uint32_t device,
						       struct gw_event *e)
{
	uint64_t key = gw_cell_key(gw_cell_kernel(e->kernel, device), e->grid, e->block_x,
				   e->block_y, e->block_z, e->cluster, e->shared, e->digest);
	uint32_t at = (uint32_t)(key >> (64 - GW_CELLS_BITS));

	for (unsigned i = 0; i < GW_CELL_PROBE; i++, at = (at + 1) & (GW_CELLS_MAX - 1)) {
		struct gw_cell *c = &s->cells[at];
		/* Pairs with the release of `key` in changed() (worker/publish.c). */
		uint64_t k = atomic_load_explicit(&c->key, memory_order_acquire);
		uint32_t sequence, config, high, known, flags;
		uint64_t predicted_low;

		if (!k)
			return 0;
		if (k != key)
			continue;
		/* Pairs with the last store of `sequence` in changed() (worker/publish.c). */
		sequence = atomic_load_explicit(&c->sequence, memory_order_acquire);
		predicted_low = atomic_load_explicit(&c->predicted_low, memory_order_relaxed);
		high = atomic_load_explicit(&c->high, memory_order_relaxed);
		known = atomic_load_explicit(&c->known, memory_order_relaxed);
		flags = atomic_load_explicit(&c->flags, memory_order_relaxed);
		config = atomic_load_explicit(&c->config, memory_order_relaxed);
		/* Pairs with the release fence in changed(): a word of a later write shows its odd
		 * sequence below. */
		atomic_thread_fence(memory_order_acquire);
		if ((sequence & 1) ||
		    sequence != atomic_load_explicit(&c->sequence, memory_order_relaxed))
			return 0;
		if ((int32_t)(known - e->known) > 0)
			return 0;
		memcpy((char *)e + offsetof(struct gw_event, predicted), &predicted_low,
		       sizeof(predicted_low));
		memcpy(&e->high, &high, sizeof(high));
		e->known = known;
		e->flags = (uint8_t)((e->flags & ~(unsigned)(GW_EVENT_ARGUMENTS | GW_EVENT_STACK)) |
				     flags);
		e->config = config;
		return at + 1;
	}
	return 0;
}

/*
 * The next free ring slot, NULL when the ring is full. Where no other launch of the thread is in
 * flight, `next` is where the head is.
 */
GW_INLINE struct gw_event *gw_ring_slot(struct gw_call *call)
{
	struct gw_thread *t = call->thread;
	uint32_t head = atomic_load_explicit(&t->head, memory_order_relaxed);

	if (GW_UNLIKELY(head - t->tail_seen > t->mask) ||
	    GW_UNLIKELY(!gw_own_exchange(&t->next, head, head + 1)))
		return gw_ring_reserve(call);
	t->outer = call;
	call->how = GW_CALL_OUTER;
	call->at = head;
	return &t->ring[head & t->mask];
}

/*
 * When the call was made, 0 where that is left open. Reading the counter is the most expensive
 * thing in here (30 ns in a virtual machine), so where it only dates the launch, mode count reads
 * it for each eighth launch of a thread, and always after a pause, which shows by the worker's
 * round.
 */
static inline uint64_t gw_call_ticks(struct gw_thread *t, uint32_t head)
{
	uint32_t round = atomic_load_explicit(&gw_hot.round, memory_order_relaxed);

	if ((head & atomic_load_explicit(&gw_hot.untimed, memory_order_relaxed)) &&
	    round == t->last.round)
		return 0;
	t->last.round = round;
	return gw_ticks();
}

/* Everything a launch needs before it is known what is launched. */
GW_INLINE struct gw_event *gw_event_begin(struct gw_call *call, CUstream stream)
{
	struct gw_thread *t = gw_self;
	struct gw_event *e;

	if (GW_UNLIKELY(!t))
		t = gw_thread_register();
	call->thread = t;
	call->event = NULL;
	if (GW_UNLIKELY(!t)) {
		call->how = GW_CALL_DROPPED;
		return NULL;
	}
	if (GW_UNLIKELY(atomic_load_explicit(&gw_hot.captures, memory_order_relaxed)) &&
	    gw_stream_capturing(stream, call->pt)) {
		call->how = GW_CALL_CAPTURED;
		call->node = NULL;
		return NULL;
	}
	e = gw_ring_slot(call);
	if (GW_UNLIKELY(!e))
		return NULL;
	/* Before the time of the call: the thread may be kept from running at any point. Pairs with
	 * the release in gw_publish_predictions() (worker/publish.c). */
	e->known = atomic_load_explicit(&gw_hot.known, memory_order_acquire);
	e->ticks = gw_call_ticks(t, call->at);
	e->flags = 0;
	e->config = 0;
	e->stream = (uint16_t)gw_stream_slot_of(gw_hot.shared, t, stream, call->pt);
	call->event = e;
	return e;
}

GW_INLINE void gw_kernel_event(struct gw_call *call, CUfunction f, uint32_t gx, uint32_t gy,
			       uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared,
			       CUstream stream, void **params, void **extra, uint32_t cluster,
			       uint8_t flags, enum gw_event_kind kind)
{
	struct gw_event *e = gw_event_begin(call, stream);
	const struct gw_known_kernel *k;
	const uint32_t reads = atomic_load_explicit(&gw_hot.reads, memory_order_relaxed);
	const uint32_t none = 0x7fc00000; /* NaN */

	if (!e) {
		call->node = f;
		if (call->how == GW_CALL_CAPTURED &&
		    atomic_load_explicit(&gw_hot.arguments, memory_order_relaxed) & GW_EVENT_STACK)
			gw_stack_captured(call, f,
					  &(const struct gw_event){.grid = {gx, gy, gz},
								   .block_x = (uint16_t)bx,
								   .block_y = (uint16_t)by,
								   .block_z = (uint16_t)bz,
								   .shared = shared,
								   .cluster = cluster},
					  params, extra);
		return;
	}
	e->kind = (uint8_t)kind;
	e->flags = (uint8_t)(flags | (reads & ~(uint32_t)GW_HOT_READS));
	k = gw_kernel_known(call, f);
	call->function = f;
	e->kernel = (uint16_t)k->slot;
	e->grid[0] = gx;
	e->grid[1] = gy;
	e->grid[2] = gz;
	e->block_x = (uint16_t)bx;
	e->block_y = (uint16_t)by;
	e->block_z = (uint16_t)bz;
	e->shared = shared;
	e->cluster = cluster ? cluster : k->cluster;
	e->digest = k->plan ? gw_digest_read(k->plan, params, extra) : 0;
	memcpy(&e->predicted, &none, 4);
	/* Where nothing has been learnt, nothing is published. */
	if (e->known && reads)
		call->thread->last.cell =
			gw_cell_read(gw_hot.shared, call->thread->last.stream_device, e);
	if (GW_UNLIKELY(atomic_load_explicit(&gw_hot.events, memory_order_relaxed)) &&
	    kind == GW_EVENT_KERNEL)
		gw_events_begin(call, stream, 1);
}

GW_INLINE void launch_begin(struct gw_call *call, CUfunction f, unsigned gx, unsigned gy,
			    unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
			    CUstream stream, void **params, void **extra)
{
	gw_kernel_event(call, f, gx, gy, gz, bx, by, bz, shared, stream, params, extra, 0, 0,
			GW_EVENT_KERNEL);
}

/** gw_kernel_event() for launches that few programs make, without a cluster: not inlined. */
void gw_kernel_event_rare(struct gw_call *call, CUfunction f, uint32_t gx, uint32_t gy, uint32_t gz,
			  uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared, CUstream stream,
			  void **params, void **extra, uint8_t flags, enum gw_event_kind kind);

#define cooperative_begin(...) \
	gw_kernel_event_rare(__VA_ARGS__, NULL, GW_EVENT_COOPERATIVE, GW_EVENT_KERNEL)

GW_HOT void launch_ex_begin(struct gw_call *call, const CUlaunchConfig *config, CUfunction f,
			    void **params, void **extra);
void graph_launch_begin(struct gw_call *call, CUgraphExec exec, CUstream stream);

/*
 * The worker's core has read the next slot since it was last written, so the line must be
 * fetched back; begun now, that is done before the next launch rings the driver's doorbell,
 * which waits for all stores before it. A launch is most often like the one before it, and what the
 * driver does in each throws the prediction out of the near caches: it is fetched meanwhile, too.
 */
static inline void gw_prepare(const struct gw_thread *t, const struct gw_event *next)
{
	gw_prefetch_to_write(next);
	if (t->last.cell)
		__builtin_prefetch(&gw_hot.shared->cells[t->last.cell - 1]);
}

/* Commit the event once the driver has taken the launch; counts it either way. */
static inline void gw_event_end(struct gw_call *call, uint32_t head)
{
	struct gw_thread *t = call->thread;

	head++;
	t->outer = NULL;
	/* Pairs with the acquires in snapshot() and gw_drain_pending() (worker/drain.c). */
	atomic_store_explicit(&t->head, head, memory_order_release);
	/* Launches within this one, a signal handler's just now included. */
	atomic_signal_fence(memory_order_seq_cst);
	if (GW_UNLIKELY(t->next != head))
		gw_ring_settle(t);
	gw_prepare(t, &t->ring[head & t->mask]);
}

/*
 * The plain case: no other launch was in flight when this one began, and it succeeded. @p head is
 * where its slot is, unless that was taken away: the program had been thought to have left by a
 * jump.
 */
GW_INLINE bool gw_call_plain(const struct gw_call *call, CUresult result, uint32_t *head)
{
	if (GW_UNLIKELY(call->how != GW_CALL_OUTER || result != CUDA_SUCCESS))
		return false;
	*head = atomic_load_explicit(&call->thread->head, memory_order_relaxed);
	return GW_LIKELY(*head == call->at);
}

static inline void gw_launch_end(struct gw_call *call, CUresult result, void **params, void **extra)
{
	uint32_t head;
	unsigned flags;

	if (GW_UNLIKELY(!gw_call_plain(call, result, &head))) {
		gw_call_odd_end(call, result, false);
		return;
	}
	gw_bump(&call->thread->counts.launches, 1);
	flags = call->event->flags;
	if (GW_UNLIKELY(flags & (GW_EVENT_ARGUMENTS | GW_EVENT_STACK | GW_EVENT_TIMED)))
		gw_call_more(call, params, extra);
	gw_event_end(call, head);
}
/** The same, not inlined. */
void gw_launch_end_rare(struct gw_call *call, CUresult result, void **params, void **extra);
#define launch_end(call, result, f, gx, gy, gz, bx, by, bz, shared, stream, params, extra) \
	gw_launch_end(call, result, params, extra)
#define launch_ex_end(call, result, config, f, params, extra) \
	gw_launch_end(call, result, params, extra)
#define cooperative_end(call, result, f, gx, gy, gz, bx, by, bz, shared, stream, params) \
	gw_launch_end(call, result, params, NULL)
/* The arguments of CUDA 1 were set beforehand, one by one. */
#define launch_old_end(call, result, ...) gw_launch_end(call, result, NULL, NULL)

static inline void graph_launch_end(struct gw_call *call, CUresult result, CUgraphExec exec,
				    CUstream stream)
{
	uint32_t head;

	(void)exec;
	(void)stream;
	if (GW_UNLIKELY(!gw_call_plain(call, result, &head))) {
		gw_call_odd_end(call, result, true);
		return;
	}
	gw_bump(&call->thread->counts.graph_launches, 1);
	if (GW_UNLIKELY(call->event->flags & GW_EVENT_TIMED))
		gw_events_end(call);
	gw_event_end(call, head);
}

/* The launches of CUDA 1, rare and therefore not inlined: the block's shape is a property of the
 * function. */
void gw_launch_grid(struct gw_call *call, CUfunction f, int width, int height, CUstream stream);
#define launch_grid_async_begin(call, f, width, height, stream) \
	gw_launch_grid(call, f, width, height, stream)
#define launch_grid_begin(call, f, width, height) gw_launch_grid(call, f, width, height, NULL)
#define launch_old_begin(call, f)                 gw_launch_grid(call, f, 1, 1, NULL)

/*
 * One call, several launches: each gets its event once the driver has taken them all, so
 * their time of call is that of the return, and no pair of events times them. The call is
 * deprecated and needs several GPUs.
 */
static inline void multi_device_begin(struct gw_call *call, CUDA_LAUNCH_PARAMS *list,
				      unsigned count, unsigned flags)
{
	(void)list;
	(void)count;
	(void)flags;
	*call = (struct gw_call){.pt = call->pt};
}

void gw_launched_multi(struct gw_call *call, CUresult result, CUDA_LAUNCH_PARAMS *list,
		       unsigned count);
#define multi_device_end(call, result, list, count, flags) \
	gw_launched_multi(call, result, list, count)

#endif
