/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mode watch with a libcupti that can be let go: windows have activity records, and between them it
 * is detached (cuptiFinalize). No release does so safely; what runs here is for one that does.
 */
#include "tests/preload/account.h"
#include "tests/preload/harness.h"

#include <stdio.h>
#include <sys/wait.h>

#define HALF       "GPUWATCH_BUDGET=50"
#define CONTINUOUS "GPUWATCH_BUDGET=100"

static struct outcome *watch(const char *program, const char *scenario, const char *budget,
                             const char *more)
{
	struct run r = RUN(program, scenario);
	struct outcome *o;

	r.env[0] = "GPUWATCH_MODE=watch";
	r.env[1] = "STANDIN_CUPTI_VERSION=999999";
	r.env[2] = budget;
	r.env[3] = more;
	o = run_both(&r);
	assert_logs_are_the_truth(o);
	return o;
}

/* Measured in more windows than one, and left in peace between them. */
static void assert_windows(const struct outcome *o)
{
	const struct account *log = only_log(o);
	const uint64_t *c = log->counter;

	assert_in_range(c[GW_COUNTER_windows], 2, 1000);
	assert_in_range(log->measured, 1, log->total - 1);
	assert_int_equal(log->measured, c[GW_COUNTER_joined]);
	/* The program may end in a window. */
	assert_in_range(c[GW_COUNTER_detaches], c[GW_COUNTER_windows] - 1, c[GW_COUNTER_windows]);
	assert_true(c[GW_COUNTER_window_ns] > 0);
	assert_int_equal(c[GW_COUNTER_activity_unmatched], 0);
	assert_int_equal(log->invalid, 0);
	assert_int_equal(log->no_call, 0);
	assert_int_equal(degraded_otherwise(log), 0);
	assert_int_equal(warnings(o->err), 0);
}

static void launches_are_counted_and_some_timed(void **state)
{
	struct outcome *o = watch("windows", "steady", HALF, NULL);

	(void)state;
	assert_windows(o);
	outcome_free(o);
}

/* A record that met the launch before or after its own would begin a gap too late or too early. */
static void each_record_meets_its_own_launch(void **state)
{
	struct outcome *o = watch("windows", "steady", HALF, NULL);
	const struct account *log = only_log(o);

	(void)state;
	assert_in_range(log->timed, 10, log->total);
	assert_in_range(log->prompt, log->timed * 8 / 10, log->timed);
	outcome_free(o);
}

static void predictions_are_made_between_windows_too(void **state)
{
	struct outcome *o = watch("windows", "steady", HALF, NULL);
	const uint64_t *c = only_log(o)->counter;

	(void)state;
	assert_in_range(c[GW_COUNTER_predicted], only_log(o)->measured + 1, only_log(o)->total);
	outcome_free(o);
}

/* What libcupti saw of a graph outlives it: from the first graph on it is left alone. */
static void no_graph_meets_a_window(void **state)
{
	struct outcome *o = watch("windows", "graphs", CONTINUOUS, NULL);
	const struct account *log = only_log(o);
	const uint64_t *c = log->counter;

	(void)state;
	assert_true(c[GW_COUNTER_joined] > 0);
	assert_true(log->by_events > 0);
	assert_int_equal(log->measured, c[GW_COUNTER_joined] + log->by_events);
	assert_true(log->degraded >> GW_DEGRADED_WINDOW & 1);
	assert_int_equal(c[GW_COUNTER_activity_unmatched], 0);
	for (unsigned i = 0; i < log->kernels; i++)
		assert_false(log->kernel[i].graph && log->kernel[i].min_ns);
	assert_int_equal(warnings(o->err), 0);
	outcome_free(o);
}

static void sixteen_threads(void **state)
{
	struct outcome *o = watch("windows", "threads", HALF, NULL);

	(void)state;
	assert_windows(o);
	outcome_free(o);
}

/* Always attached when it leaves. */
static void leaving_in_a_window(void **state)
{
	struct outcome *o = watch("windows", "leave", CONTINUOUS, NULL);

	(void)state;
	assert_int_equal(WEXITSTATUS(o->status), 7);
	assert_in_range(only_log(o)->measured, 1, only_log(o)->total);
	outcome_free(o);
}

static void forking_in_a_window(void **state)
{
	struct outcome *o = watch("windows", "forks", CONTINUOUS, NULL);

	(void)state;
	assert_in_range(only_log(o)->measured, 1, only_log(o)->total);
	outcome_free(o);
}

static void contexts_end_in_windows(void **state)
{
	struct outcome *o = watch("windows", "contexts", CONTINUOUS, NULL);

	(void)state;
	assert_in_range(only_log(o)->measured, 1, only_log(o)->total);
	assert_int_equal(degraded_otherwise(only_log(o)), 0);
	outcome_free(o);
}

static void captures_are_left_alone(void **state)
{
	struct outcome *o = watch("windows", "capture", CONTINUOUS, NULL);

	(void)state;
	assert_true(only_log(o)->counter[GW_COUNTER_windows_put_off] > 0);
	assert_in_range(only_log(o)->measured, 1, only_log(o)->total);
	outcome_free(o);
}

/* It is waited for: libcupti must not go before it has written its times. */
static void a_kernel_that_outlives_its_window(void **state)
{
	struct outcome *o = watch("windows", "endless", CONTINUOUS, NULL);

	(void)state;
	assert_in_range(only_log(o)->counter[GW_COUNTER_windows], 2, 1000);
	assert_true(only_log(o)->counter[GW_COUNTER_windows_put_off] > 0);
	assert_int_equal(only_log(o)->invalid, 0);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_launches_unmatched], 0);
	outcome_free(o);
}

/* Meanwhile windows are timed by events. */
static void another_subscriber_is_left_alone(void **state)
{
	struct outcome *o = watch("windows", "steady", HALF, "STANDIN_SUBSCRIBED=1");
	const struct account *log = only_log(o);

	(void)state;
	assert_true(log->degraded >> GW_DEGRADED_CUPTI_TAKEN & 1);
	assert_in_range(log->by_events, 1, log->total / 4);
	assert_int_equal(log->measured, log->by_events);
	outcome_free(o);
}

/* Then it stays, idle, and the next window takes it up again. */
static void detaching_fails(void **state)
{
	struct outcome *o = watch("windows", "steady", HALF, "STANDIN_FAIL=cuptiFinalize:*:999");
	const struct account *log = only_log(o);

	(void)state;
	assert_int_equal(log->counter[GW_COUNTER_detaches], 0);
	assert_true(log->counter[GW_COUNTER_windows_put_off] > 0);
	assert_in_range(log->counter[GW_COUNTER_windows], 2, 1000);
	assert_in_range(log->measured, 1, log->total);
	outcome_free(o);
}

/* What goes on being recorded would be written into memory that is no more. */
static void recording_that_goes_on_is_not_detached(void **state)
{
	struct outcome *o =
	        watch("windows", "steady", HALF, "STANDIN_FAIL=cuptiActivityDisable:*:999");
	const struct account *log = only_log(o);

	(void)state;
	assert_int_equal(log->counter[GW_COUNTER_detaches], 0);
	assert_true(log->counter[GW_COUNTER_windows_put_off] > 0);
	assert_in_range(log->measured, 1, log->total);
	outcome_free(o);
}

static void every_call_of_cupti_fails_in_turn(void **state)
{
	static const char *const cupti[] = {
#define CUPTI(symbol, need) #symbol,
#include "preload/cupti/cupti.def"
#undef CUPTI
	};
	static const char *const nth[] = {"1", "2", "*"};
	char rule[96];

	(void)state;
	for (size_t i = 0; i < sizeof(cupti) / sizeof(*cupti); i++) {
		for (size_t n = 0; n < 3; n++) {
			struct outcome *o;

			snprintf(rule, sizeof(rule), "STANDIN_FAIL=%s:%s:999", cupti[i], nth[n]);
			o = watch("windows", "leave", CONTINUOUS, rule);
			outcome_free(o);
		}
	}
}

/* Timed launches of the client's kernel with this grid. */
static bool timed(const struct account *log, uint32_t grid)
{
	for (unsigned i = 0; i < log->kernels; i++)
		if (log->kernel[i].grid[0] == grid && log->kernel[i].min_ns)
			return true;
	return false;
}

static void beside(const char *scenario)
{
	struct outcome *o = watch("cupti_user", scenario, CONTINUOUS, NULL);
	const struct account *log = only_log(o);

	/* It may have come between two windows. */
	assert_in_range(log->counter[GW_COUNTER_yields], 0, 2);
	assert_int_equal(log->counter[GW_COUNTER_returns], log->counter[GW_COUNTER_yields]);
	assert_true(!log->counter[GW_COUNTER_yields] ||
	            log->degraded >> GW_DEGRADED_CUPTI_TAKEN & 1);
	for (uint32_t grid = 1; grid <= 5; grid += 2)
		assert_true(timed(log, grid));
	assert_int_equal(log->invalid, 0);
	outcome_free(o);
}

static void another_tool_comes_and_goes(void **state)
{
	(void)state;
	beside("sessions");
	beside("switches");
}

/* Between windows it finds libcupti free, and nobody has to give way. */
static void another_tool_between_windows(void **state)
{
	struct outcome *o = watch("cupti_user", "sessions", "GPUWATCH_BUDGET=0", NULL);

	(void)state;
	assert_int_equal(only_log(o)->counter[GW_COUNTER_yields], 0);
	assert_int_equal(degraded_otherwise(only_log(o)), 0);
	outcome_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(launches_are_counted_and_some_timed),
	        cmocka_unit_test(each_record_meets_its_own_launch),
	        cmocka_unit_test(predictions_are_made_between_windows_too),
	        cmocka_unit_test(no_graph_meets_a_window),
	        cmocka_unit_test(sixteen_threads),
	        cmocka_unit_test(leaving_in_a_window),
	        cmocka_unit_test(forking_in_a_window),
	        cmocka_unit_test(contexts_end_in_windows),
	        cmocka_unit_test(captures_are_left_alone),
	        cmocka_unit_test(a_kernel_that_outlives_its_window),
	        cmocka_unit_test(another_subscriber_is_left_alone),
	        cmocka_unit_test(detaching_fails),
	        cmocka_unit_test(recording_that_goes_on_is_not_detached),
	        cmocka_unit_test(every_call_of_cupti_fails_in_turn),
	        cmocka_unit_test(another_tool_comes_and_goes),
	        cmocka_unit_test(another_tool_between_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
