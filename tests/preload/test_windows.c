/*
 * Mode watch: every launch is counted, and some are timed, in windows: by activity records, or by
 * pairs of events where there is no libcupti.
 */
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <sys/wait.h>

#define WATCH      "GPUWATCH_MODE=watch"
#define RECORDS    "GPUWATCH_WINDOWS=records"
#define HALF       "GPUWATCH_BUDGET=50"
#define CONTINUOUS "GPUWATCH_BUDGET=100"

static struct outcome *watch2(const char *program, const char *scenario, const char *budget,
			      const char *more, const char *yet_more)
{
	struct run r = RUN(program, scenario);
	struct outcome *o;

	r.env[0] = WATCH;
	r.env[1] = budget;
	r.env[2] = RECORDS;
	r.env[3] = more;
	r.env[4] = yet_more;
	o = run_both(&r);
	assert_logs_are_the_truth(o);
	return o;
}

static struct outcome *watch(const char *program, const char *scenario, const char *budget,
			     const char *more)
{
	return watch2(program, scenario, budget, more, NULL);
}

/* With pairs of events around each launch in a window. */
static struct outcome *watch_each(const char *scenario, const char *budget)
{
	return watch2("windows", scenario, budget, "GPUWATCH_CUPTI=none", "GPUWATCH_EVENT_RATE=1");
}

/* Timed in more windows than one, and not between them. */
static void assert_windows(const struct outcome *o)
{
	const struct account *log = only_log(o);
	const uint64_t *c = log->counter;

	assert_in_range(c[GW_COUNTER_windows], 2, 1000);
	assert_in_range(log->measured, 1, log->total - 1);
	assert_true(c[GW_COUNTER_window_ns] > 0);
	assert_int_equal(c[GW_COUNTER_activity_unmatched], 0);
	assert_int_equal(log->invalid, 0);
	assert_int_equal(log->no_call, 0);
}

static void assert_event_windows(const struct outcome *o)
{
	const struct account *log = only_log(o);

	assert_windows(o);
	assert_int_equal(log->measured, log->by_events);
	assert_int_equal(log->counter[GW_COUNTER_joined], 0);
	assert_true(log->degraded >> GW_DEGRADED_NO_CUPTI & 1);
}

/* By records, in more windows than one, and not between them. */
static void assert_records(const struct outcome *o)
{
	const struct account *log = only_log(o);

	assert_windows(o);
	assert_int_equal(log->measured, log->counter[GW_COUNTER_joined]);
	assert_int_equal(log->by_events, 0);
	assert_int_equal(warnings(o->err), 0);
}

TEST(launches_are_counted_and_some_timed)
{
	struct outcome *o =
		watch("windows", "steady", "GPUWATCH_BUDGET=25", "GPUWATCH_COUNTERS=off");

	assert_records(o);
	outcome_free(o);
}

TEST(event_pairs_time_launches_where_there_is_no_libcupti)
{
	struct outcome *o = watch("windows", "steady", HALF, "GPUWATCH_CUPTI=none");

	assert_event_windows(o);
	outcome_free(o);
}

TEST(predictions_are_made_between_windows_too)
{
	struct outcome *o = watch("windows", "steady", HALF, NULL);
	const uint64_t *c = only_log(o)->counter;

	assert_in_range(c[GW_COUNTER_predicted], only_log(o)->measured + 1, only_log(o)->total);
	outcome_free(o);
}

static int replay(const struct outcome *o, const char *options)
{
	char command[1600];

	snprintf(command, sizeof(command), "%s replay %s %s > /dev/null 2>&1", GW_COMMAND, options,
		 only_log(o)->path);
	return WEXITSTATUS(system(command));
}

TEST(sums_are_replayed_where_times_are_withheld)
{
	struct run r = RUN("windows", "steady");
	struct outcome *o;

	r.env[0] = WATCH;
	r.env[1] = HALF;
	r.env[2] = "GPUWATCH_LOG=auto";
	o = run_both(&r);
	assert_int_equal(replay(o, "--hide-times=configuration"), 0);
	assert_int_equal(replay(o, "--check"), 2);
	assert_int_equal(replay(o, "--hide-times=kernel --by=launch"), 2);
	outcome_free(o);
}

/* At one percent, a program this short has not earned its first window. */
TEST(a_short_program_is_not_measured)
{
	struct outcome *o = watch("windows", "steady", NULL, NULL);

	assert_int_equal(only_log(o)->counter[GW_COUNTER_windows], 0);
	assert_int_equal(only_log(o)->measured, 0);
	outcome_free(o);
}

TEST(no_budget_no_windows)
{
	struct outcome *o = watch("windows", "steady", "GPUWATCH_BUDGET=0", NULL);

	assert_int_equal(only_log(o)->counter[GW_COUNTER_windows], 0);
	assert_int_equal(only_log(o)->measured, 0);
	outcome_free(o);
}

/* What the pairs cost the program's threads is counted, and charged to their windows. */
TEST(event_windows_keep_to_the_budget)
{
	struct outcome *o = watch_each("steady", "GPUWATCH_BUDGET=20");
	const uint64_t *c = only_log(o)->counter;

	assert_in_range(c[GW_COUNTER_windows], 1, 1000);
	assert_true(only_log(o)->measured * 2 < only_log(o)->total);
	assert_true(c[GW_COUNTER_events_ns] > 0);
	/* The last window may not have been closed. */
	assert_true(c[GW_COUNTER_windows] < 3 ||
		    c[GW_COUNTER_events_ns] <= c[GW_COUNTER_window_ns]);
	outcome_free(o);
}

/*
 * Each burst comes after a pause that would pay for a window. One is owed from the beginning, and
 * the launching pays for 4% more, which is more where a loaded machine takes longer for it; with
 * one in each burst more than a sixth would be timed.
 */
TEST(rests_pay_for_no_windows)
{
	struct outcome *o = watch_each("bursts", "GPUWATCH_BUDGET=4");
	const struct account *log = only_log(o);

	assert_in_range(log->by_events, 1, log->total / 6);
	outcome_free(o);
}

/* A window waits for a launch. */
TEST(a_program_that_launches_rarely_is_timed)
{
	struct outcome *o = watch_each("rarely", HALF);
	const struct account *log = only_log(o);

	assert_in_range(log->by_events, log->total / 6, log->total);
	outcome_free(o);
}

TEST(sixteen_threads)
{
	struct outcome *o =
		watch("windows", "threads", "GPUWATCH_BUDGET=25", "GPUWATCH_COUNTERS=off");

	assert_records(o);
	outcome_free(o);
	o = watch("windows", "threads", HALF, "GPUWATCH_CUPTI=none");
	assert_event_windows(o);
	outcome_free(o);
}

/* A window is always open when it leaves. */
TEST(leaving_in_a_window)
{
	struct outcome *o = watch("windows", "leave", CONTINUOUS, NULL);

	assert_int_equal(WEXITSTATUS(o->status), 7);
	assert_in_range(only_log(o)->measured, 1, only_log(o)->total);
	outcome_free(o);
}

TEST(forking_in_a_window)
{
	struct outcome *o = watch("windows", "forks", CONTINUOUS, NULL);

	assert_in_range(only_log(o)->measured, 1, only_log(o)->total);
	outcome_free(o);
}

TEST(contexts_end_in_windows)
{
	struct outcome *o = watch("windows", "contexts", CONTINUOUS, NULL);

	assert_in_range(only_log(o)->measured, 1, only_log(o)->total);
	assert_int_equal(only_log(o)->invalid, 0);
	outcome_free(o);
}

/* A pair of events around a graph says nothing of its kernels. */
TEST(event_pairs_time_no_kernels_of_graphs)
{
	struct outcome *o = watch("windows", "graphs", CONTINUOUS, "GPUWATCH_CUPTI=none");
	const struct account *log = only_log(o);

	assert_true(log->by_events > 0);
	assert_int_equal(log->measured, log->by_events);
	for (unsigned i = 0; i < log->kernels; i++)
		assert_false(log->kernel[i].graph && log->kernel[i].min_ns);
	outcome_free(o);
}

/* 40 kernels of 2 us each, on a created stream, the legacy one and the thread's own. */
TEST(event_pairs_time_whole_graphs)
{
	struct run r = RUN("windows", "decode");
	const struct account *log;
	struct outcome *o;

	r.env[0] = WATCH;
	r.env[1] = CONTINUOUS;
	o = run_both(&r);
	assert_logs_are_the_truth(o);
	log = only_log(o);
	assert_int_equal(log->measured, 0);
	assert_int_equal(log->graph_launches, log->counter[GW_COUNTER_graph_launches]);
	assert_int_equal(log->graph_launches, 3 * 1200);
	assert_int_equal(log->graph_timed, log->counter[GW_COUNTER_graphs_timed]);
	assert_in_range(log->graph_timed, log->graph_launches / 3, log->graph_launches);
	assert_int_equal(log->graph.kernels, 40);
	/* Less what the GPU may have waited for the call, which the stand-in's does not. */
	assert_in_range(log->graph_ns / log->graph_timed, 50000, 85000);
	outcome_free(o);
}

/* Whether kernels of graphs have times of their own. */
static bool nodes_timed(const struct account *log)
{
	for (unsigned i = 0; i < log->kernels; i++)
		if (log->kernel[i].graph && log->kernel[i].min_ns)
			return true;
	return false;
}

/* By records, which a run has none of where the machine is so busy that their cost, as far as it
 * shows, exceeds the budget. */
TEST(graph_nodes_are_timed)
{
	enum { RUNS = 10 };
	bool any = false;

	for (int i = 0; i < RUNS && !any; i++) {
		struct outcome *o = watch("windows", "graphs", CONTINUOUS, NULL);
		const struct account *log = only_log(o);

		any = nodes_timed(log) && !log->by_events;
		assert_int_equal(log->invalid, 0);
		if (any)
			assert_int_equal(log->counter[GW_COUNTER_launches_unmatched], 0);
		outcome_free(o);
	}
	assert_true(any);
}

/* Attaching beside a kernel that waits for the host would hang both. */
TEST(cupti_is_left_alone_unless_asked_for)
{
	struct run r = RUN("windows", "steady");
	struct outcome *o;

	r.env[0] = WATCH;
	r.env[1] = HALF;
	o = run_both(&r);
	assert_logs_are_the_truth(o);
	assert_event_windows(o);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_attach_ns], 0);
	outcome_free(o);
}

/* libcupti can crash where it records beside conditional nodes. On a busy machine a run may have no
 * window on one side of the first. */
TEST(conditional_nodes_end_windows_of_records)
{
	enum { RUNS = 10 };
	bool both = false;

	for (int i = 0; i < RUNS && !both; i++) {
		struct outcome *o = watch2("windows", "branches", CONTINUOUS,
					   "GPUWATCH_COUNTERS=off", "STANDIN_CONDITIONAL=1");
		const struct account *log = only_log(o);

		both = log->counter[GW_COUNTER_joined] && log->by_events &&
		       log->degraded >> GW_DEGRADED_CONDITIONAL & 1;
		if (both)
			assert_int_equal(warnings(o->err), 1);
		outcome_free(o);
	}
	assert_true(both);
}

TEST(captures_are_left_alone)
{
	struct outcome *o = watch("windows", "capture", CONTINUOUS, NULL);

	assert_true(only_log(o)->counter[GW_COUNTER_windows_put_off] > 0);
	assert_in_range(only_log(o)->measured, 1, only_log(o)->total);
	outcome_free(o);
}

TEST(captures_that_end_with_their_streams_keep_no_window_away)
{
	struct outcome *o = watch("windows", "dropped", HALF, NULL);

	assert_windows(o);
	outcome_free(o);
}

/* ---- what is missing ---- */

static void by_events(const char *option, enum gw_degraded code)
{
	struct outcome *o = watch("windows", "steady", HALF, option);
	const struct account *log = only_log(o);

	assert_true(log->degraded >> code & 1);
	assert_in_range(log->by_events, 1, log->total / 4);
	assert_int_equal(log->measured, log->by_events);
	assert_in_range(log->counter[GW_COUNTER_windows], 2, 1000);
	outcome_free(o);
}

TEST(without_cupti_windows_are_timed_by_events)
{
	by_events("GPUWATCH_CUPTI=none", GW_DEGRADED_NO_CUPTI);
	by_events("STANDIN_DENY=1", GW_DEGRADED_NO_CUPTI);
	by_events("STANDIN_SUBSCRIBED=1", GW_DEGRADED_CUPTI_TAKEN);
}

/* ---- injected ---- */

static struct outcome *injected(const char *scenario, const char *budget, const char *more)
{
	struct run r = RUN("windows", scenario);
	struct outcome *o;

	r.inject = true;
	r.env[0] = WATCH;
	r.env[1] = budget;
	r.env[2] = more;
	r.env[3] = "GPUWATCH_COUNTERS=off";
	o = run_both(&r);
	assert_logs_are_the_truth(o);
	return o;
}

/* A record that met the launch before or after its own would begin a gap too late or too early. */
TEST(each_record_meets_its_own_launch)
{
	struct outcome *o = injected("steady", HALF, NULL);
	const struct account *log = only_log(o);

	assert_records(o);
	assert_in_range(log->timed, 10, log->total);
	assert_in_range(log->prompt, log->timed * 8 / 10, log->timed);
	assert_in_range(log->counter[GW_COUNTER_predicted], log->measured + 1, log->total);
	outcome_free(o);
}

TEST(sixteen_threads_have_records)
{
	struct outcome *o = injected("threads", HALF, NULL);

	assert_records(o);
	outcome_free(o);
}

TEST(graphs_are_timed_by_records)
{
	struct outcome *o = injected("graphs", CONTINUOUS, NULL);
	const struct account *log = only_log(o);
	bool any = false;

	for (unsigned i = 0; i < log->kernels; i++)
		any |= log->kernel[i].graph && log->kernel[i].min_ns;
	assert_true(any);
	assert_int_equal(log->invalid, 0);
	outcome_free(o);
}

TEST(leaving_and_forking_among_records)
{
	static const char *const scenarios[] = {"leave", "forks", "contexts"};

	for (size_t i = 0; i < 3; i++) {
		uint64_t measured = 0;

		/* Where the worker has no processor meanwhile the program ends before a window. */
		for (int tries = 0; tries < 10 && !measured; tries++) {
			struct outcome *o = injected(scenarios[i], CONTINUOUS, NULL);

			measured = only_log(o)->measured;
			assert_in_range(measured, 0, only_log(o)->total);
			outcome_free(o);
		}
		assert_true(measured > 0);
	}
}

TEST(captures_meet_no_switching)
{
	struct outcome *o = injected("capture", CONTINUOUS, NULL);

	assert_true(only_log(o)->counter[GW_COUNTER_windows_put_off] > 0);
	assert_in_range(only_log(o)->measured, 1, only_log(o)->total);
	outcome_free(o);
}

/* It is waited for, so that it has its time. */
TEST(a_kernel_that_outlives_its_window)
{
	struct outcome *o = injected("endless", CONTINUOUS, NULL);

	assert_in_range(only_log(o)->counter[GW_COUNTER_windows], 2, 1000);
	assert_true(only_log(o)->counter[GW_COUNTER_windows_put_off] > 0);
	assert_int_equal(only_log(o)->invalid, 0);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_launches_unmatched], 0);
	outcome_free(o);
}

/* The records of what is launched between windows are no harm. */
TEST(recording_that_cannot_be_switched_off)
{
	struct outcome *o = injected("steady", HALF, "STANDIN_FAIL=cuptiActivityDisable:*:999");

	assert_in_range(only_log(o)->measured, 1, only_log(o)->total);
	outcome_free(o);
}
/* ---- other tools ---- */

/* Timed launches of the client's kernel with this grid. */
static bool timed(const struct account *log, uint32_t grid)
{
	for (unsigned i = 0; i < log->kernels; i++)
		if (log->kernel[i].grid[0] == grid && log->kernel[i].min_ns)
			return true;
	return false;
}

static uint64_t shortest(const struct account *log, uint32_t grid)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < log->kernels; i++)
		if (log->kernel[i].grid[0] == grid && log->kernel[i].min_ns < least)
			least = log->kernel[i].min_ns;
	return least;
}

static uint64_t timed_by_activity(const struct account *log, uint32_t grid)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < log->kernels; i++)
		if (log->kernel[i].grid[0] == grid)
			n += log->kernel[i].started;
	return n;
}

/* The tool prints how many records it got and how many buffers were not its own. */
static void beside(const char *scenario, const char *mode, const char *budget)
{
	struct run r = RUN("cupti_user", scenario);
	struct outcome *o;
	const struct account *log;

	r.env[0] = mode;
	r.env[1] = RECORDS;
	r.env[2] = budget;
	o = run_both(&r);
	log = only_log(o);
	assert_logs_are_the_truth(o);
	assert_int_equal(log->counter[GW_COUNTER_yields], 2);
	assert_int_equal(log->counter[GW_COUNTER_returns], 2);
	assert_true(log->degraded >> GW_DEGRADED_CUPTI_TAKEN & 1);
	assert_true(timed(log, 1));
	assert_true(timed(log, 3));
	assert_true(timed(log, 5));
	assert_int_equal(log->invalid, 0);
	outcome_free(o);
}

TEST(another_tool_comes_and_goes_in_mode_audit)
{
	NOT_UNDER_TSAN();
	beside("sessions", "GPUWATCH_MODE=audit", NULL);
	beside("switches", "GPUWATCH_MODE=audit", NULL);
}

/* It comes between two windows as well as in one: what we registered with libcupti makes way. */
TEST(another_tool_comes_and_goes_in_mode_watch)
{
	NOT_UNDER_TSAN();
	beside("sessions", WATCH, HALF);
}

/*
 * However long it was there. Looked for after pauses that double, 1, 3, 7 and 15 s after the first
 * launch, its end after 7.2 s would be seen at 15 s.
 */
TEST(another_tool_that_was_there_for_long_is_soon_missed)
{
	struct run r = RUN("cupti_user", "there_for_long");
	struct outcome *o = run_watched(&r); /* it launches as often as there is time */

	NOT_UNDER_TSAN();
	assert_logs_are_the_truth(o);
	assert_int_equal(timed_by_activity(only_log(o), 1), 0);
	assert_int_equal(timed_by_activity(only_log(o), 3), 100);
	outcome_free(o);
}

/* Under its subscription our callbacks tell launches their ids, and none of these is its. */
TEST(another_tool_that_stays_subscribed)
{
	struct run r = RUN("cupti_user", "stays_subscribed");
	struct outcome *o;
	const struct account *log;

	NOT_UNDER_TSAN();
	r.env[0] = "GPUWATCH_MODE=audit";
	o = run_both(&r); /* it prints how many callbacks it got */
	log = only_log(o);
	assert_logs_are_the_truth(o);
	assert_int_equal(log->counter[GW_COUNTER_yields], 4); /* the last when it unsubscribes */
	assert_int_equal(log->counter[GW_COUNTER_returns], 3);
	for (uint32_t grid = 1; grid <= 7; grid += 2) {
		assert_true(timed(log, grid));
		assert_true(timed_by_activity(log, grid) > 300);
		/* Also by the clock that the tool has put into libcupti. */
		assert_in_range(shortest(log, grid), 700, 900);
	}
	assert_true(log->prompt > log->timed / 2);
	assert_int_equal(log->invalid, 0);
	assert_int_equal(log->no_call, 0);
	assert_replays(
		o); /* tier and source of a prediction are distinguished from the correlation id */
	outcome_free(o);
}

TESTS_MAIN()
