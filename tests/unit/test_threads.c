/* Rings of threads: how many there is memory for, and what becomes of those not in use. */
#include "preload/launch/ranges.h"
#include "preload/launch/object_lifetime.h"
#include "preload/launch/threads.h"
#include "preload/maps/memory.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "preload/worker/drain.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLOTS = 16384, MANY = 400, LIMIT = 256 << 20, TABLES = 40 << 20 };

static uint64_t now_ns;

/* What the threads' file calls of others. */
void gw_stream_thread_gone(struct gw_thread *t)
{
	(void)t;
}

void gw_ranges_enter(struct gw_thread *t)
{
	(void)t;
}

void gw_ring_settle(struct gw_thread *t)
{
	(void)t;
}

static bool allowed(void)
{
	return true;
}

static int start(void **state)
{
	fixture_start();
	gw_degraded_reset();
	gw_memory_start();
	gw_options.memory_max = LIMIT;
	gw_options.ring = SLOTS;
	gw_options.segment = 0;
	gw_memory_take_anyway(GW_MEMORY_tables, TABLES);
	gw_threads_init(allowed);
	gw_threads_abandon();
	gw_self = NULL;
	return 0;
}

/* The records are kept until the process ends. */
static int stop(void **state)
{
	memset(gw_hot.shared->threads, 0, sizeof(gw_hot.shared->threads));
	gw_self = NULL;
	return 0;
}

static uint64_t taken_for_rings(void)
{
	uint64_t counters[GW_COUNTERS] = {0};

	gw_memory_counters(counters);
	return counters[GW_COUNTER_memory_rings];
}

static void seconds_pass(int n)
{
	while (n--) {
		now_ns += 1000000000;
		gw_threads_tend(now_ns);
	}
}

/* So many launches, all of which the worker has taken. */
static void launch(struct gw_thread *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		t->ring[t->next & t->mask] = (struct gw_event){.ticks = 1, .block_x = 32};
		t->next++;
	}
	atomic_store(&t->head, t->next);
	atomic_store(&t->tail, t->next);
}

static unsigned in_use(const struct gw_thread *t)
{
	unsigned n = 0;

	for (uint32_t i = 0; i <= t->mask; i++)
		n += t->ring[i].block_x != 0;
	return n;
}

TEST_WITH(the_ring_of_an_idle_thread_is_given_back, start, stop)
{
	static const uint32_t launches[] = {SLOTS, SLOTS + 5000, 2 * SLOTS - 500};

	for (unsigned i = 0; i < COUNT(launches); i++) {
		struct gw_thread *t;
		uint64_t whole;

		stop(NULL);
		start(NULL);
		t = gw_thread_register();
		assert_non_null(t);
		whole = taken_for_rings();
		launch(t, launches[i]);
		assert_int_equal(in_use(t), SLOTS);
		seconds_pass(5);
		assert_int_equal(in_use(t), SLOTS);
		assert_int_equal(taken_for_rings(), whole);
		seconds_pass(10);
		/* What is ahead of it stays, to a page. */
		assert_in_range(in_use(t), 1024, 1024 + 3 * 64);
		for (uint32_t k = 0; k < 1024; k++)
			assert_int_equal(t->ring[(t->next + k) & t->mask].block_x, 32);
		assert_true(taken_for_rings() < whole / 3);
		launch(t, 1);
		seconds_pass(1);
		assert_int_equal(taken_for_rings(), whole);
	}
}

TEST_WITH(the_ring_of_a_thread_that_launches_is_left_alone, start, stop)
{
	struct gw_thread *t = gw_thread_register();

	launch(t, SLOTS);
	for (int i = 0; i < 30; i++) {
		launch(t, 1);
		seconds_pass(1);
	}
	assert_int_equal(in_use(t), SLOTS);
	t->next++; /* in the driver for long */
	seconds_pass(30);
	assert_int_equal(in_use(t), SLOTS);
}

static void take(struct gw_thread *t, const struct gw_event *e)
{
	(void)t;
	(void)e;
}

/* The kernel says that a thread has ended before it forgets its number. */
static void join_unsaid(pthread_t thread, struct gw_thread *const *t)
{
	pthread_join(thread, NULL);
	while (!syscall(SYS_tgkill, getpid(), (*t)->tid, 0))
		sched_yield();
}

static void *end_unsaid(void *arg)
{
	struct gw_thread *t = gw_thread_register();

	if (t)
		launch(t, 5000);
	*(struct gw_thread **)arg = t;
	syscall(SYS_exit, 0);
	return NULL;
}

TEST_WITH(a_thread_that_ends_without_destructors_is_noticed, start, stop)
{
	struct gw_thread *t = NULL, *next = NULL;
	pthread_t thread;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* they wait for the end of such a thread themselves */
#endif
	assert_int_equal(pthread_create(&thread, NULL, end_unsaid, &t), 0);
	join_unsaid(thread, &t);
	assert_int_equal(atomic_load(&t->state), GW_SLOT_USED);
	seconds_pass(12);
	assert_int_equal(atomic_load(&t->state), GW_SLOT_RETIRED);
	gw_drain(take);
	assert_int_equal(atomic_load(&t->state), GW_SLOT_FREE);
	assert_int_equal(in_use(t), 0); /* its pages have gone, too */
	assert_true(taken_for_rings() < 32 << 10);
	assert_int_equal(pthread_create(&thread, NULL, end_unsaid, &next), 0);
	join_unsaid(thread, &next);
	assert_ptr_equal(next, t);
}

TEST_WITH(one_that_lives_is_not_taken_for_ended, start, stop)
{
	struct gw_thread *t = gw_thread_register();

	seconds_pass(60);
	assert_int_equal(atomic_load(&t->state), GW_SLOT_USED);
}

static pthread_barrier_t all_there;
static _Atomic unsigned with_ring, smallest;

static void *hold(void *arg)
{
	struct gw_thread *t = gw_thread_register();

	(void)arg;
	if (t) {
		atomic_fetch_add(&with_ring, 1);
		if (t->mask + 1 < atomic_load(&smallest))
			atomic_store(&smallest, t->mask + 1);
	}
	pthread_barrier_wait(&all_there);
	return NULL;
}

TEST_WITH(hundreds_of_threads_have_a_ring_at_a_time, start, stop)
{
	static pthread_t thread[MANY];
	struct gw_thread *first = gw_thread_register();

	assert_int_equal(first->mask + 1, SLOTS);
	atomic_store(&with_ring, 0);
	atomic_store(&smallest, SLOTS);
	pthread_barrier_init(&all_there, NULL, MANY + 1);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, hold, NULL), 0);
	pthread_barrier_wait(&all_there);
	assert_true(gw_memory_now() <= LIMIT);
	for (int i = 0; i < MANY; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&all_there);
	assert_int_equal(with_ring, MANY);
	assert_true(smallest >= 256 && smallest < SLOTS);
	assert_int_equal(gw_counters[GW_COUNTER_memory_refused], 0);
}

TEST_WITH(a_thread_that_finds_no_memory_uses_up_no_place, start, stop)
{
	gw_options.memory_max = 1 << 20;
	for (int i = 0; i < 2 * GW_THREADS_MAX; i++)
		assert_null(gw_thread_register());
	gw_options.memory_max = LIMIT;
	assert_non_null(gw_thread_register());
}

TESTS_MAIN()
