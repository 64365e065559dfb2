/* gpuwatch ctl on a made-up segment, whose process answers nothing: what is listed and refused. */
#include "tests/cli/shell.h"
#include "tests/test.h"

#include <unistd.h>

#define CTL "$PREFIX/bin/gpuwatch ctl "

/* Run @p command in bash while live_segment, process $p, keeps a segment in seg, as @p what. */
static int beside_one(const char *what, const char *command)
{
	setenv("COMMAND", command, 1);
	setenv("WHAT", what, 1);
	return shell("bash -c 'rm -rf seg; mkdir -m 755 seg; "
		     "coproc X { exec $TOOLS/live_segment seg $WHAT; }; p=$X_PID; "
		     "read -ru ${X[0]} _; "
		     "eval \"$COMMAND\"; status=$?; kill $p; wait $p 2>/dev/null; exit $status'");
}

static int beside(const char *command)
{
	return beside_one("run", command);
}

static void usage(const char *words, const char *error)
{
	shell_ends(2, CTL "%s", words);
	shell_says(error);
}

TEST(the_list_has_processes_and_their_modes)
{
	assert_int_equal(beside(CTL "--list --dir=seg >list; sed -E \"s/ +/ /g; s/^ //; "
				    "s/^$p [0-9]+ /PID UID /; s, [^ ]*/live_segment, "
				    "live_segment,\" list"),
			 0);
	shell_is_golden("packed/ctl_list.txt");
}

TEST(an_empty_list_says_why)
{
	shell_runs("mkdir -p none; " CTL "--list --dir=none");
	shell_says("no process under gpuwatch is found");
}

TEST(all_of_none_is_a_finding)
{
	shell_ends(1, "mkdir -p none; " CTL "--all mode=off --dir=none");
	shell_says("no process under gpuwatch is found");
}

TEST(words_that_are_no_request_are_refused)
{
	usage("1 mode=fast", "mode=fast is none of audit, watch, count, off and idle");
	usage("1 mode=", "mode= is none of");
	usage("1 budget=101", "budget=101 is no whole number from 0 to 100");
	usage("1 budget=", "budget= is no whole number");
	usage("1 mode=audit for=32d", "for=32d is no time of 1s to 31d");
	usage("1 mode=audit for=1ms", "for=1ms is no time of 1s to 31d");
	usage("audit", "\"audit\" is neither a process id nor mode=");
	usage("0 mode=off", "\"0\" is neither a process id");
	usage("4194305 mode=off", "\"4194305\" is neither a process id");
}

TEST(words_that_contradict_are_refused)
{
	usage("", "no process is given");
	usage("mode=audit", "no process is given");
	usage("1", "what? Give mode=audit");
	usage("1 for=30s", "what? Give mode=audit");
	usage("1 --all mode=off", "--all takes no process id");
	usage("--list mode=off", "--list takes nothing else");
	usage("--list 1", "--list takes nothing else");
}

TEST(a_process_that_is_not_there_is_named)
{
	assert_int_equal(beside(CTL "1 mode=off --dir=seg"), 2);
	shell_says("process 1 has no live segment that can be read");
}

/* It is stopped, or at its end: the request stands in the segment. */
TEST(a_process_that_does_not_answer_is_named)
{
	assert_int_equal(beside(CTL "$p mode=off --dir=seg"), 1);
	shell_says("no answer within 5 s");
}

/* Its segment may be read by all, and written by its owner. */
TEST(a_process_of_another_user_is_refused)
{
	if (getuid() || shell("cp $PREFIX/bin/gpuwatch . && chmod 755 . gpuwatch && "
			      "setpriv --reuid=65534 --clear-groups ./gpuwatch --version"))
		skip();
	assert_int_equal(beside("chmod 644 seg/*; setpriv --reuid=65534 --clear-groups ./gpuwatch "
				"ctl $p mode=off --dir=seg"),
			 1);
	shell_says("it belongs to user 0: only that user and root can switch it");
}

/* Its number is another's here, so that --all alone asks it. */
TEST(a_process_in_a_container_is_listed_and_asked_with_all)
{
	assert_int_equal(beside_one("elsewhere", CTL "--list --dir=seg"), 0);
	shell_says("live_segment (in a container)");
	assert_int_equal(beside_one("elsewhere", CTL "--all mode=off --dir=seg"), 1);
	shell_says("no answer within 1 s");
	assert_int_equal(beside_one("elsewhere", CTL "$p mode=off --dir=seg"), 2);
}

/* Who may write into a folder of segments may name any process: it is that user's word alone. */
TEST(a_segment_of_another_user_than_its_process_is_none)
{
	if (getuid())
		skip();
	assert_int_equal(
		beside("chown 65534 seg/*; " CTL "--list --dir=seg; " CTL "$p mode=off --dir=seg"),
		2);
	shell_says("no process under gpuwatch is found", "has no live segment that can be read");
}

TESTS_MAIN(shell_setup, shell_teardown)
