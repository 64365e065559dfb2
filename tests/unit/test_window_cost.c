/* SPDX-License-Identifier: Apache-2.0 */
/* What windows of mode watch are taken to cost, and whether libcupti may stay attached. */
#include "preload/cupti/window_cost.h"
#include "preload/runtime/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MS UINT64_C(1000000)

/* A window after 100 ms of @p before launches a millisecond, with @p in of them. */
static void window(uint32_t before, uint32_t in)
{
	gw_window_cost_round(false, 100 * MS, 100 * before, 0);
	gw_window_cost_round(true, 5 * MS, 5 * in, 0);
	gw_window_cost_ended();
}

static void few_windows_show_nothing(void **state)
{
	(void)state;
	gw_window_cost_start();
	for (int i = 0; i < 7; i++)
		window(100, 100);
	assert_true(gw_window_cost_share() == 0.5);
}

static void the_loss_is_the_pace_in_windows_by_the_pace_before(void **state)
{
	(void)state;
	gw_window_cost_start();
	for (int i = 0; i < 64; i++)
		window(100, 80);
	assert_true(gw_window_cost_share() > 0.199 && gw_window_cost_share() < 0.201);
}

static void windows_that_cost_nothing_are_not_free(void **state)
{
	(void)state;
	gw_window_cost_start();
	for (int i = 0; i < 64; i++)
		window(100, 101);
	assert_true(gw_window_cost_share() > 0);
}

/* 0 or 200 a millisecond, no less on the average: it may be as much as the error of the mean. */
static void an_uneven_pace_is_charged_for_its_error(void **state)
{
	(void)state;
	gw_window_cost_start();
	for (int i = 0; i < 64; i++)
		window(100, i % 2 ? 200 : 0);
	assert_true(gw_window_cost_share() > 0.15 && gw_window_cost_share() < 0.35);
}

static void a_program_that_changes_is_seen(void **state)
{
	(void)state;
	gw_window_cost_start();
	for (int i = 0; i < 100; i++)
		window(100, 100);
	for (int i = 0; i < 200; i++)
		window(100, 50);
	assert_true(gw_window_cost_share() > 0.4);
}

/* A second with @p times calls of graphs of @p nodes kernels; 0: of kernels. */
static void second_of(uint32_t times, uint32_t nodes)
{
	gw_window_cost_start();
	gw_window_cost_round(false, 1000 * MS, times, 0);
	for (uint32_t i = 0; i < times; i++)
		gw_window_cost_launch(nodes);
}

static void many_launch_calls_keep_libcupti_away(void **state)
{
	(void)state;
	second_of(200000, 0);
	assert_false(gw_window_cost_stay(1));
	assert_true(gw_window_cost_stay(50));
}

/* libcupti could not be detached again when the program begins in earnest. */
static void the_first_launches_decide_nothing(void **state)
{
	(void)state;
	gw_window_cost_start();
	gw_window_cost_round(false, 100 * MS, 1, 0);
	gw_window_cost_launch(0);
	assert_false(gw_window_cost_stay(1));
}

static void a_thousand_a_second_do_not(void **state)
{
	(void)state;
	second_of(1000, 0);
	assert_true(gw_window_cost_stay(1));
}

static void kernels_of_graphs_count_too(void **state)
{
	(void)state;
	second_of(500, 400);
	assert_false(gw_window_cost_stay(1));
	assert_false(gw_window_cost_stay(10));
	assert_true(gw_window_cost_stay(30));
}

/* The mean of the last ten seconds or so. */
static void a_program_that_launches_less_is_seen(void **state)
{
	(void)state;
	second_of(200000, 0);
	for (int i = 0; i < 200; i++)
		gw_window_cost_round(false, 1000 * MS, 0, 0);
	assert_true(gw_window_cost_stay(1));
}

static void a_window_in_which_the_worker_falls_behind_is_seen_and_rested_from(void **state)
{
	(void)state;
	gw_window_cost_start();
	gw_window_cost_round(true, 10 * MS, 8191, 0.49);
	gw_window_cost_round(false, 10 * MS, 100000, 1);
	assert_false(gw_window_cost_behind());
	gw_window_cost_round(true, 10 * MS, 8192, 0.5);
	assert_true(gw_window_cost_behind());
	gw_window_cost_ended();
	assert_false(gw_window_cost_behind());
	assert_int_equal(gw_window_cost_rest(), 1000 * MS);
	gw_window_cost_ended();
	assert_int_equal(gw_window_cost_rest(), 0);
}

/* 64 threads that launch a little fill no ring. */
static void many_launches_in_many_rings_are_not_too_many(void **state)
{
	(void)state;
	gw_window_cost_start();
	gw_window_cost_round(true, 10 * MS, 64 * 512, 512 / 16384.0);
	assert_false(gw_window_cost_behind());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(few_windows_show_nothing),
	        cmocka_unit_test(the_loss_is_the_pace_in_windows_by_the_pace_before),
	        cmocka_unit_test(windows_that_cost_nothing_are_not_free),
	        cmocka_unit_test(an_uneven_pace_is_charged_for_its_error),
	        cmocka_unit_test(a_program_that_changes_is_seen),
	        cmocka_unit_test(many_launch_calls_keep_libcupti_away),
	        cmocka_unit_test(the_first_launches_decide_nothing),
	        cmocka_unit_test(a_thousand_a_second_do_not),
	        cmocka_unit_test(kernels_of_graphs_count_too),
	        cmocka_unit_test(a_program_that_launches_less_is_seen),
	        cmocka_unit_test(a_window_in_which_the_worker_falls_behind_is_seen_and_rested_from),
	        cmocka_unit_test(many_launches_in_many_rings_are_not_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
