/* Sampled counters beside another tool of the process, and where NVML reports nothing. */
#include "tests/preload/counts.h"
#include "tests/test.h"

/* As long as it takes on a machine that has much else to do. */
static struct outcome *until(unsigned blocks, const char *how, const char *option)
{
	static const char *const ms[] = {"5000", "12000"};

	for (unsigned i = 0;; i++) {
		struct outcome *o = counted(ms[i], how, option, NULL);

		if (i == 1 || knows_any(blocks))
			return o;
		outcome_free(o);
	}
}

/* The tool gets the sampler while it is there; what ran after it is counted as well. */
static void counted_after(const char *how, const char *option)
{
	struct outcome *o = until(101, how, option);
	unsigned off;

	assert_non_null(strstr(o->out, "sampler 0 0\n"));
	assert_true(knows_any(101)); /* 300 us, since the tool has gone */
	assert_true(values(0.03, &off) > 10);
	assert_int_equal(off, 0);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_yields], 1);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_returns], 1);
	assert_true(only_log(o)->degraded >> GW_DEGRADED_CUPTI_TAKEN & 1);
	assert_int_equal(only_log(o)->degraded >> GW_DEGRADED_COUNTERS & 1, 0);
	assert_logs_are_the_truth(o);
	assert_replays(o);
	outcome_free(o);
}

TEST(counters_come_back_after_another_tool)
{
	counted_after("tool", NULL);
}

/* In mode watch counters are sampled without libcupti being attached: it is left all the same. */
TEST(windows_of_event_pairs_leave_the_sampler_to_another_tool)
{
	counted_after("tool", "GPUWATCH_MODE=watch");
}

/*
 * Another tool is there for four seconds, from before the first launch. By then the budget is
 * earned, four seconds after the first launch; counted from our coming, they would end after the
 * program.
 */
TEST(budget_is_earned_while_another_tool_is_there)
{
	struct outcome *o = counted("8000", "first", "GPUWATCH_BUDGET=25", NULL);

	/* Of the last four seconds, two at most pass before we have come. */
	assert_true(only_log(o)->counter[GW_COUNTER_joined] > only_log(o)->total / 5);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_windows] > 0);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

/* Whether or not samples follow it, as activity records do. */
TEST(the_clock_of_another_tool_spoils_no_counts)
{
	counted_after("clock", NULL);
	counted_after("clock", "STANDIN_PM_OWN_CLOCK=1");
}

/* The cores of the stand-in have 1.5 GHz by its counters, and 1 GHz by its NVML. */
TEST(counters_tell_the_clock_where_nvml_does_not)
{
	struct outcome *o = until(100, "", "STANDIN_NVML_FAIL=all");

	assert_true(only_log(o)->clocks > 0);
	assert_in_range(only_log(o)->clock.sm_khz, 1499000, 1501000);
	assert_int_equal(only_log(o)->clock.mem_khz, 0);
	assert_int_equal(only_log(o)->clock.others, UINT32_MAX);
	assert_int_equal(only_log(o)->clock.power_mw, UINT32_MAX);
	assert_true(only_log(o)->degraded >> GW_DEGRADED_CLOCK & 1);
	assert_replays(o);
	outcome_free(o);
}

TEST(where_nvml_tells_the_clock_counters_do_not)
{
	struct outcome *o = until(100, "", NULL);

	assert_int_equal(only_log(o)->clock.sm_khz, 1000000);
	assert_int_equal(only_log(o)->clock.power_mw, 100000);
	outcome_free(o);
}

TESTS_MAIN()
