#include "preload/worker/drain.h"

#include "preload/launch/threads.h"
#include "preload/live/live.h"

enum { AHEAD = 4 }; /* events that are fetched while earlier ones are taken */

struct source {
	struct gw_thread *thread;
	uint32_t at, head;
};

static struct source sources[GW_THREADS_MAX];
static double fullest; /* share of a ring, since it was last asked for */

static uint32_t threads(void)
{
	uint32_t n = atomic_load(&gw_hot.shared->thread_count);

	return n < GW_THREADS_MAX ? n : GW_THREADS_MAX;
}

bool gw_drain_pending(void)
{
	for (uint32_t i = 0, n = threads(); i < n; i++) {
		struct gw_thread *t = atomic_load(&gw_hot.shared->threads[i]);

		/* Pairs with the release in gw_event_end() (launch/launch.h). */
		if (t && atomic_load_explicit(&t->head, memory_order_acquire) !=
				 atomic_load_explicit(&t->tail, memory_order_relaxed))
			return true;
	}
	return false;
}

static void free_again(struct gw_thread *t)
{
	/* What launches left that were lost. */
	atomic_store(&t->arguments_tail, t->arguments_head);
	gw_thread_rest(t);
	/* Pairs with the exchange in thread_reuse() (launch/threads.c). */
	atomic_store_explicit(&t->state, GW_SLOT_FREE, memory_order_release);
	atomic_fetch_add(&gw_hot.shared->threads_freed, 1);
}

double gw_drain_fullest(void)
{
	const double share = fullest;

	fullest = 0;
	return share;
}

static struct source source_of(struct gw_thread *t, uint32_t tail, uint32_t head)
{
	const double share = (head - tail) / (t->mask + 1.0);

	fullest = share > fullest ? share : fullest;
	return (struct source){t, tail, head};
}

/* The rings as they stand; a thread that has ended and whose ring is empty is free again. */
static uint32_t snapshot(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0, n = threads(); i < n; i++) {
		struct gw_thread *t = atomic_load(&gw_hot.shared->threads[i]);
		uint32_t state, head, tail;

		if (!t)
			continue;
		/* Pairs with the releases of `state` in launch/threads.c. Before `head`: a retired
		 * thread commits nothing more. */
		state = atomic_load_explicit(&t->state, memory_order_acquire);
		/* Pairs with the releases of `head` in launch/launch.h and ring.c: the events are
		 * there.
		 */
		head = atomic_load_explicit(&t->head, memory_order_acquire);
		tail = atomic_load_explicit(&t->tail, memory_order_relaxed);
		if (head != tail)
			sources[count++] = source_of(t, tail, head);
		else if (state == GW_SLOT_RETIRED)
			free_again(t);
	}
	return count;
}

/* No launch has a block of no threads: the slot was given back as the launch was written. */
static bool zeroed(const struct gw_event *e)
{
	return gw_event_kind(e) == GW_EVENT_KERNEL && !e->kernel && !e->block_x && !e->grid[0];
}

static const struct gw_event *front(const struct source *s)
{
	return &s->thread->ring[s->at & s->thread->mask];
}

/*
 * The event at the front, with the time of the call before it where its own was left open. The mark
 * of a launch within a launch goes: the next launch to have the slot finds none.
 */
static struct gw_event timed_front(const struct source *s)
{
	struct gw_event *from = &s->thread->ring[s->at & s->thread->mask], e;

	if (from->flags & GW_EVENT_DONE)
		from->flags &= (uint8_t)~GW_EVENT_DONE;
	e = *from;
	if (e.ticks) {
		s->thread->ticks = e.ticks;
	} else {
		e.ticks = s->thread->ticks;
		e.flags |= GW_EVENT_CALL_OPEN;
	}
	return e;
}

/* Of a heap, whose first source is the one called first, that at @p at goes behind earlier ones. */
static void sift(uint32_t at, uint32_t count)
{
	const struct source s = sources[at];
	const uint64_t ticks = front(&s)->ticks;
	uint32_t next;

	while ((next = 2 * at + 1) < count) {
		next += next + 1 < count &&
			front(&sources[next + 1])->ticks < front(&sources[next])->ticks;
		if (ticks <= front(&sources[next])->ticks)
			break;
		sources[at] = sources[next];
		at = next;
	}
	sources[at] = s;
}

uint32_t gw_drain(void (*take)(struct gw_thread *t, const struct gw_event *e))
{
	uint32_t count = snapshot(), total = 0;

	for (uint32_t i = count / 2; i-- > 0;)
		sift(i, count);
	while (count) {
		struct source *s = &sources[0];
		struct gw_event e = timed_front(s);
		uint64_t taken;

		/* The launching thread's core has it; one that is being written stays there. */
		if (s->head - s->at > AHEAD)
			__builtin_prefetch(&s->thread->ring[(s->at + AHEAD) & s->thread->mask]);
		if (zeroed(&e)) {
			gw_count(GW_COUNTER_ring_dropped, 1);
		} else {
			gw_live_taking(s->thread, s->at);
			take(s->thread, &e);
		}
		/* Pairs with the acquires of `tail` in launch/ring.c: the slot has been read. One
		 * store for both: whoever reads the live segment of a killed process counts by
		 * them. */
		taken = (s->thread->tail_taken >> 32) + gw_event_is_launch(&e);
		atomic_store_explicit(&s->thread->tail_taken, taken << 32 | ++s->at,
				      memory_order_release);
		total++;
		if (s->at == s->head)
			*s = sources[--count];
		if (count > 1)
			sift(0, count);
	}
	return total;
}
