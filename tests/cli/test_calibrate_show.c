/* SPDX-License-Identifier: Apache-2.0 */
/* gpuwatch calibrate --from: a profile's tables and pictures. */
#include "tests/cli/shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SHOW GPUWATCH " calibrate --from=" PROFILE " "

static void tables_are_by_group_with_what_is_unknown(void **state)
{
	(void)state;
	shell_prints("calibrated.txt", "COLUMNS=140 LC_ALL=C.UTF-8 " SHOW);
}

static void narrow_tables_keep_values_and_units(void **state)
{
	(void)state;
	assert_int_equal(shell("COLUMNS=60 LC_ALL=C.UTF-8 " SHOW), 0);
	shell_says("b_mem_read");
	shell_says("3.9");
	shell_says("TB/s");
	assert_null(strstr(shell_output, "large arrays"));
}

static void json_is_the_profile(void **state)
{
	(void)state;
	assert_int_equal(shell(SHOW "--json > a.json; " GPUWATCH
	                            " calibrate --from=./a.json --json "
	                            "> b.json; cmp a.json b.json && cat a.json"),
	                 0);
	shell_says(
	        "\"lat_l1\": {\"why\": \"its spread of 9 cycle about 33 in 7 samples is more than "
	        "2\", \"group\": \"clock\"}");
	shell_says("[100, 600, 5], [1000, 640], [2000, 700, 2]], \"fit\": {\"slope\": 0.05, "
	           "\"intercept\": 595, \"r2\": 0.99, \"low\": 100, \"high\": 2000}");
}

static void pictures_are_of_what_is_known(void **state)
{
	(void)state;
	assert_int_equal(shell("rm -rf p; " SHOW "--plot=p >/dev/null; ls p"), 0);
	assert_string_equal(shell_output,
	                    "clock.svg\nlatency-threads.svg\nlaunch.svg\nroofline.svg\n");
	assert_int_equal(shell("for f in p/*; do xmllint --noout $f || exit 1; done"), 0);
}

static void picture_of_a_distribution_has_a_stem_for_each_value(void **state)
{
	(void)state;
	shell_prints("clock.svg.gz", "rm -rf p; " SHOW "--plot=p >/dev/null; cat p/clock.svg");
}

static void picture_of_a_fit_has_points_line_and_r2(void **state)
{
	(void)state;
	shell_prints("latency-threads.svg.gz",
	             "rm -rf p; " SHOW "--plot=p >/dev/null; cat p/latency-threads.svg");
}

static void roofline_has_its_points_under_its_roof(void **state)
{
	(void)state;
	shell_prints("roofline.svg.gz",
	             "rm -rf p; " SHOW "--plot=p >/dev/null; cat p/roofline.svg");
}

static void profile_without_functions_has_no_picture_and_says_so(void **state)
{
	(void)state;
	assert_int_equal(shell("rm -rf p; echo '{\"gpuwatch_profile\": 1, \"name\": \"G\"}' > "
	                       "g.json; " GPUWATCH " calibrate --from=./g.json --plot=p && ls p"),
	                 0);
	assert_string_equal(shell_output,
	                    "gpuwatch: warning: the profile has no function to draw\nG\n");
}

static void folder_for_pictures_that_cannot_be_made_is_refused(void **state)
{
	(void)state;
	assert_int_equal(shell(SHOW "--plot=/proc/p"), 2);
	assert_string_equal(shell_output,
	                    "gpuwatch: /proc/p: the folder cannot be made: No such file "
	                    "or directory; name one where you may write\n");
	assert_int_equal(shell("touch file; " SHOW "--plot=file"), 2);
	assert_string_equal(shell_output,
	                    "gpuwatch: file: this is a file and no folder; name another\n");
}

static void broken_profile_is_refused_with_its_line(void **state)
{
	(void)state;
	assert_int_equal(shell("sed 's/\"low\": 100/\"low\": \"x\"/' " PROFILE
	                       " > bad.json; " GPUWATCH " calibrate --from=./bad.json"),
	                 2);
	shell_says("./bad.json:18: must be a number");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(tables_are_by_group_with_what_is_unknown),
	        cmocka_unit_test(narrow_tables_keep_values_and_units),
	        cmocka_unit_test(json_is_the_profile),
	        cmocka_unit_test(pictures_are_of_what_is_known),
	        cmocka_unit_test(picture_of_a_distribution_has_a_stem_for_each_value),
	        cmocka_unit_test(picture_of_a_fit_has_points_line_and_r2),
	        cmocka_unit_test(roofline_has_its_points_under_its_roof),
	        cmocka_unit_test(profile_without_functions_has_no_picture_and_says_so),
	        cmocka_unit_test(folder_for_pictures_that_cannot_be_made_is_refused),
	        cmocka_unit_test(broken_profile_is_refused_with_its_line),
	};

	return cmocka_run_group_tests(tests, shell_setup, shell_teardown);
}
