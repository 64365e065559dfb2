/* From the rings to one row: pushed by the launch path's own functions, drained by the worker's. */
#include "preload/worker/drain.h"
#include "preload/launch/launch.h"
#include "preload/launch/stacks.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

enum { PUSHERS = 3, EACH = 30000 };

static uint64_t last_ticks;
static uint32_t taken, seen[PUSHERS + 1], out_of_order, open_calls;
static uint32_t order[64];
static struct gw_thread *pushers[PUSHERS];

/* What the end of some launches calls; of none here. */
void gw_stack_take(struct gw_call *call)
{
	(void)call;
}

void gw_arguments_take(struct gw_call *call, void **params, void **extra)
{
	fail_msg("%p %p %p", (void *)call, (void *)params, (void *)extra);
}

void gw_events_end(struct gw_call *call)
{
	fail_msg("%p", (void *)call);
}

void gw_kernel_in_graph(CUfunction function)
{
	fail_msg("%p", (void *)function);
}

static int start(void **state)
{
	fixture_start();
	last_ticks = 0;
	taken = out_of_order = open_calls = 0;
	memset(seen, 0, sizeof(seen));
	return 0;
}

static bool push(struct gw_thread *t, uint64_t ticks, uint32_t number)
{
	struct gw_call call = {.thread = t};

	call.event = gw_ring_slot(&call);
	if (call.event) {
		call.event->ticks = ticks;
		call.event->flags = 0;
		call.event->kernel = (uint16_t)number;
	}
	gw_launch_end(&call, CUDA_SUCCESS, NULL, NULL);
	return call.event != NULL;
}

static void take(struct gw_thread *t, const struct gw_event *e)
{
	order[taken++ % COUNT(order)] = e->kernel;
	out_of_order += e->ticks < last_ticks;
	seen[t->id % COUNT(seen)] += e->kernel == seen[t->id % COUNT(seen)] + 1;
	last_ticks = e->ticks;
	open_calls += (e->flags & GW_EVENT_CALL_OPEN) != 0;
}

TEST_WITH(events_of_all_threads_come_in_order_of_call, start, NULL)
{
	struct gw_thread *a = fixture_thread(8), *b = fixture_thread(8), *c = fixture_thread(8);

	push(a, 10, 1);
	push(a, 40, 4);
	push(b, 20, 2);
	push(b, 50, 5);
	push(c, 30, 3);
	assert_true(gw_drain_pending());
	assert_int_equal(gw_drain(take), 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(order[i], i + 1);
	assert_false(gw_drain_pending());
	assert_int_equal(gw_drain(take), 0);
}

TEST_WITH(those_of_many_threads_do_too, start, NULL)
{
	enum { THREADS = 100 };
	struct gw_thread *t[THREADS];
	uint32_t dice = 1;

	for (uint32_t i = 0; i < THREADS; i++) {
		uint64_t ticks = 1;

		t[i] = fixture_thread(8);
		for (uint32_t n = 0; n < i % 8; n++) {
			dice = dice * 1664525 + 1013904223;
			push(t[i], ticks += dice >> 20, n);
		}
	}
	assert_int_equal(gw_drain(take), 12 * 28 + 6);
	assert_int_equal(out_of_order, 0);
	assert_false(gw_drain_pending());
}

TEST_WITH(a_call_left_open_bears_the_time_of_the_one_before, start, NULL)
{
	struct gw_thread *a = fixture_thread(8), *b = fixture_thread(8);

	push(a, 10, 1);
	push(a, 0, 2);
	push(a, 0, 3);
	push(a, 40, 5);
	push(b, 20, 4);
	assert_int_equal(gw_drain(take), 5);
	assert_int_equal(out_of_order, 0);
	assert_int_equal(open_calls, 2);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(order[i], i + 1);
	push(a, 0, 6);
	gw_drain(take);
	assert_int_equal(last_ticks, 40);
}

TEST_WITH(a_launch_within_a_launch_is_the_workers_to_write_once_handed_over, start, NULL)
{
	struct gw_thread *t = fixture_thread(8);
	struct gw_call outer = {.thread = t};
	struct gw_event *inner;

	outer.event = gw_ring_slot(&outer);
	*outer.event = (struct gw_event){.ticks = 10};
	inner = gw_ring_reserve_inner(t);
	*inner = (struct gw_event){.ticks = 20, .flags = GW_EVENT_DONE};
	gw_launch_end(&outer, CUDA_SUCCESS, NULL, NULL);
	assert_int_equal(inner->flags, GW_EVENT_DONE);
	assert_int_equal(gw_drain(take), 2);
	assert_int_equal(open_calls, 0);
	assert_int_equal(inner->flags, 0);
}

TEST_WITH(each_eighth_call_is_timed_and_the_first_of_a_round, start, NULL)
{
	struct gw_thread *t = fixture_thread(8);
	uint32_t timed = 0;

	gw_hot.untimed = 7;
	for (uint32_t head = 0; head < 64; head++)
		timed += gw_call_ticks(t, head) != 0;
	assert_int_equal(timed, 8);
	assert_int_equal(gw_call_ticks(t, 65), 0);
	atomic_fetch_add(&gw_hot.round, 1);
	assert_true(gw_call_ticks(t, 66) != 0);
	assert_int_equal(gw_call_ticks(t, 67), 0);
	gw_hot.untimed = 0;
	for (uint32_t head = 0; head < 64; head++)
		assert_true(gw_call_ticks(t, head) != 0);
}

TEST_WITH(a_full_ring_drops_and_counts, start, NULL)
{
	struct gw_thread *t = fixture_thread(4);

	for (uint32_t i = 1; i <= 4; i++)
		assert_true(push(t, i, i));
	assert_false(push(t, 5, 5));
	assert_int_equal(atomic_load(&t->counts.dropped), 1);
	assert_int_equal(atomic_load(&t->counts.launches), 5);
	assert_int_equal(gw_drain(take), 4);
	assert_true(push(t, 6, 6));
	assert_int_equal(gw_drain(take), 1);
	assert_int_equal(order[4], 6);
}

TEST_WITH(launches_among_the_events_taken_are_counted_beside_the_tail, start, NULL)
{
	static const unsigned char kinds[] = {GW_EVENT_KERNEL, GW_EVENT_WAIT, GW_EVENT_GRAPH,
					      GW_EVENT_NONE,   GW_EVENT_TIME, GW_EVENT_MULTI};
	struct gw_thread *t = fixture_thread(8);

	for (uint32_t i = 0; i < sizeof(kinds); i++) {
		assert_true(push(t, i + 1, i + 1));
		t->ring[i].kind = kinds[i];
	}
	gw_drain(take);
	assert_int_equal(atomic_load(&t->tail), 6);
	assert_int_equal(atomic_load(&t->tail_taken), UINT64_C(3) << 32 | 6);
}

TEST_WITH(the_fullest_ring_counts_however_many_there_are, start, NULL)
{
	struct gw_thread *a = fixture_thread(8), *b = fixture_thread(8), *c = fixture_thread(64);

	gw_drain_fullest();
	for (uint32_t i = 1; i <= 2; i++)
		push(a, i, i);
	for (uint32_t i = 1; i <= 6; i++)
		push(b, i, i);
	for (uint32_t i = 1; i <= 20; i++)
		push(c, i, i);
	gw_drain(take);
	push(a, 21, 21);
	gw_drain(take); /* it is empty by now, and nobody has asked */
	assert_true(fabs(gw_drain_fullest() - 0.75) < 1e-9);
	assert_true(fabs(gw_drain_fullest()) < 1e-9);
}

TEST_WITH(indexes_may_wrap, start, NULL)
{
	struct gw_thread *t = fixture_thread(8);
	uint32_t near = UINT32_MAX - 2;

	atomic_store(&t->head, near);
	atomic_store(&t->tail, near);
	t->tail_seen = t->next = near;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 1; i <= 8; i++)
			assert_true(push(t, round * 8 + i, round * 8 + i));
		assert_false(push(t, 0, 0));
		assert_int_equal(gw_drain(take), 8);
	}
	assert_int_equal(out_of_order, 0);
	assert_int_equal(atomic_load(&t->tail), near + 24);
}

TEST_WITH(what_fails_or_is_captured_leaves_no_event, start, NULL)
{
	struct gw_thread *t = fixture_thread(4);
	struct gw_call failed = {.thread = t}, captured = {.thread = t, .how = GW_CALL_CAPTURED};

	failed.event = gw_ring_slot(&failed);
	gw_launch_end(&failed, CUDA_ERROR_INVALID_VALUE, NULL, NULL);
	gw_launch_end(&captured, CUDA_SUCCESS, NULL, NULL);
	assert_int_equal(atomic_load(&t->counts.failed), 1);
	assert_int_equal(atomic_load(&t->counts.captured), 1);
	assert_int_equal(atomic_load(&t->counts.launches), 0);
	assert_false(gw_drain_pending());
}

/* Its pages were given back as it was written: the thread had been idle for long (threads.c). */
TEST_WITH(a_slot_that_was_zeroed_is_a_launch_lost, start, NULL)
{
	struct gw_thread *t = fixture_thread(4);

	push(t, 1, 1);
	push(t, 2, 2);
	memset(&t->ring[0], 0, sizeof(t->ring[0]));
	assert_int_equal(gw_drain(take), 2);
	assert_int_equal(taken, 1);
	assert_int_equal(gw_counters[GW_COUNTER_ring_dropped], 1);
}

TEST_WITH(a_thread_that_ended_is_freed_once_its_ring_is_empty, start, NULL)
{
	struct gw_thread *t = fixture_thread(4);

	push(t, 1, 1);
	atomic_store(&t->state, GW_SLOT_RETIRED);
	gw_drain(take);
	assert_int_equal(atomic_load(&t->state), GW_SLOT_RETIRED);
	gw_drain(take);
	assert_int_equal(atomic_load(&t->state), GW_SLOT_FREE);
}

static void push_many(unsigned number)
{
	struct gw_thread *t;

	if (!number) { /* the worker */
		while (taken < PUSHERS * EACH)
			gw_drain(take);
		return;
	}
	t = pushers[number - 1];
	for (uint32_t i = 1; i <= EACH;)
		i += push(t, i, i);
}

TEST_WITH(nothing_is_lost_or_torn_between_threads, start, NULL)
{
	for (int i = 0; i < PUSHERS; i++)
		pushers[i] = fixture_thread(64);
	fixture_threads(PUSHERS + 1, push_many);
	assert_int_equal(taken, PUSHERS * EACH);
	for (int i = 1; i <= PUSHERS; i++)
		assert_int_equal(seen[i], EACH);
}

TESTS_MAIN()
