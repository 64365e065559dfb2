/* gpuwatch calibrate --from: a profile's tables and pictures. */
#include "tests/cli/shell.h"
#include "tests/test.h"

#define SHOW GPUWATCH " calibrate --from=" PROFILE " "

TEST(tables_are_by_group_with_what_is_unknown)
{
	shell_prints("packed/calibrated.txt", "COLUMNS=140 LC_ALL=C.UTF-8 " SHOW);
}

TEST(narrow_tables_keep_values_and_units)
{
	shell_runs("COLUMNS=60 LC_ALL=C.UTF-8 " SHOW);
	shell_says("b_mem_read", "3.9", "TB/s");
	shell_lacks("large arrays");
}

TEST(json_is_the_profile)
{
	shell_runs(SHOW "--json > a.json; " GPUWATCH " calibrate --from=./a.json --json "
			"> b.json; cmp a.json b.json && cat a.json");
	shell_says(
		"\"lat_l1\": {\"why\": \"its spread of 9 cycle about 33 in 7 samples is more than "
		"2\", \"group\": \"clock\"}",
		"[100, 600, 5], [1000, 640], [2000, 700, 2]], \"fit\": {\"slope\": 0.05, "
		"\"intercept\": 595, \"r2\": 0.99, \"low\": 100, \"high\": 2000}");
}

TEST(pictures_are_of_what_is_known)
{
	shell_gives("clock.svg\nlatency-threads.svg\nlaunch.svg\nroofline.svg\n",
		    "rm -rf p; " SHOW "--plot=p >/dev/null; ls p");
	shell_runs("for f in p/*; do xmllint --noout $f || exit 1; done");
}

TEST(picture_of_a_distribution_has_a_stem_for_each_value)
{
	shell_prints("packed/clock.svg", "rm -rf p; " SHOW "--plot=p >/dev/null; cat p/clock.svg");
}

TEST(picture_of_a_fit_has_points_line_and_r2)
{
	shell_prints("packed/latency-threads.svg",
		     "rm -rf p; " SHOW "--plot=p >/dev/null; cat p/latency-threads.svg");
}

TEST(roofline_has_its_points_under_its_roof)
{
	shell_prints("packed/roofline.svg",
		     "rm -rf p; " SHOW "--plot=p >/dev/null; cat p/roofline.svg");
}

TEST(profile_without_functions_has_no_picture_and_says_so)
{
	shell_gives("gpuwatch: warning: the profile has no function to draw\nG\n",
		    "rm -rf p; echo '{\"gpuwatch_profile\": 1, \"name\": \"G\"}' > "
		    "g.json; " GPUWATCH " calibrate --from=./g.json --plot=p && ls p");
}

TEST(folder_for_pictures_that_cannot_be_made_is_refused)
{
	shell_ends(2, SHOW "--plot=/proc/p");
	assert_string_equal(shell_output,
			    "gpuwatch: /proc/p: the folder cannot be made: No such file "
			    "or directory; name one where you may write\n");
	shell_ends(2, "touch file; " SHOW "--plot=file");
	assert_string_equal(shell_output,
			    "gpuwatch: file: this is a file and no folder; name another\n");
}

TEST(broken_profile_is_refused_with_its_line)
{
	shell_ends(2, "sed 's/\"low\": 100/\"low\": \"x\"/' " PROFILE " > bad.json; " GPUWATCH
		      " calibrate --from=./bad.json");
	shell_says("./bad.json:18: must be a number");
}

TESTS_MAIN(shell_setup, shell_teardown)
