/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's sleep while nothing is launched, and the launch that ends it. */
#include "preload/runtime/bell.h"
#include "preload/launch/call.h"
#include "preload/runtime/deadline.h"
#include "tests/unit/preload_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const uint64_t HOUR = UINT64_C(3600000000000);
static bool waiting; /* there are launches to be looked at */

static bool pending(void)
{
	return waiting;
}

static int start(void **state)
{
	(void)state;
	fixture_start();
	gw_bell_start();
	waiting = false;
	return 0;
}

static void *sleeper(void *unused)
{
	gw_bell_sleep_until_launch(gw_deadline_in(HOUR), pending);
	return unused;
}

/* Until @p wake has been called: each of these tests would take an hour. */
static void sleeps_until(void (*wake)(void))
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, sleeper, NULL), 0);
	while (!atomic_load(&gw_hot.captures))
		sched_yield();
	while (atomic_load(&gw_hot.captures)) {
		wake();
		sched_yield();
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void the_first_launch_wakes_the_worker(void **state)
{
	(void)state;
	sleeps_until(gw_bell_launched);
}

static void whoever_rings_wakes_the_worker(void **state)
{
	(void)state;
	sleeps_until(gw_bell_ring);
}

static void launches_that_wait_are_not_slept_over(void **state)
{
	(void)state;
	waiting = true;
	gw_bell_sleep_until_launch(gw_deadline_in(HOUR), pending);
	assert_int_equal(atomic_load(&gw_hot.captures), 0);
}

/* The driver has nothing to be asked with here: asked, the answer would be that it is captured. */
static void capture(void)
{
	assert_false(gw_stream_capturing(NULL, 0));
}

static void a_launch_that_wakes_is_not_taken_for_captured(void **state)
{
	(void)state;
	sleeps_until(capture);
}

static void captures_are_counted_on_beside_it(void **state)
{
	(void)state;
	for (int n = -1; n <= 3; n++) {
		assert_int_equal(gw_captures_of(n), n);
		assert_int_equal(gw_captures_of(n + GW_HOT_ASLEEP), n);
	}
	atomic_store(&gw_hot.captures, 1);
	assert_true(gw_stream_capturing(NULL, 0));
	gw_bell_sleep_until_launch(0, pending);
	assert_int_equal(atomic_load(&gw_hot.captures), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, start)
	        T(the_first_launch_wakes_the_worker),
	        T(whoever_rings_wakes_the_worker),
	        T(launches_that_wait_are_not_slept_over),
	        T(a_launch_that_wakes_is_not_taken_for_captured),
	        T(captures_are_counted_on_beside_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
