/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks to CLOCK_REALTIME. The test's clocks run with the ticks; REALTIME may be stepped. */
#include "preload/clock.h"
#include "preload/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static const int64_t SECOND = 1000000000, HOUR = 3600 * INT64_C(1000000000);
static int64_t step;

/* In place of the C library's: what the system says, REALTIME moved by `step`. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
	struct timespec raw;
	int64_t ns;

	timespec_get(&raw, TIME_UTC);
	ns = raw.tv_sec * SECOND + raw.tv_nsec + (clock == CLOCK_REALTIME ? step : 0);
	t->tv_sec = ns / SECOND;
	t->tv_nsec = ns % SECOND;
	return 0;
}

static int start(void **state)
{
	uint64_t ticks, realtime, monotonic;

	(void)state;
	step = 0;
	gw_clock_start(&ticks, &realtime, &monotonic);
	usleep(20000);
	gw_clock_update();
	return 0;
}

/* How far the conversion of this moment is from the clock, ns. */
static int64_t off(void)
{
	uint64_t before = gw_now_ns(), converted = gw_clock_ns(gw_ticks()), after = gw_now_ns();

	if (converted < before)
		return (int64_t)(before - converted);
	return converted > after ? (int64_t)(converted - after) : 0;
}

/* The least of several: another process may take the CPU between two readings. */
static int64_t least_off(void)
{
	int64_t least = off();

	for (int i = 0; i < 20; i++) {
		int64_t o = off();

		least = o < least ? o : least;
	}
	return least;
}

static void the_present_is_converted_to_within_50_us(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_in_range(least_off(), 0, 50000);
		usleep(5000);
		gw_clock_update();
	}
}

static void differences_of_ticks_are_kept(void **state)
{
	uint64_t khz = gw_clock_khz(), now = gw_ticks();
	int64_t ms = (int64_t)(gw_clock_ns(now) - gw_clock_ns(now - khz));

	(void)state;
	assert_true(khz > 0);
	assert_in_range(ms, 999000, 1001000);
}

static void the_rate_outlives_steps_of_the_clock(void **state)
{
	uint32_t khz = gw_clock_khz();
	static const int64_t steps[] = {3600, -7200, 1, -1};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		step += steps[i] * SECOND;
		gw_clock_update();
		assert_in_range(gw_clock_khz(), khz * 0.98, khz * 1.02);
		assert_in_range(least_off(), 0, 50000);
	}
}

static void times_before_a_step_are_told_by_the_new_clock(void **state)
{
	uint64_t ticks = gw_ticks(), was = gw_now_ns();
	int64_t moved;

	(void)state;
	step = HOUR;
	gw_clock_update();
	moved = (int64_t)(gw_clock_ns(ticks) - was) - HOUR;
	assert_in_range(llabs(moved), 0, 10000000);
}

static void what_we_cost_is_added_up(void **state)
{
	uint64_t khz = gw_clock_khz(), before = gw_overhead_ns(), attach = gw_attach_ns(), cost;

	(void)state;
	gw_overhead_since(gw_ticks() - 5 * khz);
	gw_overhead_since(gw_ticks() - 5 * khz);
	cost = gw_overhead_ns() - before;
	assert_in_range(cost, 9900000, 200000000);
	assert_int_equal(gw_attach_ns(), attach);
	gw_attach_since(gw_ticks() - khz);
	assert_true(gw_attach_ns() > attach);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, start)
	        T(the_present_is_converted_to_within_50_us),
	        T(differences_of_ticks_are_kept),
	        T(the_rate_outlives_steps_of_the_clock),
	        T(times_before_a_step_are_told_by_the_new_clock),
	        T(what_we_cost_is_added_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
