/* Several GPUs in one process: each kernel counts for the one it ran on, and meets its record. */
#include "tests/preload/harness.h"
#include "tests/test.h"

static struct outcome *on_two(const char *scenario, const char *mode, bool inject)
{
	struct run r = RUN("work", scenario);
	struct outcome *o;

	r.env[0] = "STANDIN_DEVICES=2";
	r.env[1] = mode;
	r.inject = inject;
	o = run_both(&r);
	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	assert_int_equal(only_log(o)->no_call, 0);
	assert_int_equal(only_log(o)->on_device[0], 0);
	assert_int_equal(only_log(o)->unlike, 0);
	return o;
}

static void assert_measured(const struct account *log)
{
	assert_int_equal(log->measured, log->total);
	assert_int_equal(log->counter[GW_COUNTER_joined], log->total);
	assert_int_equal(log->counter[GW_COUNTER_activity_unmatched], 0);
	assert_int_equal(log->counter[GW_COUNTER_launches_unmatched], 0);
}

/* Twenty calls with a kernel on each GPU, and two more launches a GPU after each. */
static void at_once(const char *mode, bool inject, bool measured)
{
	struct outcome *o = on_two("at_once", mode, inject);
	const struct account *log = only_log(o);

	assert_int_equal(log->on_device[1], 60);
	assert_int_equal(log->on_device[2], 60);
	if (measured)
		assert_measured(log);
	outcome_free(o);
}

TEST(launches_on_several_gpus_at_once_meet_their_records)
{
	at_once("GPUWATCH_MODE=audit", false, true);
}

TEST(injected_they_meet_them_too)
{
	at_once("GPUWATCH_MODE=audit", true, true);
}

TEST(without_records_they_count_once)
{
	at_once("GPUWATCH_MODE=count", false, false);
	at_once("GPUWATCH_MODE=watch", false, false);
}

/* Between a pair of events around nothing there would be next to no time. */
TEST(no_events_time_what_was_launched_before_them)
{
	struct run r = RUN("work", "at_once_alone");
	struct outcome *o;

	r.env[0] = "STANDIN_DEVICES=2";
	r.env[1] = "GPUWATCH_CUPTI=none";
	r.env[2] = "GPUWATCH_EVENT_RATE=1";
	o = run_both(&r);
	assert_logs_are_the_truth(o);
	assert_int_equal(only_log(o)->by_events, 0);
	assert_int_equal(only_log(o)->invalid, 0);
	outcome_free(o);
}

/* Fifty launches of a graph with two kernels on the first GPU and one on the second. */
static void across(const char *mode, bool measured)
{
	struct outcome *o = on_two("across", mode, false);
	const struct account *log = only_log(o);

	assert_int_equal(log->on_device[1], 100);
	assert_int_equal(log->on_device[2], 50);
	if (measured)
		assert_measured(log);
	outcome_free(o);
}

TEST(kernels_of_a_graph_count_for_the_gpus_of_their_nodes)
{
	across("GPUWATCH_MODE=audit", true);
}

TEST(without_records_too)
{
	across("GPUWATCH_MODE=count", false);
	across("GPUWATCH_MODE=watch", false);
}

/* The log counts each launch for the GPU whose context was current. */
TEST(default_streams_are_those_of_the_current_context)
{
	assert_on_gpus("contexts", "switched", 24, 33);
}

TEST(a_green_context_s_streams_go_with_it)
{
	assert_on_gpus("contexts", "green", 7, 5);
}

TEST(a_launch_in_a_context_that_another_thread_has_ended_is_refused)
{
	assert_on_gpus("contexts", "ended", 6, 0);
}

/* Each 64th launch looks; from the first such change on every one does. */
TEST(a_current_context_that_changes_unseen_is_found_out)
{
	struct run r = RUN("contexts", "past_us");
	struct outcome *o;

	r.env[0] = "STANDIN_DEVICES=2";
	r.env[1] = "GPUWATCH_MODE=count";
	o = run_both(&r);
	assert_logs_are_the_truth(o);
	assert_int_equal(only_log(o)->on_device[2], 300 - 27); /* looked at the 128th */
	assert_int_equal(only_log(o)->on_device[1], 300 + 27);
	assert_int_equal(only_log(o)->degraded >> GW_DEGRADED_OTHER & 1, 1);
	outcome_free(o);
}

TESTS_MAIN()
