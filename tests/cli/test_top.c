/* gpuwatch top --once on made-up segments; top_screen.sh tests the screen. */
#include "tests/cli/shell.h"
#include "tests/test.h"

#include <unistd.h>

#define TOP  "$PREFIX/bin/gpuwatch top "
#define ONCE TOP "--once --dir=seg --interval=0.5 "
/* What follows happens between the first and the second look at a segment. */
#define MAPPED      "until grep -qF .gwlive /proc/$t/maps || ! kill -0 $t; do sleep 0.01; done; "
#define ONCE_MAPPED TOP "--once --dir=seg --interval=2 & t=$!; " MAPPED

/*
 * Run @p command in bash while live_segment keeps a segment in seg; there `say` has it do @p what,
 * and waits until it has.
 */
static int beside(const char *what, const char *command)
{
	setenv("WHAT", what, 1);
	setenv("COMMAND", command, 1);
	return shell("bash -c 'rm -rf seg; mkdir seg; "
		     "coproc X { exec $TOOLS/live_segment seg $WHAT; }; p=$X_PID; "
		     "say() { echo >&${X[1]}; read -ru ${X[0]} _; }; read -ru ${X[0]} _; "
		     "eval \"$COMMAND\"; status=$?; kill $p; wait $p 2>/dev/null; exit $status'");
}

TEST(once_shows_processes_and_kernels)
{
	assert_int_equal(beside("run", ONCE), 0);
	shell_says("1 process, ", "GPU time by bound: memory 76.9%  compute 23.1%",
		   "audit      - live_segment", " 35.0%   1980 ", " 76.9% ",
		   " 1.00 ms  1.00  0.90-1.10  memory gemm<float>", " 23.1% ");
	/* Outside the interval; and a name that would drive the terminal. */
	shell_says(" 1.50 ms  1.50! 0.90-1.10 compute evil\\x1b[2J\\x0aname\n");
	assert_null(strchr(shell_output, '\033'));
}

TEST(once_sorts_filters_and_cuts)
{
	const char *gemm, *evil;

	assert_int_equal(beside("run", ONCE "--sort=ratio"), 0);
	gemm = strstr(shell_output, "gemm");
	evil = strstr(shell_output, "evil");
	assert_true(gemm && evil && evil < gemm);
	assert_int_equal(beside("run", ONCE "--sort=ratio --reverse"), 0);
	gemm = strstr(shell_output, "gemm");
	evil = strstr(shell_output, "evil");
	assert_true(gemm && evil && evil > gemm);
	assert_int_equal(beside("run", ONCE "--filter=LIB::GEMM"), 0);
	shell_says("gemm<float>", " 76.9% ");
	shell_lacks("evil");
	assert_int_equal(beside("run", ONCE "--filter=nothing"), 0);
	shell_says("no kernel matches the filter");
	assert_int_equal(beside("run", ONCE "--top=1"), 0);
	shell_says("and 1 more");
	assert_int_equal(beside("run", ONCE "--pid=$p"), 0);
	shell_says("live_segment");
	assert_int_equal(beside("run", ONCE "--pid=1"), 0);
	shell_says("no process runs under gpuwatch here");
}

TEST(json_has_both_the_interval_and_all)
{
	assert_int_equal(beside("run", ONCE "--json >a.json"), 0);
	shell_runs("python3 -c \"\n"
		   "import json\n"
		   "a = json.load(open('a.json'))\n"
		   "assert a['schema'] == 'gpuwatch-top-1'\n"
		   "assert a['interval_s'] > 0.4, a['interval_s']\n"
		   "p, = a['processes']\n"
		   "assert p['state'] == 'running' and p['mode'] == 'audit'\n"
		   "assert abs(p['devices'][0]['idle'] - 0.35) < 1e-6\n"
		   "g, e = a['kernels']\n"
		   "assert g['demangled'] == 'void lib::gemm<float>(float const*, int)'\n"
		   "assert g['configurations'] == 2 and g['bound'] == 'memory'\n"
		   "assert g['basis'] == 'same shape timed'\n"
		   "i, t = g['interval'], g['total']\n"
		   "assert 0 < i['runs'] == i['measured'] < t['runs'] == t['measured']\n"
		   "assert i['mean_ns'] == 1e6 and not i['estimated']\n"
		   "assert g['time_ns']['count'] == t['runs']\n"
		   "assert (g['low_ns'], g['high_ns']) == (900000, 1100000)\n"
		   "assert abs(e['interval']['measured_over_predicted'] - 1.5) < 1e-9\n"
		   "assert e['mangled'] == 'evil?[2J?name'\n"
		   "\"");
}

TEST(in_mode_watch_times_are_estimated)
{
	assert_int_equal(beside("watch", ONCE "--json"), 0);
	shell_says("\"estimated\": true", "\"mode\": \"watch\"", "\"idle\": null");
	assert_int_equal(beside("watch", ONCE), 0);
	shell_says("~76.9% ");
}

TEST(a_file_that_is_cut_short_ends_its_line_alone)
{
	assert_int_equal(beside("truncate", ONCE_MAPPED "say; wait $t"), 0);
	shell_says("live_segment (ended)");
}

/* Pages that nobody has touched can't be had then. */
TEST(a_full_file_system_ends_no_process)
{
	if (shell("unshare -rm true"))
		skip();
	setenv("COMMAND",
	       "mount -t tmpfs -o size=9m none seg; exec {x}< <(exec $TOOLS/live_segment seg run); "
	       "p=$!; "
	       "read -ru $x _; head -c 9M /dev/zero >seg/full; " ONCE "; kill $p",
	       1);
	shell_runs("rm -rf seg; mkdir seg; unshare -rm bash -c \"$COMMAND\"");
	shell_says("1 process,");
}

TEST(a_segment_that_is_replaced_or_removed_has_ended)
{
	assert_int_equal(beside("remove", ONCE_MAPPED "say; wait $t"), 0);
	shell_says("live_segment (ended)", "0 processes");
	assert_int_equal(beside("replace", ONCE_MAPPED "say; wait $t"), 0);
	shell_says("live_segment (ended)", "audit      - live_segment\n", "1 process");
	/* It ends before: what is left of it is not live. */
	assert_int_equal(beside("run", "kill -9 $p; wait $p 2>/dev/null; ls seg; " ONCE), 0);
	shell_says(".gwlive\n", "no process runs under gpuwatch here");
}

TEST(what_no_writer_writes_does_no_harm)
{
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(beside("wild", ONCE), 0);
		assert_int_equal(beside("wild", ONCE "--json >a.json"), 0);
		shell_runs("python3 -m json.tool a.json >/dev/null");
	}
}

TEST(what_is_no_segment_is_said)
{
	assert_int_equal(beside("run",
				"head -c 100000 /dev/urandom >seg/$$-1-1.gwlive; "
				"touch seg/1-0-1.gwlive seg/other; " ONCE
				"; rm -rf seg; mkdir -p seg; mkfifo seg/$$-1-1.gwlive; " ONCE),
			 0);
	shell_says("gemm<float>", "no process runs under gpuwatch here");
}

TEST(a_link_is_no_segment)
{
	assert_int_equal(beside("run", "f=$(ls seg); mv seg/$f real; ln -s ../real seg/$f; " ONCE),
			 0);
	shell_says("no process runs under gpuwatch here");
}

#define AGENT "$PREFIX/bin/gpuwatch agent --once --dir=seg"

TEST(segments_that_find_no_room_are_counted)
{
	assert_int_equal(beside("run",
				"(cd seg; seq 5000 | sed s/$/-1-1.gwlive/ | xargs touch); " AGENT
				" | grep -q 'unreadable_segments{.*} 90[45]'"),
			 0);
}

/* Who may make files in a folder of segments may give them any names. */
TEST(another_user_hides_no_process_and_takes_half_of_the_room)
{
	if (getuid())
		skip();
	assert_int_equal(beside("run", "f=$(ls seg); touch seg/${f%-*}-999999999999999999.gwlive; "
				       "(cd seg; seq 5000 | sed s/$/-1-1.gwlive/ | xargs touch; "
				       "ls | grep -vxF $f | xargs chown 65534); " AGENT " >a; "
				       "grep -q 'unreadable_segments{.*} 29[5-9]' a && "
				       "grep -q 'processes_begun_total{.*} 1' a"),
			 0);
}

TEST(few_descriptors_are_enough_for_many_processes)
{
	assert_int_equal(
		beside("run",
		       "for i in $(seq 40); do $TOOLS/live_segment seg run >/dev/null & done; "
		       "until [ $(ls seg | wc -l) = 41 ]; do sleep 0.01; done; sleep 0.3; "
		       "(ulimit -n 24; " AGENT ") | grep -q 'processes_begun_total{.*} 41'; "
		       "s=$?; kill $(jobs -p); (exit $s)"),
		0);
}

TEST(bad_options_are_errors)
{
	shell_ends(2, TOP "--json");
	shell_says("--json needs --once");
	shell_ends(2, TOP "--once '--filter=('");
	shell_says("top: --filter=(: ");
	shell_ends(2, TOP "--once 4711");
	shell_says("--pid=PID");
	shell_ends(2, TOP "--once --sort=nonsense");
	shell_ends(2, TOP "--once --interval=0");
	/* No terminal here. */
	shell_ends(2, TOP "</dev/null");
	shell_says("--once prints a snapshot");
}

TESTS_MAIN(shell_setup, shell_teardown)
