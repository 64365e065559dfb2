/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function of libcupti that sampled counters need fails, once and for ever: the program does
 * what it does without us, and its kernels are timed.
 */
#include "tests/preload/harness.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const char *const functions[] = {
#define CUPTI(symbol, need) #symbol,
#include "preload/cupti/cupti_counters.def"
#undef CUPTI
};

/* Whether sampling got as far as to fail, or to take a window, in so many milliseconds. */
static bool failing_for(const char *ms, const char *function, const char *nth)
{
	struct run r = RUN("counted", ms);
	const struct account *log;
	struct outcome *o;
	char rule[128];
	bool reached;

	snprintf(rule, sizeof(rule), "STANDIN_FAIL=%s:%s:999", function, nth);
	print_message("%s\n", rule);
	r.env[0] = rule;
	r.env[1] = "GPUWATCH_BUDGET=100";
	r.env[2] = "GPUWATCH_STATIC=0";
	r.env[3] = "GPUWATCH_COUNTERS=pm";
	o = run_watched(&r);
	assert_false(o->timed_out);
	assert_true(WIFEXITED(o->status) && WEXITSTATUS(o->status) == 0);
	assert_in_range(warnings(o->err), 0, 1);
	assert_logs_are_the_truth(o);
	log = only_log(o);
	assert_int_equal(log->measured, o->truth[0].total);
	reached = log->counter[GW_COUNTER_pm_failed] + log->counter[GW_COUNTER_pm_windows] > 0;
	outcome_free(o);
	return reached;
}

/* A machine that has much else to do may need more time. */
static void failing(const char *function, const char *nth)
{
	assert_true(failing_for("2000", function, nth) || failing_for("10000", function, nth));
}

static void sweep(const char *nth)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (strncmp(functions[i], "cuptiRange", 10) != 0)
			failing(functions[i], nth);
}

static void each_fails_once(void **state)
{
	(void)state;
	sweep("1");
}

static void each_fails_always(void **state)
{
	(void)state;
	sweep("*");
}

/* What can't get better is said at once. */
static void missing_privileges_are_said(void **state)
{
	struct run r = RUN("counted", "2000");
	struct outcome *o;

	(void)state;
	r.env[0] = "STANDIN_FAIL=cuptiPmSamplingEnable:*:35";
	r.env[1] = "GPUWATCH_STATIC=0";
	r.env[2] = "GPUWATCH_COUNTERS=pm";
	r.env[3] = "GPUWATCH_BUDGET=100";
	o = run_watched(&r);
	assert_int_equal(warnings(o->err), 1);
	assert_non_null(strstr(o->err, "NVreg_RestrictProfilingToAdminUsers"));
	assert_true(only_log(o)->degraded >> GW_DEGRADED_COUNTERS & 1);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_pm_failed], 1);
	outcome_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(each_fails_once),
	        cmocka_unit_test(each_fails_always),
	        cmocka_unit_test(missing_privileges_are_said),
	};

	return cmocka_run_group_tests(tests, NULL, false);
}
