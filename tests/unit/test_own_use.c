/* SPDX-License-Identifier: Apache-2.0 */
/* What mode watch does without when gpuwatch takes too much, by a moved clock and CPU times. */
#include "preload/maps/own_use.h"

#include "preload/runtime/counters.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static const uint64_t S = 1000 * GW_MS;
static uint64_t now_ns, cpu_ns;

static int start(void **state)
{
	(void)state;
	gw_options.mode = GW_MODE_WATCH;
	gw_options.cpu_max = 2;
	now_ns = 1000 * S;
	cpu_ns = 0;
	gw_degraded_reset();
	memset(gw_counters, 0, sizeof(gw_counters));
	gw_own_use_start();
	gw_own_use_tick(now_ns, 0);
	return 0;
}

/* So many seconds pass, and our threads take @p permille of a processor. */
static void pass(unsigned seconds, unsigned permille)
{
	for (unsigned i = 0; i < seconds; i++) {
		now_ns += S;
		cpu_ns += permille * GW_MS;
		gw_own_use_tick(now_ns, cpu_ns);
	}
}

static unsigned level(void)
{
	unsigned n = 0;

	while (n + 1 < GW_SHEDS && gw_sheds((enum gw_shed)(n + 1)))
		n++;
	return n;
}

static uint64_t counter(enum gw_counter c)
{
	return atomic_load(&gw_counters[c]);
}

static void within_the_limit_nothing_is_shed(void **state)
{
	(void)state;
	pass(600, 20);
	assert_int_equal(level(), GW_SHED_NOTHING);
	assert_int_equal(counter(GW_COUNTER_sheds), 0);
}

static void the_first_three_seconds_of_cpu_are_free(void **state)
{
	(void)state;
	pass(3, 1000);
	assert_int_equal(level(), GW_SHED_NOTHING);
}

static void above_it_code_analysis_goes_first(void **state)
{
	(void)state;
	pass(3, 1000);
	pass(8, 30);
	assert_int_equal(level(), GW_SHED_ANALYSIS);
	assert_int_equal(counter(GW_COUNTER_sheds), 1);
	assert_int_equal(counter(GW_COUNTER_shed_level), GW_SHED_ANALYSIS);
}

/* Each five seconds the next, until nothing is left. */
static void one_thing_after_the_other_is_shed(void **state)
{
	(void)state;
	pass(4, 1000);
	for (unsigned n = GW_SHED_ANALYSIS; n < GW_SHEDS; n++) {
		assert_int_equal(level(), n);
		pass(GW_OWN_USE_STEP_MS / 1000, 500);
	}
	assert_int_equal(level(), GW_SHEDS - 1);
	assert_int_equal(counter(GW_COUNTER_sheds), GW_SHEDS - 1);
}

static void what_was_shed_last_has_time_to_help(void **state)
{
	(void)state;
	pass(4, 1000);
	assert_int_equal(level(), GW_SHED_ANALYSIS);
	pass(60, 15); /* less than is earned: what is owed is paid back */
	assert_int_equal(level(), GW_SHED_ANALYSIS);
}

static void what_was_shed_comes_back_in_the_opposite_order(void **state)
{
	(void)state;
	pass(4, 1000);
	pass(5, 500);
	assert_int_equal(level(), GW_SHED_COUNTERS);
	for (unsigned s = 0; level() == GW_SHED_COUNTERS && s < 1000; s++)
		pass(1, 0);
	assert_int_equal(level(), GW_SHED_ANALYSIS);
	pass(GW_OWN_USE_BACK_MS / 1000, 0);
	assert_int_equal(level(), GW_SHED_NOTHING);
	assert_int_equal(counter(GW_COUNTER_shed_level), 0);
	assert_int_equal(counter(GW_COUNTER_sheds), 2);
}

/* However long it took too much, after this time there is room again. */
static void what_is_owed_has_a_bound(void **state)
{
	const unsigned seconds = 2 * GW_OWN_USE_AHEAD_MS / 1000 * 100 / 2;

	(void)state;
	pass(2000, 900);
	assert_int_equal(level(), GW_SHEDS - 1);
	pass(seconds, 0);
	assert_true(level() < GW_SHEDS - 1);
}

static void it_is_said_once(void **state)
{
	struct gw_reason r;

	(void)state;
	pass(4, 1000);
	pass(100, 500);
	assert_true(gw_degraded_get(0, &r));
	assert_int_equal(r.code, GW_DEGRADED_OWN_USE);
	assert_non_null(strstr(r.text, "GPUWATCH_CPU_MAX, 2%"));
	assert_false(gw_degraded_get(1, &r));
}

static void zero_is_no_limit(void **state)
{
	(void)state;
	gw_options.cpu_max = 0;
	pass(100, 900);
	assert_int_equal(level(), GW_SHED_NOTHING);
}

/* Nor is what audit took owed afterwards. */
static void other_modes_have_no_limit(void **state)
{
	(void)state;
	gw_options.mode = GW_MODE_AUDIT;
	pass(100, 900);
	assert_int_equal(level(), GW_SHED_NOTHING);
	gw_options.mode = GW_MODE_WATCH;
	pass(10, 20);
	assert_int_equal(level(), GW_SHED_NOTHING);
}

static void a_thread_missing_from_a_look_does_not_count_twice(void **state)
{
	(void)state;
	pass(1, 2900);
	for (unsigned i = 0; i < 10; i++) {
		gw_own_use_tick(now_ns += S, cpu_ns - S);
		gw_own_use_tick(now_ns += S, cpu_ns);
	}
	assert_int_equal(level(), GW_SHED_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(within_the_limit_nothing_is_shed, start),
	        cmocka_unit_test_setup(the_first_three_seconds_of_cpu_are_free, start),
	        cmocka_unit_test_setup(above_it_code_analysis_goes_first, start),
	        cmocka_unit_test_setup(one_thing_after_the_other_is_shed, start),
	        cmocka_unit_test_setup(what_was_shed_last_has_time_to_help, start),
	        cmocka_unit_test_setup(what_was_shed_comes_back_in_the_opposite_order, start),
	        cmocka_unit_test_setup(what_is_owed_has_a_bound, start),
	        cmocka_unit_test_setup(it_is_said_once, start),
	        cmocka_unit_test_setup(zero_is_no_limit, start),
	        cmocka_unit_test_setup(other_modes_have_no_limit, start),
	        cmocka_unit_test_setup(a_thread_missing_from_a_look_does_not_count_twice, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
