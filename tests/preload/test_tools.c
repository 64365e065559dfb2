/* Other users of CUPTI, injection by the driver, and programs a preload does not reach. */
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct outcome *other_tool(const char *scenario)
{
	struct run r = RUN("cupti_user", scenario);
	struct outcome *o = run_both(&r); /* it prints its own records and any foreign buffer */

	assert_logs_are_the_truth(o);
	assert_true(only_log(o)->degraded & 1u << GW_DEGRADED_CUPTI_TAKEN);
	return o;
}

TEST(other_tool_takes_over)
{
	struct outcome *o = other_tool("in_mid_run");

	outcome_free(o);
}

TEST(other_tool_was_there_first)
{
	struct outcome *o = other_tool("before_cuda");

	outcome_free(o);
}

/* What was measured before is not lost. */
TEST(times_from_before_the_take_over_are_kept)
{
	struct outcome *o = other_tool("after_a_while");

	assert_true(only_log(o)->counter[GW_COUNTER_joined] >= 60);
	outcome_free(o);
}

/* ---- injection ---- */

static void injected(const char *program, const char *scenario)
{
	struct run r = RUN(program, scenario);
	struct outcome *o;

	r.inject = true;
	o = run_both(&r);
	assert_int_equal(o->logs, 1);
	assert_true(only_log(o)->flags & GW_HEADER_INJECTED);
	assert_logs_are_the_truth(o);
	assert_int_equal(only_log(o)->measured, only_log(o)->total);
	assert_int_equal(warnings(o->err), 0);
	outcome_free(o);
}

TEST(injected_counts_are_the_truth)
{
	injected("work", "everything");
}

TEST(injected_sees_every_way)
{
	injected("lookup", "ways");
}

TEST(injected_sees_past_deepbind)
{
	injected("lookup", "deepbind");
}

TEST(injected_where_another_subscriber_is)
{
	struct run r = RUN("work", "everything");
	struct outcome *o;

	r.inject = true;
	r.env[0] = "STANDIN_SUBSCRIBED=1";
	o = run_both(&r);
	assert_int_equal(o->logs, 0);
	assert_int_equal(warnings(o->err), 1);
	outcome_free(o);
}

/* Many launches in a row of the few configurations that were timed first. */
TEST(injected_predictions_are_made_before_the_call)
{
	struct run r = RUN("work", "steady");
	struct outcome *o;

	r.inject = true;
	o = run_both(&r);
	assert_int_equal(only_log(o)->total, 500);
	assert_true(only_log(o)->counter[GW_COUNTER_predicted] > 0);
	assert_replays(o);
	outcome_free(o);
}

TEST(preloaded_and_injected_counts_once)
{
	struct run r = RUN("work", "everything");
	struct outcome *o;

	r.env[0] = "CUDA_INJECTION64_PATH=" GW_LIBRARY;
	o = run_both(&r);
	assert_false(only_log(o)->flags & GW_HEADER_INJECTED);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

/* The path of another file with the same library: the dynamic loader has both. */
static const char *copy_of_the_library(void)
{
	static char name[] = "/tmp/gw_test_copy.XXXXXX.so";
	char command[512];
	int fd = mkstemps(name, 3);

	assert_true(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "cp " GW_LIBRARY " %s", name);
	assert_int_equal(system(command), 0);
	return name;
}

/* It is the first in the program's scope that records. */
TEST(two_copies_count_once)
{
	const char *copy;
	char variable[512];

	NOT_UNDER_TSAN();
	copy = copy_of_the_library();
	for (int way = 0; way < 3; way++) {
		struct run r = RUN("work", "everything");
		struct outcome *o;

		r.preload_before = way == 0 ? copy : NULL;
		r.preload_after = way == 1 ? copy : NULL;
		snprintf(variable, sizeof(variable), "CUDA_INJECTION64_PATH=%s", copy);
		r.env[0] = way == 2 ? variable : NULL;
		o = run_both(&r);
		assert_false(only_log(o)->flags & GW_HEADER_INJECTED);
		assert_logs_are_the_truth(o);
		assert_int_equal(warnings(o->err), way == 2);
		outcome_free(o);
	}
	unlink(copy);
}

TEST(injected_and_off)
{
	struct run r = RUN("work", "everything");
	struct outcome *o;

	r.inject = true;
	r.env[0] = "GPUWATCH_MODE=off";
	o = run_both(&r);
	assert_int_equal(o->logs, 0);
	assert_int_equal(warnings(o->err), 0);
	outcome_free(o);
}

/* ---- programs that cannot be preloaded ---- */

static struct outcome *small(const char *program, const char *shell)
{
	struct run r = RUN(program, "fail");
	struct outcome *o;

	r.shell = shell;
	o = run_both(&r);
	assert_int_equal(o->logs, 0);
	assert_int_equal(warnings(o->err), 0);
	return o;
}

TEST(program_without_cuda)
{
	struct outcome *o = small("small", NULL);

	assert_int_equal(WEXITSTATUS(o->status), 19);
	outcome_free(o);
}

static void there(const char *program)
{
	if (access(built(program), X_OK) != 0) {
		print_message("%s could not be built here\n", program);
		skip();
	}
}

TEST(static_child)
{
	struct outcome *o;

	there("small_static");
	o = small("small_static", "\"$1\" fail; exit $?");
	assert_int_equal(WEXITSTATUS(o->status), 19);
	outcome_free(o);
}

TEST(child_of_32_bits)
{
	struct outcome *o;

	there("freestanding32");
	o = small("freestanding32", "\"$1\"; exit $?");
	assert_int_equal(WEXITSTATUS(o->status), 17);
	outcome_free(o);
}

/* The dynamic linker drops a preload of another folder from a program that changes user. */
TEST(setuid_child)
{
	struct outcome *o;

	if (getuid() != 0) {
		print_message("only root can make a set-user-ID program for another\n");
		skip();
	}
	o = small("small",
		  "cp \"$1\" ./privileged && chown 65534 privileged && chmod 4755 privileged "
		  "&& ./privileged fail; exit $?");
	if (!strstr(o->out, "another")) {
		outcome_free(o);
		print_message("set-user-ID programs do not work here\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(o->status), 19);
	outcome_free(o);
}

TESTS_MAIN()
