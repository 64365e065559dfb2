/* A launch within a launch is two launches; one that was left by a jump costs itself alone. */
#include "tests/preload/harness.h"
#include "tests/test.h"

static const char *const modes[] = {"GPUWATCH_MODE=audit", "GPUWATCH_MODE=watch",
				    "GPUWATCH_MODE=count"};

static struct outcome *watched(const char *scenario, const char *mode, const char *more,
			       const char *library)
{
	struct run r = RUN("nested", scenario);
	struct outcome *o;

	r.env[0] = mode;
	r.env[1] = more;
	r.preload_after = library ? built(library) : NULL;
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	assert_string_equal(o->out, "done\n");
	return o;
}

static void exact_in_each_mode(const char *scenario, const char *more, const char *library)
{
	for (unsigned i = 0; i < 3; i++) {
		struct outcome *o = watched(scenario, modes[i], more, library);

		assert_true(o->truth[0].total > 200);
		assert_logs_are_the_truth(o);
		assert_int_equal(only_log(o)->counter[GW_COUNTER_launches_abandoned], 0);
		assert_int_equal(only_log(o)->counter[GW_COUNTER_ring_dropped], 0);
		outcome_free(o);
	}
}

TEST(a_handler_launches_at_each_instruction)
{
	exact_in_each_mode("stepped", NULL, NULL);
}

/* The library's callbacks are all that runs of it. Mode watch records some of the launches alone.
 */
TEST(a_handler_launches_at_each_instruction_of_callbacks)
{
	static const char *const first[] = {"FIRST=0", "FIRST=1", "FIRST=2"};

	for (unsigned i = 0; i < 3; i++) {
		struct run r = RUN("nested", i == 1 ? "stepped" : "stepped_look_ups");
		struct outcome *o;

		r.env[0] = modes[i == 2 ? 2 : 0];
		r.env[1] = first[i];
		r.inject = true;
		o = run_watched(&r);
		assert_string_equal(o->out, "done\n");
		assert_true(o->truth[0].total > 200);
		assert_logs_are_the_truth(o);
		assert_int_equal(only_log(o)->counter[GW_COUNTER_launches_abandoned], 0);
		assert_int_equal(only_log(o)->counter[GW_COUNTER_ring_dropped], 0);
		outcome_free(o);
	}
}

TEST(a_handler_launches_at_each_instruction_of_look_ups)
{
	exact_in_each_mode("stepped_look_ups", NULL, NULL);
}

/* Each launch is timed by a pair of events, whose times go through the ring, too. */
TEST(a_handler_launches_among_event_pairs)
{
	exact_in_each_mode("stepped_look_ups", "GPUWATCH_CUPTI=/nowhere", NULL);
}

TEST(a_tool_launches_within_each_launch)
{
	exact_in_each_mode("within", NULL, "inner_launch.so");
}

TEST(a_tool_launches_within_timed_launches)
{
	exact_in_each_mode("within", "GPUWATCH_CUPTI=/nowhere", "inner_launch.so");
}

/* Injected, the library sees a launch's begin and end by two callbacks, with the other's between.
 */
TEST(a_handler_launches_while_the_driver_sleeps)
{
	for (unsigned i = 0; i < 4; i++) {
		struct run r = RUN("nested", "in_the_driver");
		struct outcome *o;

		r.env[0] = modes[i % 2 * 2];
		r.env[1] = "STANDIN_SLOW=cuLaunchKernel:4";
		r.inject = i >= 2;
		o = run_watched(&r);
		assert_string_equal(o->out, "done\n");
		assert_true(o->truth[0].total > 200);
		assert_logs_are_the_truth(o);
		assert_int_equal(only_log(o)->counter[GW_COUNTER_launches_abandoned], 0);
		outcome_free(o);
	}
}

static uint64_t of_grid(const struct account *a, uint32_t grid)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < a->kernels; i++)
		if (a->kernel[i].grid[0] == grid)
			n += a->kernel[i].count;
	return n;
}

TEST(left_by_a_jump_at_each_instruction)
{
	for (unsigned i = 0; i < 3; i++) {
		struct outcome *o = watched("jumped", modes[i], NULL, NULL);

		assert_true(of_grid(&o->truth[0], 11) > 100);
		assert_int_equal(of_grid(only_log(o), 11), of_grid(&o->truth[0], 11));
		assert_int_equal(of_grid(only_log(o), 12), of_grid(&o->truth[0], 12));
		assert_true(only_log(o)->counter[GW_COUNTER_launches_abandoned] > 50);
		outcome_free(o);
	}
}

/* Nothing shows that the outer launch is gone: the ring fills up once, and goes on. */
TEST(left_by_a_jump_and_launched_from_deeper)
{
	struct outcome *o = watched("jumped_then_deeper", "GPUWATCH_MODE=count", NULL, NULL);
	const struct account *log = only_log(o);

	assert_int_equal(log->counter[GW_COUNTER_launches_abandoned], 1);
	assert_int_equal(of_grid(log, 12) + log->counter[GW_COUNTER_ring_dropped],
			 of_grid(&o->truth[0], 12));
	assert_true(of_grid(log, 12) > 38000);
	outcome_free(o);
}

TESTS_MAIN()
