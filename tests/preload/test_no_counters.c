/*
 * Counters that were asked for and can't be had: one reason in the log, on the terminal where the
 * user can do something about it; what may get better is tried again, and times go on.
 */
#include "cli/log/reader.h"
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <sys/wait.h>
#include <time.h>

static char reason[512]; /* the last of its code */
static unsigned reasons;

static bool take(void *arg, const struct gw_log_record *record)
{
	const struct gw_record_degraded *d = (const void *)record->head;

	(void)arg;
	if (record->head->kind != GW_RECORD_DEGRADED || d->code != GW_DEGRADED_COUNTERS)
		return true;
	snprintf(reason, sizeof(reason), "%s", gw_log_text(record, 0));
	reasons++;
	return true;
}

/* Counters are asked for, and would be sampled nearly all the time. */
static struct outcome *asked(const char *ms, const char *one, const char *two, const char *three)
{
	struct run r = RUN("counted", ms);
	struct gw_log_status status;
	struct outcome *o;

	r.env[0] = "GPUWATCH_BUDGET=100";
	r.env[1] = "GPUWATCH_STATIC=0";
	r.env[2] = "GPUWATCH_COUNTERS=pm";
	r.env[3] = one; /* the last setting of a variable holds */
	r.env[4] = two;
	r.env[5] = two ? three : NULL;
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	reasons = 0;
	reason[0] = 0;
	assert_true(gw_log_read(only_log(o)->path, take, NULL, &status));
	assert_logs_are_the_truth(o);
	return o;
}

/* One reason, which holds @p text; how many times sampling failed. @p more: options. */
static uint64_t said(const char *text, bool on_terminal, const char *one, const char *two)
{
	static const char *const ms[] = {"2500", "10000"};
	struct outcome *o = NULL;
	uint64_t failed;

	reasons = 0;
	/* A machine that has much else to do may need more time. */
	for (unsigned i = 0; i < 2 && !reasons; i++) {
		if (o)
			outcome_free(o);
		o = asked(ms[i], one, two, NULL);
	}
	print_message("%s\n", reason);
	assert_int_equal(reasons, 1);
	assert_non_null(strstr(reason, text));
	assert_true(on_terminal == (strstr(o->err, text) != NULL));
	assert_in_range(warnings(o->err), on_terminal, 1);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_pm_windows], 0);
	assert_true(only_log(o)->measured > 0);
	failed = only_log(o)->counter[GW_COUNTER_pm_failed];
	outcome_free(o);
	return failed;
}

TEST(under_mps_there_are_none)
{
	assert_int_equal(said("shared by MPS", true, "STANDIN_MPS=1", NULL), 0);
}

TEST(privileges_are_not_asked_for_again)
{
	assert_int_equal(
		said("NVreg_RestrictProfilingToAdminUsers", true, "STANDIN_PM_DENY=1", NULL), 1);
}

/* A partition of a GPU, and other GPUs that never have counters. */
TEST(what_has_none_is_not_asked_again)
{
	assert_int_equal(said("without MIG", true, "STANDIN_FAIL=cuptiPmSamplingEnable:*:43", NULL),
			 1);
	assert_int_equal(
		said("this virtual GPU", true, "STANDIN_FAIL=cuptiPmSamplingEnable:*:33", NULL), 1);
	assert_int_equal(said("this GPU or driver has none", true,
			      "STANDIN_FAIL=cuptiPmSamplingSetConfig:*:27", NULL),
			 1);
}

/* Said at the first try; the terminal has nothing to do with it. */
TEST(counters_that_others_hold_are_said_once)
{
	assert_true(said("CUPTI_ERROR_HARDWARE_BUSY", false, "STANDIN_PM_BUSY=1", NULL) >= 1);
}

/* Another profiler lets go after two tries. */
TEST(counters_that_were_held_are_had_later)
{
	static const char *const ms[] = {"4000", "12000"};
	struct outcome *o = NULL;

	for (unsigned i = 0; i < 2 && (!o || !only_log(o)->counter[GW_COUNTER_pm_windows]); i++) {
		if (o)
			outcome_free(o);
		o = asked(ms[i],
			  "STANDIN_FAIL=cuptiPmSamplingEnable:1:26,"
			  "cuptiPmSamplingEnable:2:26",
			  NULL, NULL);
	}
	assert_int_equal(only_log(o)->counter[GW_COUNTER_pm_failed], 2);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_windows] > 0);
	assert_int_equal(reasons, 1);
	assert_non_null(strstr(reason, "CUPTI_ERROR_HARDWARE_BUSY"));
	assert_int_equal(warnings(o->err), 0);
	outcome_free(o);
}

/* The terminal hears of it only if the program lives until the third try. */
TEST(what_failed_before_the_end_is_said)
{
	struct outcome *o = NULL;

	for (unsigned i = 0; i < 8 && (!o || !only_log(o)->counter[GW_COUNTER_pm_failed]); i++) {
		if (o)
			outcome_free(o);
		o = asked("1700", "STANDIN_FAIL=cuptiPmSamplingStart:*:999", NULL, NULL);
	}
	assert_true(only_log(o)->counter[GW_COUNTER_pm_failed] > 0);
	assert_int_equal(reasons, 1);
	assert_non_null(strstr(reason, "cuptiPmSamplingStart"));
	assert_int_equal(warnings(o->err), only_log(o)->counter[GW_COUNTER_pm_failed] > 2);
	outcome_free(o);
}

TEST(without_libcupti_there_are_none)
{
	assert_int_equal(said("no activity records", false, "GPUWATCH_CUPTI=none", NULL), 0);
	/* … and beside a profiler that was there first */
	assert_int_equal(said("no activity records", false, "STANDIN_SUBSCRIBED=1", NULL), 0);
}

TEST(modes_and_budgets_without_counters_say_so)
{
	assert_int_equal(
		said("GPUWATCH_CUPTI=none", false, "GPUWATCH_MODE=watch", "GPUWATCH_CUPTI=none"),
		0);
	assert_int_equal(said("GPUWATCH_BUDGET is 0", false, "GPUWATCH_BUDGET=0", NULL), 0);
}

/* Whatever the budget: setting them up takes longer than the program runs. */
TEST(a_program_that_ended_early_has_its_reason)
{
	struct outcome *o = asked("600", "GPUWATCH_BUDGET=1", "STANDIN_PM_CONFIGURE_MS=2000", NULL);

	assert_int_equal(reasons, 1);
	assert_non_null(strstr(reason, "before counters were set up"));
	assert_int_equal(warnings(o->err), 0);
	outcome_free(o);
}

/*
 * Every function of libcupti that sampled counters need fails, once and for ever: the program does
 * what it does without us, and its kernels are timed.
 */
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
	for (size_t i = 0; i < COUNT(functions); i++)
		if (strncmp(functions[i], "cuptiRange", 10) != 0)
			failing(functions[i], nth);
}

TEST(each_fails_once)
{
	sweep("1");
}

TEST(each_fails_always)
{
	sweep("*");
}

/* What can't get better is said at once. */
TEST(missing_privileges_are_said)
{
	struct run r = RUN("counted", "2000");
	struct outcome *o;

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

/* All who wait for it share five seconds. */
TEST(a_sampler_that_hangs_is_waited_for_once)
{
	struct run r = RUN("counted", "2000");
	struct timespec begin, end;

	r.env[0] = "STANDIN_SLOW=cuptiPmSamplingDecodeData:60000";
	r.env[1] = "GPUWATCH_STATIC=0";
	clock_gettime(CLOCK_MONOTONIC, &begin);
	outcome_free(run_watched(&r));
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_in_range(end.tv_sec - begin.tv_sec, 0, 20);
}

TESTS_MAIN()
