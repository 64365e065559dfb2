/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sampled counters in a real process: what the log says was counted of each configuration is what
 * the stand-in's kernels count, or nothing.
 */
#include "tests/preload/harness.h"

#include "cli/log_reader.h"
#include "predictor/types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { CONFIGS = 64 };

/* What a warp counts of each row of work.def, by the stand-in; NAN where it has no such metric. */
static double per_warp(unsigned field)
{
	static const struct {
		const char *name;
		double value;
	} truth[] = {
#define PM_TRUTH(name, per_warp, added) {name, per_warp},
#include "tests/driver/cupti_pm.def"
#undef PM_TRUTH
	};
	static const struct {
		const char *name;
		unsigned field;
		double factor;
	} metric[] = {
#define METRIC(set, name, field, factor, idle) {name, GW_WORK_##field, factor},
#define CLOCK(set, name)
#include "preload/pm_metric.def"
#undef METRIC
#undef CLOCK
	};

	for (size_t i = 0; i < sizeof(metric) / sizeof(*metric); i++)
		for (size_t k = 0; k < sizeof(truth) / sizeof(*truth); k++)
			if (metric[i].field == field && !strcmp(metric[i].name, truth[k].name))
				return truth[k].value * metric[i].factor;
	return NAN;
}

/* The last that a log says of the work of each configuration. */
static struct {
	unsigned blocks;
	struct gw_quantity q[GW_WORK_FIELDS];
} told[CONFIGS];

static bool take(void *arg, const struct gw_log_record *record)
{
	const void *fixed = record->head;

	(void)arg;
	if (record->head->kind == GW_RECORD_CONFIG) {
		const struct gw_record_config *c = fixed;

		assert_in_range(c->id, 1, CONFIGS - 1);
		told[c->id].blocks = c->grid_x;
	} else if (record->head->kind == GW_RECORD_WORK) {
		const struct gw_record_work *w = fixed;
		const struct gw_record_quantity *part = (const void *)record->tail;

		for (uint32_t i = 0; i < w->count; i++)
			told[w->config].q[part[i].field] = (struct gw_quantity){
			        .value = part[i].value,
			        .source = part[i].source,
			        .confidence = part[i].confidence,
			};
	}
	return true;
}

/* A run of the client `counted`: @p options are set beside a generous budget. */
static struct outcome *counted3(const char *ms, const char *how, const char *one, const char *two,
                                const char *three)
{
	struct run r = RUN("counted", ms, how);
	struct gw_log_status status;
	struct outcome *o;

	r.env[0] = "GPUWATCH_BUDGET=100";
	r.env[1] = "GPUWATCH_STATIC=0";
	r.env[2] = "GPUWATCH_COUNTERS=pm";
	r.env[3] = "STANDIN_CUPTI_VERSION=130001"; /* of which it is known what it adds */
	r.env[4] = one;                            /* the last setting of a variable holds */
	r.env[5] = one ? two : NULL;
	r.env[6] = one && two ? three : NULL;
	o = run_both(&r);
	assert_int_equal(o->status, 0);
	memset(told, 0, sizeof(told));
	assert_true(gw_log_read(o->log[0].path, take, NULL, &status));
	return o;
}

static struct outcome *counted(const char *ms, const char *how, const char *one, const char *two)
{
	return counted3(ms, how, one, two, NULL);
}

/* How many counted values there are, and how many of them are off by more than @p tolerance. */
static unsigned values(double tolerance, unsigned *off)
{
	unsigned n = 0;

	*off = 0;
	for (unsigned c = 1; c < CONFIGS; c++)
		for (unsigned f = 0; f < GW_WORK_FIELDS; f++) {
			const struct gw_quantity *q = &told[c].q[f];
			double true_value = per_warp(f) * told[c].blocks * 4; /* warps a block */

			if (q->source == GW_SOURCE_NONE)
				continue;
			assert_int_equal(q->source, GW_SOURCE_COUNTED);
			n++;
			/* Three times the error it states itself is as good as it claims to be. */
			if (fabs(q->value - true_value) <=
			    (tolerance + 0.3 * (1 / (double)q->confidence - 1)) * true_value + 1e-9)
				continue;
			++*off;
			print_message("%u blocks, %s: %g, not %g (confidence %g)\n",
			              told[c].blocks, gw_work_info(f)->name, q->value, true_value,
			              (double)q->confidence);
		}
	return n;
}

static bool knows(unsigned blocks, unsigned field)
{
	for (unsigned c = 1; c < CONFIGS; c++)
		if (told[c].blocks == blocks && told[c].q[field].source != GW_SOURCE_NONE)
			return true;
	return false;
}

static void counts_are_what_kernels_count(void **state)
{
	struct outcome *o = counted("8000", "", NULL, NULL);
	unsigned off, n = values(0.03, &off);

	(void)state;
	assert_logs_are_the_truth(o);
	assert_int_equal(only_log(o)->degraded >> GW_DEGRADED_COUNTERS & 1, 0);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_windows] > 10);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_pm_foreign], 0);
	assert_true(n > 40);
	assert_int_equal(off, 0);
	assert_true(knows(100, GW_WORK_inst_executed)); /* 300 us */
	assert_true(knows(40, GW_WORK_dram_read_bytes)); /* 80 us */
	assert_true(knows(7, GW_WORK_inst_executed));    /* 7 us, shorter than a sample */
	assert_true(knows(7, GW_WORK_pipe_fma));
	assert_false(knows(100, GW_WORK_tensor_cycles)); /* this chip has no such metric */
	outcome_free(o);
}

static void nothing_is_counted(const char *option, const char *more, bool said)
{
	struct outcome *o = counted("2500", "", option, more);
	unsigned off;

	assert_int_equal(values(0, &off), 0);
	assert_logs_are_the_truth(o);
	assert_int_equal(only_log(o)->degraded >> GW_DEGRADED_COUNTERS & 1, said);
	assert_int_equal(warnings(o->err), said);
	assert_int_equal(only_log(o)->measured, o->truth[0].total);
	outcome_free(o);
}

static void off_counts_nothing(void **state)
{
	(void)state;
	nothing_is_counted("GPUWATCH_COUNTERS=off", NULL, false);
}

static void no_budget_counts_nothing(void **state)
{
	(void)state;
	nothing_is_counted("GPUWATCH_BUDGET=0", NULL, false);
}

static void denied_counters_are_said_once_and_times_go_on(void **state)
{
	(void)state;
	nothing_is_counted("STANDIN_PM_DENY=1", NULL, true);
}

static void work_of_others_is_credited_to_nobody(void **state)
{
	struct outcome *o;
	unsigned off;

	(void)state;
	/* as much again as the kernels count, all the time, by processes that NVML tells of … */
	o = counted3("4000", "", "STANDIN_PM_FOREIGN=100000000000", "STANDIN_NVML_OTHERS=50@0",
	             "STANDIN_NVML_PIDS=self,4");
	assert_int_equal(values(0, &off), 0);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_foreign] > 0);
	outcome_free(o);
	/* … or of which nobody tells: seen between kernels */
	o = counted("4000", "idle", "STANDIN_PM_FOREIGN=100000000000", NULL);
	assert_int_equal(values(0, &off), 0);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_foreign] > 0);
	outcome_free(o);
}

static void overlapping_kernels_are_credited_to_neither(void **state)
{
	struct outcome *o = counted("5000", "overlap", NULL, NULL);
	unsigned off;

	(void)state;
	values(0.03, &off);
	assert_int_equal(off, 0);
	assert_true(knows(100, GW_WORK_inst_executed));
	assert_false(knows(55, GW_WORK_inst_executed));
	assert_false(knows(66, GW_WORK_inst_executed));
	outcome_free(o);
}

static void lost_samples_and_overflows_make_no_count_wrong(void **state)
{
	struct outcome *o = counted("6000", "", "STANDIN_PM_DROP=7", "STANDIN_PM_OVERFLOW=3");
	unsigned off;

	(void)state;
	assert_true(values(0.03, &off) > 10);
	assert_int_equal(off, 0);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_overflows] > 0);
	outcome_free(o);
}

static void clocks_some_microseconds_apart_are_within_the_stated_error(void **state)
{
	struct outcome *o = counted("6000", "", "STANDIN_PM_SKEW=1000", "STANDIN_CLOCK_OFFSET=0");
	unsigned off;

	(void)state;
	assert_true(values(0.15, &off) > 10);
	assert_int_equal(off, 0);
	outcome_free(o);
}

static void a_chip_with_narrow_sets_and_no_timer_is_sampled_all_the_same(void **state)
{
	struct outcome *o = counted("6000", "", "STANDIN_METRICS=3", "STANDIN_PM_NO_TIMER=1");
	unsigned off;

	(void)state;
	assert_true(values(0.03, &off) > 10);
	assert_int_equal(off, 0);
	outcome_free(o);
}

static void programs_that_end_early_are_not_sampled(void **state)
{
	struct outcome *o = counted("600", "", NULL, NULL);

	(void)state;
	assert_int_equal(only_log(o)->counter[GW_COUNTER_pm_windows], 0);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

/* What sampling takes to begin is paid by none that ends before its budget allows for it. */
static void short_programs_pay_nothing(void **state)
{
	struct outcome *o = counted("2500", "", "GPUWATCH_BUDGET=1", NULL);

	(void)state;
	assert_int_equal(only_log(o)->counter[GW_COUNTER_pm_windows], 0);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_pm_cpu_ns], 0);
	assert_int_equal(only_log(o)->degraded >> GW_DEGRADED_COUNTERS & 1, 0);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

/* At whatever moment: while it is configured, sampled, decoded, between windows. */
static void programs_end_at_any_moment_of_a_window(void **state)
{
	static const char *const ends[] = {"1060", "1080", "1110", "1150", "1300"};
	static const char *const hows[] = {"", "exit", "fork"};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		for (size_t k = 0; k < sizeof(hows) / sizeof(*hows); k++) {
			struct outcome *o = counted(ends[i], hows[k], NULL, NULL);

			assert_true(WIFEXITED(o->status));
			assert_logs_are_the_truth(o);
			outcome_free(o);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(counts_are_what_kernels_count),
	        cmocka_unit_test(off_counts_nothing),
	        cmocka_unit_test(no_budget_counts_nothing),
	        cmocka_unit_test(denied_counters_are_said_once_and_times_go_on),
	        cmocka_unit_test(work_of_others_is_credited_to_nobody),
	        cmocka_unit_test(overlapping_kernels_are_credited_to_neither),
	        cmocka_unit_test(lost_samples_and_overflows_make_no_count_wrong),
	        cmocka_unit_test(clocks_some_microseconds_apart_are_within_the_stated_error),
	        cmocka_unit_test(a_chip_with_narrow_sets_and_no_timer_is_sampled_all_the_same),
	        cmocka_unit_test(programs_that_end_early_are_not_sampled),
	        cmocka_unit_test(short_programs_pay_nothing),
	        cmocka_unit_test(programs_end_at_any_moment_of_a_window),
	};

	return cmocka_run_group_tests(tests, NULL, false);
}
