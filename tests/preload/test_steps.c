/* The wall clock is set, back and ahead, while programs run and while they end: nothing is lost. */
#include "tests/preload/harness.h"
#include "tests/test.h"

static const char *const modes[] = {"GPUWATCH_MODE=audit", "GPUWATCH_MODE=watch",
				    "GPUWATCH_MODE=count"};
static const char *const both_ways[] = {"clock_set_back", "clock_set_ahead"};

static struct outcome *set_in(const char *program, const char *scenario, const char *mode,
			      const char *option, const char *moved)
{
	struct run r = RUN(program, scenario);
	struct outcome *o;

	r.preload_before = built("moved_clock.so");
	r.env[0] = mode;
	r.env[1] = moved ? moved : "MOVED_CLOCK=0,0,0";
	r.env[2] = option;
	o = run_both(&r);
	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	return o;
}

/* Nothing is waited for until the clock is where it was: a ring lasts for half of an hour's
 * launches. */
TEST(no_launch_is_lost)
{
	for (int i = 0; i < 6; i++) {
		struct outcome *o =
			set_in("work", both_ways[i % 2], modes[i / 2], "GPUWATCH_RING=256", NULL);

		assert_int_equal(only_log(o)->counter[GW_COUNTER_ring_dropped], 0);
		outcome_free(o);
	}
}

/* Kernels of before the step are not taken for ones that ran at the same time. */
TEST(launches_are_measured_and_learnt_from)
{
	for (int i = 0; i < 2; i++) {
		struct outcome *o = set_in("work", both_ways[i], modes[0], NULL, NULL);
		const struct account *log = only_log(o);

		assert_int_equal(log->measured, log->total);
		assert_int_equal(log->invalid, 0);
		/* Each step meets a kernel at most. */
		assert_in_range(log->counter[GW_COUNTER_observations], log->total - 8, log->total);
		assert_in_range(log->tiers[GW_TIER_STEADY], log->total / 2, log->total);
		assert_replays(o);
		outcome_free(o);
	}
}

TEST(windows_go_on)
{
	for (int i = 0; i < 2; i++) {
		struct outcome *o =
			set_in("work", both_ways[i], modes[1], "GPUWATCH_BUDGET=50", NULL);

		assert_in_range(only_log(o)->counter[GW_COUNTER_windows], 2, 1000);
		outcome_free(o);
	}
}

/* Each step, and no launch is said to have known of what came after it. */
TEST(the_log_says_so_and_proves_no_wrong_order)
{
	char command[1600];

	for (int i = 0; i < 2; i++) {
		struct outcome *o = set_in("work", both_ways[i], modes[0], NULL, NULL);

		assert_true(only_log(o)->degraded >> GW_DEGRADED_CLOCK_SET & 1);
		assert_int_equal(warnings(o->err), 0);
		snprintf(command, sizeof(command),
			 "%s report %s | grep -q 'the wall clock was set by [-+]'", GW_COMMAND,
			 only_log(o)->path);
		assert_int_equal(system(command), 0);
		snprintf(command, sizeof(command), "%s report %s > /dev/null", GW_COMMAND,
			 only_log(o)->path);
		assert_int_equal(system(command), 0);
		outcome_free(o);
	}
}

/* Every few ms, from before the first launch to after the last. */
TEST(programs_end_as_they_do)
{
	static const char *const ends[] = {"return", "at_exit", "unfinished"};
	static const char *const moved[] = {"MOVED_CLOCK=0,3,-3600", "MOVED_CLOCK=0,3,3600"};

	for (size_t i = 0; i < COUNT(ends); i++)
		for (int m = 0; m < 2; m++)
			outcome_free(set_in("ends", ends[i], modes[0], NULL, moved[m]));
}

TESTS_MAIN()
