/* SPDX-License-Identifier: Apache-2.0 */
/* The whole chain on the CPU stand-in: run, the real library, its log, report. */
#include "tests/cli/shell.h"
#include "tests/test.h"

#define WATCH  "LD_LIBRARY_PATH=" STANDIN " " GPUWATCH " run "
#define CLIENT " -- " STANDIN "/clients/launch_many "
#define REPORT GPUWATCH " report "

TEST(report_counts_what_the_program_launched)
{
	assert_int_equal(shell(WATCH "--out=a.gwl" CLIENT "3000"), 0);
	shell_says("launched 3000 of 3000");
	assert_int_equal(shell(REPORT "--csv a.gwl | sed 1d | cut -d, -f3,9,35"), 0);
	assert_string_equal(shell_output, "Instances,Measured,Name\n3000,3000,increment\n");
	assert_int_equal(shell(REPORT "--verify --verbose a.gwl"), 0);
	shell_says("scripted by the CPU stand-in");
	shell_says("3,000 joined");
	assert_null(strstr(shell_output, "no END record"));
}

TEST(log_replays_to_the_bit)
{
	/* Long enough for launches after the first measurements, which wait for a quarter of a
	 * second until the code has been looked for. */
	assert_int_equal(shell(WATCH "--out=long.gwl" CLIENT "1500000"), 0);
	assert_int_equal(shell(GPUWATCH " replay --check long.gwl"), 0);
	shell_says("replayed with the same bits");
	assert_int_equal(shell(GPUWATCH " score long.gwl"), 0);
	shell_says("same shape timed");
}

TEST(log_of_a_mode_without_times_has_launches_only)
{
	assert_int_equal(shell(WATCH "--out=count.gwl --mode=count" CLIENT "3000"), 0);
	assert_int_equal(shell(REPORT "count.gwl"), 0);
	shell_says("mode count");
	shell_says("3,000 kernel runs");
	shell_says("0% measured");
	shell_says("nothing was measured");
}

TEST(log_reads_while_the_program_runs_and_after_it_was_killed)
{
	assert_int_equal(
		shell("{ " WATCH "--out=live.gwl --log-max=1M" CLIENT
		      "2000000000 >/dev/null 2>&1 & }; p=$!; "
		      "until " REPORT "live.gwl 2>&1 | grep -q increment || ! kill -0 $p; do sleep "
		      "0.1; done; " REPORT
		      "live.gwl; status=$?; kill -9 $p; wait $p 2>/dev/null; exit $status"),
		0);
	shell_says("still running");
	shell_says("increment");
	assert_int_equal(shell(REPORT "--json live.gwl"), 0);
	shell_says("\"whole\": false");
	shell_says("\"violations\": 0");
}

int main(void)
{
	return tests_run(shell_setup, shell_teardown);
}
