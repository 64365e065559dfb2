/* SPDX-License-Identifier: Apache-2.0 */
/* GPUWATCH_COUNTERS=range: what is counted, what is left alone, and that nothing hangs. */
#include "tests/preload/harness.h"

#include <stdio.h>
#include <string.h>

static struct outcome *under(const char *scenario, const char *one)
{
	struct run r = RUN("deep", scenario);
	struct outcome *o;

	r.env[0] = "GPUWATCH_COUNTERS=range";
	r.env[1] = "STANDIN_KERNELS=" CLIENTS "/deep.kernels";
	r.env[2] = "CODE_IMAGE=" WAITS "/sm_90.cubin";
	r.env[3] = "STANDIN_CUPTI_VERSION=130001"; /* of which it is known what it adds */
	r.env[4] = one;
	o = run_both(&r);
	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	return o;
}

static uint64_t counter(const struct outcome *o, enum gw_counter c)
{
	return only_log(o)->counter[c];
}

static bool is_degraded(const struct outcome *o, enum gw_degraded code)
{
	return only_log(o)->degraded >> code & 1;
}

/* What the log says was counted of a kernel at @p blocks blocks; -1 when nothing was. */
static double counted(const struct outcome *o, uint32_t blocks, enum gw_work_field field)
{
	const struct account *log = only_log(o);

	for (unsigned i = 0; i < log->works; i++)
		if (log->work[i].blocks == blocks && log->work[i].counted[field])
			return log->work[i].value[field];
	return -1;
}

static void work_is_counted_in_place(void **state)
{
	struct outcome *o = under("counts", NULL);

	(void)state;
	/* As the stand-in counts: 64 threads and two warps a block. */
	assert_float_equal(counted(o, 10, GW_WORK_dram_read_bytes), 10 * 64 * 4, 0);
	assert_float_equal(counted(o, 20, GW_WORK_dram_read_bytes), 20 * 64 * 4, 0);
	assert_float_equal(counted(o, 10, GW_WORK_dram_write_bytes), 10 * 64 * 2, 0);
	assert_float_equal(counted(o, 20, GW_WORK_inst_executed), 20 * 2 * 100, 0);
	assert_float_equal(counted(o, 20, GW_WORK_thread_inst), 20 * 64 * 99, 0);
	assert_float_equal(counted(o, 20, GW_WORK_pipe_tensor), 20 * 16, 0);
	assert_float_equal(counted(o, 10, GW_WORK_l2_read_bytes), 10 * 2 * 32, 0);
	outcome_free(o);
}

/* 29 metrics, eight a pass: four launches of each configuration, and no more. */
static void each_configuration_is_counted_once(void **state)
{
	struct outcome *o = under("counts", NULL);

	(void)state;
	assert_in_range(counter(o, GW_COUNTER_deep_counted), 8, 4 * 4);
	assert_int_equal(only_log(o)->counted_launches, counter(o, GW_COUNTER_deep_counted));
	outcome_free(o);
}

/* It has the profiler to itself from then on. */
static void another_tool_ends_it(void **state)
{
	struct outcome *o = under("tool", NULL);

	(void)state;
	assert_true(counted(o, 10, GW_WORK_inst_executed) > 0);
	assert_true(counted(o, 20, GW_WORK_inst_executed) > 0);
	for (unsigned f = 0; f < GW_WORK_FIELDS; f++)
		assert_true(counted(o, 40, f) < 0);
	assert_true(is_degraded(o, GW_DEGRADED_COUNTERS));
	assert_true(is_degraded(o, GW_DEGRADED_CUPTI_TAKEN));
	outcome_free(o);
}

static void injected_it_says_that_nothing_is_counted(void **state)
{
	struct run r = RUN("work", "steady");
	struct outcome *o;

	(void)state;
	r.env[0] = "GPUWATCH_COUNTERS=range";
	r.inject = true;
	o = run_both(&r);
	assert_true(is_degraded(o, GW_DEGRADED_COUNTERS));
	assert_false(is_degraded(o, GW_DEGRADED_RANGE)); /* so it can do no harm */
	assert_int_equal(warnings(o->err), 0);
	outcome_free(o);
}

static void it_says_what_it_may_do(void **state)
{
	struct outcome *o = under("counts", NULL);

	(void)state;
	assert_true(is_degraded(o, GW_DEGRADED_RANGE));
	assert_int_equal(warnings(o->err), 1);
	assert_non_null(strstr(o->err, "may hang"));
	outcome_free(o);
}

static void what_may_wait_is_left_alone(void **state)
{
	struct outcome *o = under("refused", NULL);

	(void)state;
	assert_float_equal(counted(o, 30, GW_WORK_inst_executed), -1, 0);
	assert_float_equal(counted(o, 31, GW_WORK_inst_executed), -1, 0);
	assert_int_equal(counter(o, GW_COUNTER_deep_refused), 2);
	outcome_free(o);
}

static void a_busy_gpu_is_not_waited_for(void **state)
{
	struct outcome *o = under("busy", NULL);

	(void)state;
	assert_non_null(strstr(o->out, "launched at once: 1"));
	assert_true(counter(o, GW_COUNTER_deep_busy) > 0);
	assert_float_equal(counted(o, 40, GW_WORK_inst_executed), -1, 0);
	outcome_free(o);
}

static void a_kernel_from_before_counting_is_not_waited_for(void **state)
{
	static const char *const lasts[] = {"EARLY_MS=2500", "EARLY_MS=10000", "EARLY_MS=40000"};
	struct outcome *o = under("early", lasts[0]);

	(void)state;
	/* Longer, where it was over before anything else was launched. */
	for (unsigned i = 1; i < 3 && !counter(o, GW_COUNTER_deep_busy); i++) {
		outcome_free(o);
		o = under("early", lasts[i]);
	}
	assert_non_null(strstr(o->out, "launched at once: 1"));
	assert_true(counter(o, GW_COUNTER_deep_busy) > 0);
	assert_int_equal(counter(o, GW_COUNTER_deep_counted), 0);
	outcome_free(o);
}

static void threads_do_not_hang(void **state)
{
	struct outcome *o = under("threads", NULL);

	(void)state;
	assert_false(is_degraded(o, GW_DEGRADED_COUNTERS));
	outcome_free(o);
}

static void a_context_may_go(void **state)
{
	struct outcome *o = under("reset", NULL);

	(void)state;
	assert_false(is_degraded(o, GW_DEGRADED_COUNTERS));
	outcome_free(o);
}

/* Kernels whose code is not known are not counted. */
static void unknown_code_is_left_alone(void **state)
{
	struct run r = RUN("work", "slows_down");
	struct outcome *o;

	(void)state;
	r.env[0] = "GPUWATCH_COUNTERS=range";
	o = run_both(&r);
	assert_int_equal(counter(o, GW_COUNTER_deep_counted), 0);
	assert_int_equal(counter(o, GW_COUNTER_deep_refused), 1);
	outcome_free(o);
}

/* What another CUPTI's records add to a kernel is not known: what was counted stands. */
static void nothing_is_taken_off_what_an_unknown_cupti_counted(void **state)
{
	struct outcome *o = under("counts", "STANDIN_CUPTI_VERSION=140000");

	(void)state;
	assert_float_equal(counted(o, 20, GW_WORK_inst_executed), 20 * 2 * (100 + 8), 0);
	assert_float_equal(counted(o, 20, GW_WORK_thread_inst), 20 * 64 * (99 + 8), 0);
	outcome_free(o);
}

static void sets_that_tell_nothing_are_given_up(void **state)
{
	struct outcome *o = under("counts", "STANDIN_RANGE_BLANK=1");

	(void)state;
	assert_float_equal(counted(o, 10, GW_WORK_inst_executed), -1, 0);
	assert_float_equal(counted(o, 20, GW_WORK_pipe_tensor), -1, 0);
	assert_true(is_degraded(o, GW_DEGRADED_COUNTERS));
	outcome_free(o);
}

static void a_metric_the_chip_lacks_is_left_out(void **state)
{
	struct outcome *o = under("counts", "STANDIN_NO_METRIC=smsp__inst_executed.sum");

	(void)state;
	assert_float_equal(counted(o, 10, GW_WORK_inst_executed), -1, 0);
	assert_float_equal(counted(o, 10, GW_WORK_inst_issued), 10 * 2 * 101, 0);
	assert_false(is_degraded(o, GW_DEGRADED_COUNTERS));
	outcome_free(o);
}

/* Each call of CUPTI's fails, the first time and every time: said once, and the program is well. */
static void every_call_may_fail(void **state)
{
	static const char *const calls[] = {
	        "cuptiProfilerInitialize",
	        "cuptiDeviceGetChipName",
	        "cuptiProfilerHostInitialize",
	        "cuptiProfilerHostConfigAddMetrics",
	        "cuptiProfilerHostGetConfigImageSize",
	        "cuptiProfilerHostGetConfigImage",
	        "cuptiProfilerHostGetNumOfPasses",
	        "cuptiProfilerHostEvaluateToGpuValues",
	        "cuptiRangeProfilerEnable",
	        "cuptiRangeProfilerGetCounterDataSize",
	        "cuptiRangeProfilerCounterDataImageInitialize",
	        "cuptiRangeProfilerSetConfig",
	        "cuptiRangeProfilerStart",
	        "cuptiRangeProfilerPushRange",
	        "cuptiRangeProfilerPopRange",
	        "cuptiRangeProfilerStop",
	        "cuptiRangeProfilerDecodeData",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		char fail[128];
		struct outcome *o;

		snprintf(fail, sizeof(fail), "STANDIN_FAIL=%s:*:999", calls[i]);
		o = under("counts", fail);
		assert_true(warnings(o->err) <= 1);
		assert_float_equal(counted(o, 10, GW_WORK_inst_executed), -1, 0);
		if (strcmp(calls[i], "cuptiProfilerHostEvaluateToGpuValues"))
			assert_true(is_degraded(o, GW_DEGRADED_COUNTERS));
		outcome_free(o);
	}
}

static void without_being_asked_for_nothing_is_counted(void **state)
{
	struct run r = RUN("deep", "counts");
	struct outcome *o;

	(void)state;
	r.env[0] = "STANDIN_KERNELS=" CLIENTS "/deep.kernels";
	r.env[1] = "CODE_IMAGE=" WAITS "/sm_90.cubin";
	r.env[2] = "GPUWATCH_COUNTERS=off";
	o = run_both(&r);
	assert_int_equal(counter(o, GW_COUNTER_deep_counted), 0);
	assert_false(is_degraded(o, GW_DEGRADED_RANGE));
	outcome_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(work_is_counted_in_place),
	        cmocka_unit_test(each_configuration_is_counted_once),
	        cmocka_unit_test(it_says_what_it_may_do),
	        cmocka_unit_test(another_tool_ends_it),
	        cmocka_unit_test(injected_it_says_that_nothing_is_counted),
	        cmocka_unit_test(what_may_wait_is_left_alone),
	        cmocka_unit_test(a_busy_gpu_is_not_waited_for),
	        cmocka_unit_test(a_kernel_from_before_counting_is_not_waited_for),
	        cmocka_unit_test(threads_do_not_hang),
	        cmocka_unit_test(a_context_may_go),
	        cmocka_unit_test(unknown_code_is_left_alone),
	        cmocka_unit_test(nothing_is_taken_off_what_an_unknown_cupti_counted),
	        cmocka_unit_test(sets_that_tell_nothing_are_given_up),
	        cmocka_unit_test(a_metric_the_chip_lacks_is_left_out),
	        cmocka_unit_test(every_call_may_fail),
	        cmocka_unit_test(without_being_asked_for_nothing_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
