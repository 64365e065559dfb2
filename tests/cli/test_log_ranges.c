/* SPDX-License-Identifier: Apache-2.0 */
/* Which NVTX range a launch was called in. */
#include "cli/spent/ranges.h"
#include "predictor/core/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static struct log_ranges ranges;

static void name(uint32_t id, uint32_t domain, const char *text)
{
	log_range_name(&ranges, &(struct gw_record_range_name){.id = id, .domain = domain}, text);
}

static void change(uint32_t thread, uint64_t ns, uint32_t range)
{
	log_range_change(&ranges, thread, &(struct gw_record_range){.ns = ns, .name = range});
}

static void the_latest_change_before_the_call_holds(void **state)
{
	(void)state;
	name(1, 0, "outer");
	name(2, 0, "inner");
	change(0, 100, 1);
	change(0, 200, 2);
	change(0, 300, 1);
	change(0, 400, 0);
	assert_string_equal(log_range_at(&ranges, 0, 99), "[no range]");
	assert_string_equal(log_range_at(&ranges, 0, 100), "outer");
	assert_string_equal(log_range_at(&ranges, 0, 299), "inner");
	assert_string_equal(log_range_at(&ranges, 0, 300), "outer");
	assert_string_equal(log_range_at(&ranges, 0, 400), "[no range]");
	assert_string_equal(log_range_at(&ranges, 1, 250), "[no range]");
	log_ranges_free(&ranges);
}

static void the_process_stands_in_where_the_thread_is_in_none(void **state)
{
	(void)state;
	name(1, 0, "epoch");
	name(2, 0, "step");
	change(GW_INDEX_NONE, 100, 1);
	change(3, 200, 2);
	change(3, 300, 0);
	assert_string_equal(log_range_at(&ranges, 3, 250), "step");
	assert_string_equal(log_range_at(&ranges, 3, 350), "epoch");
	assert_string_equal(log_range_at(&ranges, GW_INDEX_NONE, 350), "epoch");
	log_ranges_free(&ranges);
}

static void names_say_their_domain_and_lost_ones_are_unknown(void **state)
{
	(void)state;
	name(1, 0, "layers");
	name(2, 1, "conv");
	name(3, 0, "");
	name(LOG_RANGE_NAMES, 0, "beyond");
	change(0, 100, 2);
	change(0, 200, 3);
	change(0, 300, 9);
	change(0, 400, LOG_RANGE_NAMES);
	assert_string_equal(log_range_at(&ranges, 0, 100), "layers: conv");
	assert_string_equal(log_range_at(&ranges, 0, 200), "[unnamed]");
	assert_string_equal(log_range_at(&ranges, 0, 300), "[unknown]");
	assert_string_equal(log_range_at(&ranges, 0, 400), "[unknown]");
	assert_string_equal(log_range_at(&ranges, 0, 0), "[unknown]"); /* a call without a time */
	log_ranges_free(&ranges);
}

static void of_too_many_changes_the_latest_are_kept(void **state)
{
	(void)state;
	name(1, 0, "one");
	name(2, 0, "two");
	for (uint32_t i = 0; i <= LOG_RANGE_CHANGES; i++)
		change(0, 10 + i, 1 + i % 2);
	assert_int_equal(ranges.courses[1].count, LOG_RANGE_CHANGES / 2 + 1);
	assert_string_equal(log_range_at(&ranges, 0, 10 + LOG_RANGE_CHANGES), "one");
	assert_string_equal(log_range_at(&ranges, 0, 9 + LOG_RANGE_CHANGES), "two");
	log_ranges_free(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_latest_change_before_the_call_holds),
	        cmocka_unit_test(the_process_stands_in_where_the_thread_is_in_none),
	        cmocka_unit_test(names_say_their_domain_and_lost_ones_are_unknown),
	        cmocka_unit_test(of_too_many_changes_the_latest_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
