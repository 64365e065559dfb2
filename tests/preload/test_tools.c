/* SPDX-License-Identifier: Apache-2.0 */
/* Other users of CUPTI, injection by the driver, and programs a preload does not reach. */
#include "tests/preload/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void other_tool_takes_over(void **state)
{
	struct outcome *o = other_tool("in_mid_run");

	(void)state;
	outcome_free(o);
}

static void other_tool_was_there_first(void **state)
{
	struct outcome *o = other_tool("before_cuda");

	(void)state;
	outcome_free(o);
}

/* What was measured before is not lost. */
static void times_from_before_the_take_over_are_kept(void **state)
{
	struct outcome *o = other_tool("after_a_while");

	(void)state;
	assert_true(only_log(o)->counter[GW_COUNTER_joined] >= 60);
	outcome_free(o);
}

/* ---- injection -------------------------------------------------------------------------- */

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

static void injected_counts_are_the_truth(void **state)
{
	(void)state;
	injected("work", "everything");
}

static void injected_sees_every_way(void **state)
{
	(void)state;
	injected("lookup", "ways");
}

static void injected_sees_past_deepbind(void **state)
{
	(void)state;
	injected("lookup", "deepbind");
}

static void injected_where_another_subscriber_is(void **state)
{
	struct run r = RUN("work", "everything");
	struct outcome *o;

	(void)state;
	r.inject = true;
	r.env[0] = "STANDIN_SUBSCRIBED=1";
	o = run_both(&r);
	assert_int_equal(o->logs, 0);
	assert_int_equal(warnings(o->err), 1);
	outcome_free(o);
}

/* Many launches in a row of the few configurations that were timed first. */
static void injected_predictions_are_made_before_the_call(void **state)
{
	struct run r = RUN("work", "steady");
	struct outcome *o;

	(void)state;
	r.inject = true;
	o = run_both(&r);
	assert_int_equal(only_log(o)->total, 500);
	assert_true(only_log(o)->counter[GW_COUNTER_predicted] > 0);
	assert_replays(o);
	outcome_free(o);
}

static void preloaded_and_injected_counts_once(void **state)
{
	struct run r = RUN("work", "everything");
	struct outcome *o;

	(void)state;
	r.env[0] = "CUDA_INJECTION64_PATH=" GW_LIBRARY;
	o = run_both(&r);
	assert_false(only_log(o)->flags & GW_HEADER_INJECTED);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

static void injected_and_off(void **state)
{
	struct run r = RUN("work", "everything");
	struct outcome *o;

	(void)state;
	r.inject = true;
	r.env[0] = "GPUWATCH_MODE=off";
	o = run_both(&r);
	assert_int_equal(o->logs, 0);
	assert_int_equal(warnings(o->err), 0);
	outcome_free(o);
}

/* ---- programs that cannot be preloaded ---------------------------------------------------- */

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

static void program_without_cuda(void **state)
{
	struct outcome *o = small("small", NULL);

	(void)state;
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

static void static_child(void **state)
{
	struct outcome *o;

	(void)state;
	there("small_static");
	o = small("small_static", "\"$1\" fail; exit $?");
	assert_int_equal(WEXITSTATUS(o->status), 19);
	outcome_free(o);
}

static void child_of_32_bits(void **state)
{
	struct outcome *o;

	(void)state;
	there("freestanding32");
	o = small("freestanding32", "\"$1\"; exit $?");
	assert_int_equal(WEXITSTATUS(o->status), 17);
	outcome_free(o);
}

/* The dynamic linker drops a preload of another folder from a program that changes user. */
static void setuid_child(void **state)
{
	struct outcome *o;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(other_tool_takes_over),
	        cmocka_unit_test(other_tool_was_there_first),
	        cmocka_unit_test(times_from_before_the_take_over_are_kept),
	        cmocka_unit_test(injected_counts_are_the_truth),
	        cmocka_unit_test(injected_sees_every_way),
	        cmocka_unit_test(injected_sees_past_deepbind),
	        cmocka_unit_test(injected_where_another_subscriber_is),
	        cmocka_unit_test(injected_predictions_are_made_before_the_call),
	        cmocka_unit_test(preloaded_and_injected_counts_once),
	        cmocka_unit_test(injected_and_off),
	        cmocka_unit_test(program_without_cuda),
	        cmocka_unit_test(static_child),
	        cmocka_unit_test(child_of_32_bits),
	        cmocka_unit_test(setuid_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
