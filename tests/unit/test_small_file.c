/* SPDX-License-Identifier: Apache-2.0 */
/* Small files of the kernel's, and fields of one. */
#include "preload/runtime/small_file.h"

#include "preload/runtime/processors.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void fields_are_counted_behind_the_name(void **state)
{
	const char *stat = "12 (a (b) c) d) S 3 4 5\n";

	(void)state;
	assert_string_equal(gw_stat_field(stat, 3), "S 3 4 5\n");
	assert_string_equal(gw_stat_field(stat, 6), "5\n");
	assert_null(gw_stat_field(stat, 7));
	assert_null(gw_stat_field("12 (a", 3));
	assert_null(gw_stat_field("", 3));
}

/* As the kernel writes cpu.max, and the two files of version 1 one behind the other. */
static void a_quota_is_in_processors(void **state)
{
	(void)state;
	assert_true(gw_processors_quota_of("150000 100000\n") == 1.5);
	assert_true(gw_processors_quota_of("50000\n100000\n") == 0.5);
	assert_true(isinf(gw_processors_quota_of("max 100000\n")));
	assert_true(isinf(gw_processors_quota_of("-1\n100000\n")));
	assert_true(isinf(gw_processors_quota_of("")));
	assert_true(gw_processors_quota() > 0);
	assert_true(gw_processors() > 0);
}

static void this_process_is_its_own(void **state)
{
	char text[512];

	(void)state;
	assert_true(gw_small_file("/proc/self/stat", text, sizeof(text)) > 20);
	assert_int_equal(strtol(text, NULL, 10), getpid());
	assert_int_equal(strtol(gw_stat_field(text, 4), NULL, 10), getppid());
}

static void no_more_is_read_than_there_is_room_for(void **state)
{
	char text[5] = "xxxx";

	(void)state;
	assert_int_equal(gw_small_file("/proc/self/stat", text, sizeof(text)), 4);
	assert_int_equal(text[4], 0);
	assert_int_equal(gw_small_file("/no/such", text, sizeof(text)), 0);
	assert_string_equal(text, "");
	assert_int_equal(gw_small_file("/proc", text, sizeof(text)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(fields_are_counted_behind_the_name),
	        cmocka_unit_test(a_quota_is_in_processors),
	        cmocka_unit_test(this_process_is_its_own),
	        cmocka_unit_test(no_more_is_read_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
