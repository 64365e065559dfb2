/* The whole chain on the CPU stand-in: run, the real library, its log, report. */
#include "tests/cli/shell.h"
#include "tests/test.h"

#define WATCH  "LD_LIBRARY_PATH=" STANDIN " " GPUWATCH " run "
#define CLIENT " -- " STANDIN "/clients/launch_many "
#define REPORT GPUWATCH " report "

TEST(report_counts_what_the_program_launched)
{
	shell_runs(WATCH "--out=a.gwl" CLIENT "3000");
	shell_says("launched 3000 of 3000");
	shell_gives("Instances,Measured,Name\n3000,3000,increment\n",
		    REPORT "--csv a.gwl | sed 1d | cut -d, -f3,9,35");
	shell_runs(REPORT "--verify --verbose a.gwl");
	shell_says("scripted by the CPU stand-in", "3,000 joined");
	shell_lacks("no END record");
}

TEST(log_replays_to_the_bit)
{
	/* Long enough for launches after the first measurements, which wait for a quarter of a
	 * second until the code has been looked for. */
	shell_runs(WATCH "--out=long.gwl" CLIENT "1500000");
	shell_runs(GPUWATCH " replay --check long.gwl");
	shell_says("replayed with the same bits");
	shell_runs(GPUWATCH " score long.gwl");
	shell_says("same shape timed");
}

TEST(log_of_a_mode_without_times_has_launches_only)
{
	shell_runs(WATCH "--out=count.gwl --mode=count" CLIENT "3000");
	shell_runs(REPORT "count.gwl");
	shell_says("mode count", "3,000 kernel runs", "0% measured", "nothing was measured");
}

TEST(log_reads_while_the_program_runs_and_after_it_was_killed)
{
	shell_runs("{ " WATCH "--out=live.gwl --log-max=1M" CLIENT
		   "2000000000 >/dev/null 2>&1 & }; p=$!; "
		   "until " REPORT "live.gwl 2>&1 | grep -q increment || ! kill -0 $p; do sleep "
		   "0.1; done; " REPORT
		   "live.gwl; status=$?; kill -9 $p; wait $p 2>/dev/null; exit $status");
	shell_says("still running", "increment");
	shell_runs(REPORT "--json live.gwl");
	shell_says("\"whole\": false", "\"violations\": 0");
}

TESTS_MAIN(shell_setup, shell_teardown)
