/* Ticks to CLOCK_REALTIME, by clocks that stand still until the test moves them. */
#include "preload/runtime/clock.h"
#include "preload/runtime/deadline.h"
#include "preload/maps/state.h"

#include <time.h>

enum { KHZ = 2500000 };
static const uint64_t SECOND = 1000000000, MS = 1000000;
static uint64_t passed, ahead; /* CLOCK_MONOTONIC, ns; how far CLOCK_REALTIME is ahead of it */
static uint64_t between;       /* what passes while clocks are read one after the other */

static uint64_t ticks_now(void)
{
	return 7 * UINT64_C(1000000000000) + passed * KHZ / 1000000;
}

/* In place of the C library's and of the tick counter. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
	uint64_t shown = passed + (clock == CLOCK_REALTIME ? ahead : 0);

	passed += between;
	t->tv_sec = (time_t)(shown / SECOND);
	t->tv_nsec = (long)(shown % SECOND);
	return 0;
}

#define gw_ticks ticks_now
#include "preload/runtime/clock.c"
#include "tests/test.h"

static int start(void **state)
{
	uint64_t ticks, realtime, monotonic;

	passed = 1000 * SECOND;
	ahead = 1700000000 * SECOND;
	between = 0;
	gw_clock_start(&ticks, &realtime, &monotonic);
	assert_int_equal(realtime, passed + ahead);
	assert_int_equal(monotonic, passed);
	passed += 20 * MS;
	assert_int_equal(gw_clock_update(), 0);
	return 0;
}

/* Whether @p ticks are taken for @p time, but for the rounding of a rate. */
static void assert_is(uint64_t ticks, uint64_t time)
{
	assert_in_range(gw_clock_ns(ticks), time - 2, time + 2);
}

TEST_WITH(the_present_is_the_clocks, start, NULL)
{
	for (int i = 0; i < 5; i++) {
		assert_is(ticks_now(), passed + ahead);
		passed += 5 * MS;
		assert_is(ticks_now(), passed + ahead);
		gw_clock_update();
	}
}

TEST_WITH(differences_of_ticks_are_kept, start, NULL)
{
	assert_int_equal(gw_clock_khz(), KHZ);
	assert_is(ticks_now() - 3 * (uint64_t)KHZ, passed + ahead - 3 * MS);
}

static const int64_t STEPS[] = {3600, -7200, 1, -1};

TEST_WITH(the_rate_outlives_steps_of_the_clock, start, NULL)
{
	for (size_t i = 0; i < COUNT(STEPS); i++) {
		ahead += (uint64_t)(STEPS[i] * (int64_t)SECOND);
		passed += 10 * MS;
		gw_clock_update();
		assert_int_equal(gw_clock_khz(), KHZ);
		assert_is(ticks_now(), passed + ahead);
	}
}

TEST_WITH(times_before_a_step_are_reported_by_the_new_clock, start, NULL)
{
	uint64_t ticks = ticks_now(), was = passed;

	ahead += 3600 * SECOND;
	passed += 10 * MS;
	gw_clock_update();
	assert_is(ticks, was + ahead);
}

TEST_WITH(a_step_is_seen_once_and_how_long_it_is, start, NULL)
{
	for (size_t i = 0; i < COUNT(STEPS); i++) {
		int64_t by = STEPS[i] * (int64_t)SECOND;

		ahead += (uint64_t)by;
		passed += 10 * MS;
		assert_true(gw_clock_update() == by);
		passed += 10 * MS;
		assert_true(gw_clock_update() == 0);
	}
}

/* A thread that is kept from running between two readings sees the clocks apart, and how far. */
TEST_WITH(slow_readings_are_no_step, start, NULL)
{
	between = 50 * MS;
	assert_true(gw_clock_update() == 0);
	between = 0;
	passed += 10 * MS;
	assert_true(gw_clock_update() == 0);
}

TEST_WITH(after_a_step_back_the_times_before_it_are_ahead, start, NULL)
{
	uint64_t was = passed + ahead;

	assert_false(gw_clock_ahead(was + SECOND)); /* no step, no such times */
	ahead -= 60 * SECOND;
	passed += 10 * MS;
	gw_clock_update();
	assert_true(gw_clock_ahead(was));
	assert_false(gw_clock_ahead(passed + ahead));
	assert_false(gw_clock_ahead(0));
	passed += 61 * SECOND;
	gw_clock_update();
	assert_false(gw_clock_ahead(was));
}

TEST_WITH(no_deadline_moves_with_the_wall_clock, start, NULL)
{
	uint64_t deadline = gw_deadline_in(5 * MS);

	ahead -= 3600 * SECOND;
	assert_int_equal(deadline, passed + 5 * MS);
	assert_int_equal(gw_steady_ns(), passed);
}

TEST_WITH(what_we_cost_is_added_up, start, NULL)
{
	uint64_t before = gw_overhead_ns(), attach = gw_attach_ns();

	gw_overhead_since(ticks_now() - 5 * (uint64_t)KHZ);
	gw_overhead_since(ticks_now() - 5 * (uint64_t)KHZ);
	assert_in_range(gw_overhead_ns() - before, 10 * MS - 2, 10 * MS + 2);
	assert_int_equal(gw_attach_ns(), attach);
	gw_attach_since(ticks_now() - KHZ);
	assert_in_range(gw_attach_ns() - attach, MS - 2, MS + 2);
}

TESTS_MAIN()
