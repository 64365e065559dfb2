/*
 * Sampled counters in a real process: what the log says was counted of each configuration is what
 * the stand-in's kernels count, or nothing.
 */
#include "cli/log/reader.h"
#include "predictor/counters/attribute.h"
#include "tests/preload/counts.h"
#include "tests/test.h"

#include <inttypes.h>
#include <sys/wait.h>

TEST(counts_are_what_kernels_count)
{
	struct outcome *o = counted("8000", "", NULL, NULL);
	unsigned off, n = values(0.03, &off);

	assert_logs_are_the_truth(o);
	assert_int_equal(only_log(o)->degraded >> GW_DEGRADED_COUNTERS & 1, 0);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_windows] > 10);
	assert_true(only_log(o)->counter[GW_COUNTER_memory_counting] > gw_attribution_bytes());
	assert_int_equal(only_log(o)->counter[GW_COUNTER_pm_other_profiler], 0);
	assert_true(n > 40);
	assert_int_equal(off, 0);
	assert_true(knows(100, GW_WORK_inst_executed));  /* 300 us */
	assert_true(knows(40, GW_WORK_dram_read_bytes)); /* 80 us */
	assert_true(knows(7, GW_WORK_inst_executed));    /* 7 us, shorter than a sample */
	assert_true(knows(7, GW_WORK_pipe_fma));
	assert_false(knows(100, GW_WORK_tensor_cycles)); /* this chip has no such metric */
	outcome_free(o);
}

/* Mode watch has no records: what ran is known by a pair of events around every launch. */
static struct outcome *watched(const char *how)
{
	struct outcome *o = counted("8000", how, "GPUWATCH_MODE=watch", NULL);

	assert_logs_are_the_truth(o);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_joined], 0);
	assert_int_equal(only_log(o)->degraded >> GW_DEGRADED_COUNTERS & 1, 0);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_windows] > 10);
	return o;
}

static void pairs_tell(const char *how)
{
	struct outcome *o = watched(how);
	unsigned off;

	assert_true(values(0.03, &off) > 10);
	assert_int_equal(off, 0);
	assert_true(knows(100, GW_WORK_inst_executed)); /* 300 us */
	assert_true(knows_any(40));                     /* 80 us */
	outcome_free(o);
}

TEST(event_pairs_tell_which_kernels_counted)
{
	pairs_tell("");
}

TEST(copies_between_kernels_leave_their_counts)
{
	pairs_tell("copied");
}

/* No pair shows when it runs. */
TEST(copies_in_another_stream_set_windows_aside)
{
	struct outcome *o = watched("beside");
	unsigned off;

	values(0.03, &off);
	assert_int_equal(off, 0);
	assert_false(knows_any(100)); /* before each copy */
	assert_true(only_log(o)->counter[GW_COUNTER_pm_incomplete] > 10);
	outcome_free(o);
}

TEST(kernels_of_two_streams_set_their_window_aside)
{
	struct outcome *o = watched("overlap");
	unsigned off;

	values(0.03, &off);
	assert_int_equal(off, 0);
	assert_false(knows_any(55));
	assert_false(knows_any(66));
	assert_true(only_log(o)->counter[GW_COUNTER_pm_incomplete] > 10);
	outcome_free(o);
}

/* The graph of the client's decode loop: 40 kernels of a warp. */
static bool take_graph(void *arg, const struct gw_log_record *record)
{
	const struct gw_record_graph_work *w = (const void *)record->head;
	const struct gw_record_quantity *part = (const void *)record->tail;
	unsigned *met = arg;

	for (uint32_t i = 0; record->head->kind == GW_RECORD_GRAPH_WORK && i < w->count; i++)
		if (part[i].field == GW_WORK_inst_executed) {
			++*met;
			assert_true(fabs(part[i].value - 40 * 100) < 40 * 3);
		}
	return true;
}

TEST(graphs_are_counted_as_a_whole)
{
	struct run r = RUN("windows", "decode");
	struct gw_log_status status;
	struct outcome *o;
	unsigned met = 0;

	r.env[0] = "GPUWATCH_MODE=watch";
	r.env[1] = "GPUWATCH_BUDGET=100";
	r.env[2] = "GPUWATCH_LOG=auto";
	o = run_both(&r);
	assert_true(gw_log_read(o->log[0].path, take_graph, &met, &status));
	assert_true(met > 0);
	outcome_free(o);
}

/*
 * libcupti 13.0 deadlocks where the sampler switches activity while the worker flushes records and
 * a thread of the program is in a driver call that loads code: an H200 showed it in 2 of 22 runs.
 */
TEST(no_session_switches_activity)
{
	struct outcome *o =
		counted("4000", "", "STANDIN_ORDER=1", "STANDIN_SLOW=cuptiActivityFlushAll:150");

	assert_true(only_log(o)->counter[GW_COUNTER_pm_windows] > 0);
	assert_null(strstr(o->err, "while another thread"));
	outcome_free(o);
}

/* All sets of metrics have had their turn after 5 s. */
TEST(sessions_take_no_more_memory_than_one)
{
	uint64_t bytes[2];
	struct outcome *o;

	for (unsigned i = 0; i < 2; i++) {
		o = counted(i ? "10000" : "5000", "", "STANDIN_METRICS=32", NULL);
		bytes[i] = only_log(o)->counter[GW_COUNTER_memory_counting];
		assert_true(only_log(o)->counter[GW_COUNTER_pm_windows] > 0);
		print_message("%" PRIu64 " windows, %" PRIu64 " bytes\n",
			      only_log(o)->counter[GW_COUNTER_pm_windows], bytes[i]);
		outcome_free(o);
	}
	assert_true(bytes[1] < bytes[0] + (64 << 10));
}

/* What the records of another CUPTI add to a kernel is not known: what was counted stands. */
TEST(what_an_unknown_cupti_adds_stays)
{
	struct outcome *o = counted("6000", "", "STANDIN_CUPTI_VERSION=140000", NULL);
	unsigned off;

	assert_true(values(0.03, &off) > 10);
	assert_true(off > 0);
	assert_true(knows(100, GW_WORK_inst_executed));
	outcome_free(o);
}

static void nothing_is_counted(const char *option, bool said, bool warned)
{
	struct outcome *o = counted("2500", "", option, NULL);
	unsigned off;

	assert_int_equal(values(0, &off), 0);
	assert_logs_are_the_truth(o);
	assert_int_equal(only_log(o)->degraded >> GW_DEGRADED_COUNTERS & 1, said);
	assert_int_equal(warnings(o->err), warned);
	assert_int_equal(only_log(o)->measured, o->truth[0].total);
	outcome_free(o);
}

TEST(off_counts_nothing)
{
	nothing_is_counted("GPUWATCH_COUNTERS=off", false, false);
}

TEST(no_budget_counts_nothing)
{
	nothing_is_counted("GPUWATCH_BUDGET=0", true, false);
}

TEST(denied_counters_are_said_once_and_times_go_on)
{
	nothing_is_counted("STANDIN_PM_DENY=1", true, true);
}

TEST(work_of_others_is_credited_to_nobody)
{
	struct outcome *o;
	unsigned off;

	/* as much again as the kernels count, all the time, by processes that NVML reports … */
	o = counted3("4000", "", "STANDIN_PM_FOREIGN=100000000000", "STANDIN_NVML_OTHERS=50@0",
		     "STANDIN_NVML_PIDS=self,4");
	assert_int_equal(values(0, &off), 0);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_other_profiler] > 0);
	outcome_free(o);
	/* … or of which no report comes: seen between kernels */
	o = counted("4000", "idle", "STANDIN_PM_FOREIGN=100000000000", NULL);
	assert_int_equal(values(0, &off), 0);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_other_profiler] > 0);
	assert_true(only_log(o)->degraded >> GW_DEGRADED_COUNTERS & 1);
	outcome_free(o);
}

/* The first window of a set has a sample that reaches back to when others did. */
TEST(others_that_have_gone_take_no_window)
{
	struct outcome *o = counted3("6000", "", "GPUWATCH_BUDGET=50",
				     "STANDIN_NVML_OTHERS=50@0,0@300", "STANDIN_NVML_PIDS=self,4");
	unsigned off;

	assert_true(values(0.03, &off) > 10);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_pm_other_profiler], 0);
	outcome_free(o);
}

TEST(overlapping_kernels_are_credited_to_neither)
{
	struct outcome *o = counted("5000", "overlap", NULL, NULL);
	unsigned off;

	values(0.03, &off);
	assert_int_equal(off, 0);
	assert_true(knows(100, GW_WORK_inst_executed));
	assert_false(knows(55, GW_WORK_inst_executed));
	assert_false(knows(66, GW_WORK_inst_executed));
	outcome_free(o);
}

TEST(lost_samples_and_overflows_make_no_count_wrong)
{
	struct outcome *o = counted("6000", "", "STANDIN_PM_DROP=7", "STANDIN_PM_OVERFLOW=3");
	unsigned off;

	assert_true(values(0.03, &off) > 10);
	assert_int_equal(off, 0);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_overflows] > 0);
	outcome_free(o);
}

/* Twenty of 240 a window: together as wrong a clock and as wrong a count as 8% would be. */
TEST(samples_of_an_earlier_window_make_no_count_wrong)
{
	struct outcome *o = counted("6000", "", "STANDIN_PM_LEFT=20", NULL);
	unsigned off;

	assert_true(values(0.03, &off) > 10);
	assert_int_equal(off, 0);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_leftovers] > 0);
	outcome_free(o);
}

TEST(clocks_some_microseconds_apart_are_within_the_stated_error)
{
	struct outcome *o = counted("6000", "", "STANDIN_PM_SKEW=1000", "STANDIN_CLOCK_OFFSET=0");
	unsigned off;

	assert_true(values(0.15, &off) > 10);
	assert_int_equal(off, 0);
	outcome_free(o);
}

TEST(a_chip_with_narrow_sets_and_no_timer_is_sampled_all_the_same)
{
	struct outcome *o = counted("6000", "", "STANDIN_METRICS=3", "STANDIN_PM_NO_TIMER=1");
	unsigned off;

	assert_true(values(0.03, &off) > 10);
	assert_int_equal(off, 0);
	outcome_free(o);
}

/* Whatever the budget: at 1% the first session alone would have to wait for 105 s. */
TEST(answers_come_before_the_budget)
{
	struct outcome *o = counted("8000", "", "GPUWATCH_BUDGET=1", NULL);
	unsigned off;

	assert_logs_are_the_truth(o);
	assert_true(values(0.03, &off) > 20);
	assert_int_equal(off, 0);
	assert_true(knows(100, GW_WORK_inst_executed));
	assert_true(knows(100, GW_WORK_l1_bytes)); /* of other sets than the first */
	assert_true(knows(100, GW_WORK_pipe_fma));
	assert_int_equal(only_log(o)->degraded >> GW_DEGRADED_COUNTERS & 1, 0);
	outcome_free(o);
}

/* Eight hold too few runs of a training step that leaves the GPU idle most of the time: in a second
 * there is one session, or two. Where the second cannot be configured the first is all there is. */
TEST(the_first_set_has_sixteen_windows)
{
	struct outcome *o = counted(
		"6000", "",
		"STANDIN_FAIL=cuptiPmSamplingSetConfig:2:27,cuptiPmSamplingSetConfig:3:27", NULL);

	assert_int_equal(only_log(o)->counter[GW_COUNTER_pm_windows], 16);
	outcome_free(o);
}

/* The first session takes more CPU than all answers may in mode watch, and brings nothing. */
TEST(an_overflow_is_not_charged_to_answers)
{
	struct run r = RUN("counted", "12000");
	struct outcome *o;

	r.env[0] = "GPUWATCH_MODE=watch";
	r.env[1] = "GPUWATCH_BUDGET=2";
	r.env[2] = "GPUWATCH_STATIC=0";
	r.env[3] = "STANDIN_FAIL=cuptiPmSamplingDecodeData:1:8";
	r.env[4] = "STANDIN_PM_CONFIGURE_CPU_MS=560";
	o = run_both(&r);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_overflows] > 0);
	assert_true(only_log(o)->counter[GW_COUNTER_pm_windows] > 0);
	outcome_free(o);
}

/* Once what matters is counted the budget rules: a session costs the stand-in some 20 ms of CPU. */
TEST(the_budget_rules_once_the_answers_are_there)
{
	struct outcome *little = counted("12000", "", "GPUWATCH_BUDGET=1", NULL),
		       *all = counted("12000", "", "GPUWATCH_BUDGET=100", NULL);

	assert_true(only_log(little)->counter[GW_COUNTER_pm_windows] > 0);
	assert_true(only_log(little)->counter[GW_COUNTER_pm_windows] <
		    only_log(all)->counter[GW_COUNTER_pm_windows] * 3 / 4);
	outcome_free(little);
	outcome_free(all);
}

/* A program that ends within 20 ms of its first launch: sampling does not begin. On a busy machine
 * the program may last longer than that; it is run again then. */
TEST(programs_of_one_moment_take_no_window)
{
	struct outcome *o = counted("1", "", "GPUWATCH_BUDGET=1", NULL);

	for (int i = 0; i < 9 && only_log(o)->counter[GW_COUNTER_pm_windows]; i++) {
		outcome_free(o);
		o = counted("1", "", "GPUWATCH_BUDGET=1", NULL);
	}
	assert_int_equal(only_log(o)->counter[GW_COUNTER_pm_windows], 0);
	assert_true(only_log(o)->degraded >> GW_DEGRADED_COUNTERS & 1); /* in the log alone */
	assert_int_equal(warnings(o->err), 0);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

/* At whatever moment: while it is configured, sampled, decoded, between windows. */
TEST(programs_end_at_any_moment_of_a_window)
{
	static const char *const ends[] = {"1060", "1080", "1110", "1150", "1300"};
	static const char *const hows[] = {"", "exit", "fork"};

	for (size_t i = 0; i < COUNT(ends); i++)
		for (size_t k = 0; k < COUNT(hows); k++) {
			struct outcome *o = counted(ends[i], hows[k], NULL, NULL);

			assert_true(WIFEXITED(o->status));
			assert_logs_are_the_truth(o);
			outcome_free(o);
		}
}

/* Records come in order of their ends, or not before the first of them. */
TEST(a_kernel_that_does_not_end_keeps_nothing_from_being_sampled)
{
	struct outcome *o = counted("2400", "held", NULL, NULL);
	unsigned off;

	assert_true(only_log(o)->counter[GW_COUNTER_pm_windows] > 0);
	values(0.03, &off);
	assert_int_equal(off, 0);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

/*
 * While code is read, up to a second, the records of launches wait: no window of that time may be
 * taken for one in which nothing ran.
 */
TEST(windows_wait_for_records_that_studies_hold)
{
	struct outcome *o = counted3("4000", "analysed", "GPUWATCH_STATIC=1",
				     "CODE_IMAGE=" GW_CORPUS "/sm_90.cubin",
				     "STANDIN_KERNELS=" GW_SOURCES "/code.kernels");
	unsigned off;

	assert_true(only_log(o)->counter[GW_COUNTER_studied] >= 200);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_pm_other_profiler], 0);
	assert_true(values(0.03, &off) > 10);
	assert_int_equal(off, 0);
	outcome_free(o);
}

/* Whoever ends it: libcupti's libraries may be in the midst of making what exit() destroys. */
TEST(no_end_meets_counters_being_set_up)
{
	static const char *const hows[] = {"", "exit", "thread", "main"};

	for (size_t i = 0; i < COUNT(hows); i++) {
		struct outcome *o = counted("900", hows[i], "STANDIN_PM_CONFIGURE_MS=700", NULL);

		assert_true(WIFEXITED(o->status));
		assert_true(only_log(o)->ended);
		assert_true(only_log(o)->counter[GW_COUNTER_pm_cpu_ns] > 0);
		outcome_free(o);
	}
}

TESTS_MAIN()
