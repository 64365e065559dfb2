/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that launch: each has a ring of its own, handed back when the thread ends. */
#include "preload/hook/call.h"
#include "preload/lifecycle.h"
#include "preload/live/live.h"
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"
#include "preload/hook/threads.h"
#include "preload/hook/object_lifetime.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local struct gw_thread *gw_self __attribute__((tls_model("initial-exec")));

static pthread_key_t end_key;
static _Atomic int end_key_made;

/* What a thread's record, ring and arguments take, once all of them has been used. */
static size_t ring_bytes(void)
{
	return gw_options.ring * sizeof(struct gw_event) + GW_ARGUMENTS_RING +
	       sizeof(struct gw_thread);
}

/* The same of what has been used yet; heads go on where the thread before ended. */
static size_t used_bytes(const struct gw_thread *t)
{
	const size_t page = 4096;
	size_t events = atomic_load(&t->head), arguments = t->arguments_head;

	events = events <= t->mask ? events + 1 : t->mask + 1;
	arguments = arguments < GW_ARGUMENTS_RING ? arguments + page : GW_ARGUMENTS_RING;
	events = events * sizeof(struct gw_event) + page;
	return events + arguments + sizeof(*t) < ring_bytes() ? events + arguments + sizeof(*t)
	                                                      : ring_bytes();
}

/* A thread that lives may use all of its ring; of one that ended, what it used is left. */
static bool charge(struct gw_thread *t)
{
	if (t->charged < ring_bytes() &&
	    !gw_memory_take(GW_MEMORY_rings, ring_bytes() - t->charged))
		return false;
	t->charged = ring_bytes();
	return true;
}

static void discharge(struct gw_thread *t)
{
	size_t used = used_bytes(t);

	gw_memory_give(GW_MEMORY_rings, t->charged - used);
	t->charged = used;
}

/* Runs as the thread ends; a launch from a later destructor registers the thread anew. */
static void thread_ended(void *arg)
{
	struct gw_thread *t = arg;

	gw_self = NULL;
	gw_ring_settle(t);
	gw_stream_thread_gone(t);
	discharge(t);
	atomic_store_explicit(&t->state, GW_SLOT_RETIRED, memory_order_release);
}

void gw_threads_init(void)
{
	if (!atomic_exchange(&end_key_made, 1) && pthread_key_create(&end_key, thread_ended))
		atomic_store(&end_key_made, 0);
}

bool gw_threads_others(void)
{
	uint32_t count = atomic_load(&gw_hot.shared->thread_count);
	pid_t self = (pid_t)syscall(SYS_gettid);

	for (uint32_t i = 0; i < count && i < GW_THREADS_MAX; i++) {
		const struct gw_thread *t = atomic_load(&gw_hot.shared->threads[i]);

		if (t && atomic_load(&t->state) == GW_SLOT_USED && t->tid != self)
			return true;
	}
	return false;
}

static struct gw_thread *_Atomic spare; /* made by the worker, its pages touched */

static char *map(size_t size, int populate)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | populate,
	                -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Record and ring lie in the live segment, where there is room. */
static struct gw_thread *thread_map(uint32_t slots, int populate)
{
	size_t header = (sizeof(struct gw_thread) + 4095) & ~(size_t)4095;
	size_t ring = slots * sizeof(struct gw_event);
	char *shared, *at;
	struct gw_thread *t;

	gw_live_start();
	shared = gw_live_room(header + ring);
	at = shared ? shared : map(header + ring, populate);
	if (!at)
		return NULL;
	t = (struct gw_thread *)at;
	t->ring = (struct gw_event *)(at + header);
	t->arguments = (unsigned char *)map(GW_ARGUMENTS_RING, populate);
	t->mask = slots - 1;
	if (shared)
		gw_live_ring(t);
	return t;
}

void gw_threads_spare(void)
{
	/* Before the first launch there is no segment: most processes never launch anything. */
	if (gw_options.segment && !atomic_load(&gw_hot.shared->thread_count))
		return;
	if (!atomic_load_explicit(&spare, memory_order_relaxed))
		atomic_store(&spare, thread_map(gw_options.ring, MAP_POPULATE));
}

void gw_threads_abandon(void)
{
	atomic_store(&spare, NULL);
}

/* A record whose thread has ended and whose ring the worker has emptied. */
static struct gw_thread *thread_reuse(struct gw_shared *s)
{
	static _Atomic uint32_t looked; /* one more than had been freed when none was found */
	uint32_t count = atomic_load(&s->thread_count);
	uint32_t freed = atomic_load(&s->threads_freed);

	/* A thread for which there is no ring comes here with each launch. */
	if (atomic_load(&looked) == freed + 1)
		return NULL;
	for (uint32_t i = 0; i < count && i < GW_THREADS_MAX; i++) {
		struct gw_thread *t = atomic_load(&s->threads[i]);
		uint32_t expected = GW_SLOT_FREE;

		if (t && atomic_compare_exchange_strong(&t->state, &expected, GW_SLOT_BUSY))
			return t;
	}
	atomic_store(&looked, freed + 1);
	return NULL;
}

static struct gw_thread *thread_new(struct gw_shared *s)
{
	struct gw_thread *t;
	uint32_t at;

	if (atomic_load(&s->thread_count) >= GW_THREADS_MAX)
		return NULL;
	t = atomic_exchange(&spare, NULL);
	if (!t)
		t = thread_map(gw_options.ring, MAP_NORESERVE);
	if (!t)
		return NULL;
	atomic_store(&t->state, GW_SLOT_BUSY);
	at = atomic_fetch_add(&s->thread_count, 1);
	if (at < GW_THREADS_MAX) {
		atomic_store(&s->threads[at], t);
		return t;
	}
	atomic_store(&s->thread_count, GW_THREADS_MAX);
	atomic_store(&spare, t); /* others came first */
	return NULL;
}

static struct gw_thread *enrol(void)
{
	static _Atomic uint32_t serials;
	struct gw_shared *s = gw_hot.shared;
	struct gw_thread *t;

	t = thread_reuse(s);
	if (t && !charge(t)) {
		atomic_store_explicit(&t->state, GW_SLOT_FREE, memory_order_release);
		t = NULL;
	} else if (!t && gw_memory_take(GW_MEMORY_rings, ring_bytes())) {
		t = thread_new(s);
		if (t)
			t->charged = ring_bytes();
		else
			gw_memory_give(GW_MEMORY_rings, ring_bytes());
	}
	if (t) {
		uint32_t serial = atomic_fetch_add(&serials, 1) + 1;

		t->serial = serial;
		t->tid = (pid_t)syscall(SYS_gettid);
		t->last.stream_key = 0;
		t->last.context = 0;
		t->last.round = atomic_load(&gw_hot.round) - 1; /* its first call is timed */
		t->last.function = 0;
		t->tail_seen = atomic_load(&t->tail);
		t->outer = NULL;
		gw_self = t;
		atomic_store_explicit(&t->state, GW_SLOT_USED, memory_order_release);
		if (atomic_load(&end_key_made))
			pthread_setspecific(end_key, t);
	}
	return t;
}

/* Files are opened here, which a launch without us does not do: no thread is cancelled there. */
struct gw_thread *gw_thread_register(void)
{
	struct gw_thread *t;
	int saved = errno, cancel;

	if (!gw_launch_allowed())
		return NULL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	t = enrol();
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return t;
}
