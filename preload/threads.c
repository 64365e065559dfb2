/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that launch: each has a ring of its own, handed back when the thread ends. */
#include "preload/call.h"
#include "preload/lifecycle.h"
#include "preload/options.h"
#include "preload/threads.h"
#include "preload/watch.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local struct gw_thread *gw_self __attribute__((tls_model("initial-exec")));

static pthread_key_t end_key;
static _Atomic int end_key_made;

/* Runs as the thread ends; a launch from a later destructor registers the thread anew. */
static void thread_ended(void *arg)
{
	struct gw_thread *t = arg;

	gw_self = NULL;
	gw_stream_thread_gone(t);
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

static struct gw_thread *thread_map(uint32_t slots, int populate)
{
	size_t header = (sizeof(struct gw_thread) + 4095) & ~(size_t)4095;
	size_t ring = slots * sizeof(struct gw_event);
	size_t arguments = GW_ARGUMENTS_RING * sizeof(struct gw_arguments);
	char *at = mmap(NULL, header + ring + arguments, PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS | populate, -1, 0);
	struct gw_thread *t;

	if (at == MAP_FAILED)
		return NULL;
	t = (struct gw_thread *)at;
	t->ring = (struct gw_event *)(at + header);
	t->arguments = (struct gw_arguments *)(at + header + ring);
	t->mask = slots - 1;
	return t;
}

void gw_threads_spare(void)
{
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
	uint32_t count = atomic_load(&s->thread_count);

	for (uint32_t i = 0; i < count && i < GW_THREADS_MAX; i++) {
		struct gw_thread *t = atomic_load(&s->threads[i]);
		uint32_t expected = GW_SLOT_FREE;

		if (t && atomic_compare_exchange_strong(&t->state, &expected, GW_SLOT_BUSY))
			return t;
	}
	return NULL;
}

static struct gw_thread *thread_new(struct gw_shared *s)
{
	uint32_t at = atomic_fetch_add(&s->thread_count, 1);
	struct gw_thread *t;

	if (at >= GW_THREADS_MAX) {
		atomic_store(&s->thread_count, GW_THREADS_MAX);
		return NULL;
	}
	t = atomic_exchange(&spare, NULL);
	if (!t)
		t = thread_map(gw_options.ring, MAP_NORESERVE);
	if (t) {
		atomic_store(&t->state, GW_SLOT_BUSY);
		atomic_store(&s->threads[at], t);
	}
	return t;
}

struct gw_thread *gw_thread_register(void)
{
	static _Atomic uint32_t serials;
	struct gw_shared *s;
	struct gw_thread *t;
	int saved = errno;

	if (!gw_launch_allowed())
		return NULL;
	s = gw_hot.shared;
	t = thread_reuse(s);
	if (!t)
		t = thread_new(s);
	if (t) {
		uint32_t serial = atomic_fetch_add(&serials, 1) + 1;

		t->serial = serial;
		t->tid = (pid_t)syscall(SYS_gettid);
		t->stream_key = 0;
		t->context = 0;
		t->round = atomic_load(&gw_hot.round) - 1; /* its first call is timed */
		t->function = 0;
		t->tail_seen = atomic_load(&t->tail);
		gw_self = t;
		atomic_store_explicit(&t->state, GW_SLOT_USED, memory_order_release);
		if (atomic_load(&end_key_made))
			pthread_setspecific(end_key, t);
	}
	errno = saved;
	return t;
}
