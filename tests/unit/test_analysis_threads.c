/* SPDX-License-Identifier: Apache-2.0 */
/* Launches analysed on threads: the same is reported, and the threads end with the program. */
#include "preload/runtime/options.h"
#include "preload/runtime/spawn.h"
#include "tests/unit/analysis_fixture.h"
#include "tests/unit/preload_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>
#include <cmocka.h>

static int start_threads(void **state)
{
	analysis_start(state);
	gw_options.budget = 1;
	gw_analysis_start(GW_ANALYSIS_THREADS);
	return 0;
}

/* None of them is left when the next test starts anew. */
static int end_threads(void **state)
{
	gw_analysis_stop();
	for (int i = 0; gw_spawned() && i < 10000; i++)
		usleep(1000);
	assert_int_equal(gw_spawned(), 0);
	gw_analysis_start(0);
	return analysis_end(state);
}

static void run_until_none_waits(void)
{
	while (gw_analysis_waits()) {
		gw_analysis_run(look, false);
		usleep(1000);
	}
}

static void threads_report_what_the_worker_would(void **state)
{
	uint32_t config = config_of(SAXPY, 4, 128);

	(void)state;
	assert_false(gw_analysis_inline());
	arguments_of(config, 512);
	gw_analysis_want(config);
	gw_analysis_run(look, false);
	assert_int_equal(gw_spawned(), 1); /* no more than there is to do */
	run_until_none_waits();
	assert_int_equal(offers, 1);
	assert_int_equal(offered[0], config);
	assert_true(row(GW_WORK_global_load_requests) == 32);
	assert_true(work.q[GW_WORK_inst_executed].confidence == 1);
	assert_int_equal(counted(GW_COUNTER_studied), 1);
	assert_true(counted(GW_COUNTER_analysis_ns) > 0);
	assert_int_equal(looks, 0); /* the worker had nothing to be kept from */
}

/* Records wait for those that have no time, also while a thread is at them. */
static void times_wait_for_a_thread_that_is_at_the_first_analysis(void **state)
{
	(void)state;
	gw_analysis_want(config_of(SAXPY, 4, 128));
	gw_analysis_run(look, false);
	if (!offers)
		assert_true(gw_analysis_defers_join(1));
	run_until_none_waits();
	assert_false(gw_analysis_defers_join(1));
	assert_int_equal(offers, 1);
}

/* More kernels than may stay decoded, read from the same module by several threads at once. */
static void many_at_a_time_are_all_analysed_once(void **state)
{
	enum { KERNELS = 3, CONFIGS = 20 };
	static const char *const names[KERNELS] = {"_Z5saxpyifPKfPf", "powers",
	                                           "_Z6reduce6recordhPKfPf"};

	(void)state;
	for (uint32_t i = 0; i < GW_ANALYSIS_KERNELS + CONFIGS; i++) {
		kernel(16 + i, names[i % KERNELS], 1);
		gw_hot.shared->kernels[16 + i].hash = 1000 + i;
		gw_analysis_want(config_of(16 + i, 1 + i % 7, 64));
	}
	run_until_none_waits();
	assert_int_equal(offers, GW_ANALYSIS_KERNELS + CONFIGS);
	assert_int_equal(counted(GW_COUNTER_analysis_no_code), 0);
	assert_true(gw_spawned() > 1);
}

/* Those of the end are finished within its time or left; a thread at one does not hold it up. */
/* So many are handed out before the first has its result; no other one needs its own. */
static void what_waits_takes_the_result_of_its_like(void **state)
{
	enum { CONFIGS = 2 * GW_ANALYSIS_JOBS }; /* no more than admitted without a return */

	(void)state;
	know_parameters();
	for (uint32_t i = 0; i < CONFIGS; i++)
		gw_analysis_want(config_by_factor(i, 512));
	run_until_none_waits();
	assert_int_equal(offers, CONFIGS);
	assert_in_range(counted(GW_COUNTER_studied), 1, GW_ANALYSIS_JOBS);
}

static void threads_end_with_the_program(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		gw_analysis_want(config_of(REDUCE, 1000 + i, 64));
	gw_analysis_run(look, false);
	gw_analysis_run(look, true);
	gw_analysis_stop();
	assert_true(gw_analysis_inline());
}

/* A minute of idle processors before the budget rules, but none where no budget is given. */
static void answers_come_before_the_budget(void **state)
{
	static const uint64_t second = 1000000000;

	(void)state;
	assert_int_equal(gw_analysis_allowance(0), 60 * second);
	assert_int_equal(gw_analysis_allowance(100 * second), 62 * second);
	gw_options.budget = 0;
	assert_int_equal(gw_analysis_allowance(0), 2 * second);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start_threads, end_threads)
	const struct CMUnitTest tests[] = {
	        TEST(threads_report_what_the_worker_would),
	        TEST(times_wait_for_a_thread_that_is_at_the_first_analysis),
	        TEST(many_at_a_time_are_all_analysed_once),
	        TEST(what_waits_takes_the_result_of_its_like),
	        TEST(threads_end_with_the_program),
	        TEST(answers_come_before_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
