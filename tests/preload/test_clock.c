/* The GPU's clocks as NVML tells them, and slow launches with their cause. */
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <time.h>

static struct outcome *under(const char *scenario, const char *one, const char *two,
			     const char *three)
{
	struct run r = RUN("work", scenario);
	struct outcome *o;

	/* The stand-in's kernels take their time from an argument, which must not tell launches
	 * apart. */
	r.env[0] = "GPUWATCH_STATIC=0";
	r.env[1] = one;
	r.env[2] = one ? two : NULL;
	r.env[3] = two ? three : NULL;
	o = run_both(&r);
	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	return o;
}

static bool clock_is_missing(const struct outcome *o)
{
	return only_log(o)->degraded >> GW_DEGRADED_CLOCK & 1;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Ten times a second at most, however long a loaded machine takes for the program. */
TEST(clocks_are_sampled_while_kernels_run)
{
	double begin = seconds();
	struct outcome *o = under("steady", "STANDIN_NVML_SM=1410@0", "STANDIN_NVML_THROTTLE=0x4",
				  "STANDIN_NVML_PIDS=self");
	const struct account *log = only_log(o);

	assert_in_range(log->clocks, 3, 1 + (uint64_t)((seconds() - begin) * 10));
	assert_int_equal(log->clock.sm_khz, 1410000);
	assert_int_equal(log->clock.mem_khz, 1000000);
	assert_int_equal(log->clock.reasons, 4);
	assert_int_equal(log->clock.temperature, 40);
	assert_int_equal(log->clock.power_mw, 100000);
	assert_int_equal(log->clock.others, 0);
	assert_int_equal(log->clock.device, 1);
	assert_true(log->counter[GW_COUNTER_clock_ns] > 0);
	outcome_free(o);
}

TEST(steady_launches_are_not_slow)
{
	struct outcome *o = under("steady", NULL, NULL, NULL);

	assert_int_equal(only_log(o)->slows, 0);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_slow_episodes], 0);
	outcome_free(o);
}

TEST(a_slow_clock_is_the_cause_of_slow_launches)
{
	struct outcome *o = under("slows_down", "STANDIN_NVML_SM=2000@0,1500@501",
				  "STANDIN_NVML_THROTTLE=0x20", NULL);
	const struct account *log = only_log(o);

	assert_int_equal(log->counter[GW_COUNTER_slow_episodes], 1);
	assert_int_equal(log->slows, 2); /* when it began, and at the end */
	assert_int_equal(log->slow.cause, GW_SLOW_CLOCK);
	assert_int_equal(log->slow.reasons, 0x20);
	assert_in_range(log->slow.slow, 350, 400);
	assert_true(log->slow.ratio > 1.30f && log->slow.ratio < 1.36f);
	assert_int_equal(log->slow.sm_khz_before, 2000000);
	assert_in_range(log->slow.sm_khz_during, 1500000, 1700000);
	assert_int_equal(log->slow.until_ns, 0);
	assert_true(log->slow.since_ns > 0);
	outcome_free(o);
}

TEST(without_a_cause_it_is_unknown)
{
	struct outcome *o = under("slows_down", NULL, NULL, NULL);

	assert_int_equal(only_log(o)->slow.cause, GW_SLOW_UNKNOWN);
	outcome_free(o);
}

TEST(a_slow_memory_clock_is_the_cause)
{
	struct outcome *o = under("slows_down", "STANDIN_NVML_MEM=3200@0,1600@501", NULL, NULL);

	assert_int_equal(only_log(o)->clock.mem_khz, 1600000);
	assert_int_equal(only_log(o)->slow.cause, GW_SLOW_MEMORY_CLOCK);
	outcome_free(o);
}

static void own_work_is_the_cause(const char *scenario, const char *order, enum gw_slow_cause cause)
{
	struct outcome *o = under(scenario, order, NULL, NULL);
	const struct account *log = only_log(o);

	assert_int_equal(log->counter[GW_COUNTER_slow_episodes], 1);
	assert_int_equal(log->slow.cause, cause);
	assert_true(log->slow.ratio > 1.30f && log->slow.ratio < 1.36f);
	assert_in_range(log->slow.slow, 350, 400);
	outcome_free(o);
}

TEST(own_kernels_at_the_same_time_are_the_cause)
{
	own_work_is_the_cause("in_company", NULL, GW_SLOW_CONTENTION);
}

/* The records of the slow ones come before those of the kernels that end after them. */
TEST(own_kernels_that_end_later_are_the_cause)
{
	own_work_is_the_cause("in_company", "STANDIN_REORDER=1", GW_SLOW_CONTENTION);
}

TEST(own_copies_at_the_same_time_are_the_cause)
{
	own_work_is_the_cause("beside_copies", NULL, GW_SLOW_COPIES);
}

TEST(other_processes_are_named)
{
	struct outcome *o = under("slows_down_for_long", "STANDIN_NVML_PIDS=self,1",
				  "STANDIN_NVML_OTHERS=0@0,60@501", NULL);

	assert_int_equal(only_log(o)->clock.others, 60);
	assert_int_equal(only_log(o)->slow.cause, GW_SLOW_OTHER_WORK);
	outcome_free(o);
}

/* In a container NVML's process ids are the host's. */
TEST(who_others_are_is_unknown_where_our_own_id_is)
{
	struct outcome *o =
		under("steady", "STANDIN_NVML_PIDS=77,78", "STANDIN_NVML_OTHERS=60", NULL);

	assert_int_equal(only_log(o)->clock.others, UINT32_MAX);
	outcome_free(o);
}

/* Processes on other parts of a GPU share no SM with this one; NVML reports no use of those on its
 * own. */
TEST(with_mig_others_are_those_on_the_same_part)
{
	struct outcome *o = under("steady", "STANDIN_NVML_PIDS=self/1,77/2", NULL, NULL);

	assert_int_equal(only_log(o)->clock.others, 0);
	outcome_free(o);
	o = under("steady", "STANDIN_NVML_PIDS=self/1,77/2,78/1", NULL, NULL);
	assert_int_equal(only_log(o)->clock.others, UINT32_MAX);
	outcome_free(o);
}

TEST(without_nvml_the_log_says_so_and_the_terminal_does_not)
{
	struct outcome *o = under("steady", "STANDIN_NVML_FAIL=nvmlInit_v2", NULL, NULL);

	assert_true(clock_is_missing(o));
	assert_int_equal(warnings(o->err), 0);
	assert_int_equal(only_log(o)->clocks, 0);
	outcome_free(o);
}

TEST(a_clock_that_fails_is_unknown)
{
	static const char *const failing[] = {"STANDIN_NVML_FAIL=nvmlDeviceGetClockInfo",
					      "STANDIN_NVML_FAIL=all"};

	for (int i = 0; i < 2; i++) {
		struct outcome *o = under("steady", failing[i], NULL, NULL);

		assert_int_equal(only_log(o)->clock.sm_khz, 0);
		assert_int_equal(clock_is_missing(o), i == 1);
		outcome_free(o);
	}
}

/* Nobody waits for it, and one question at a time: each takes it three calls of 0.1 s at least. */
TEST(an_nvml_that_takes_its_time_delays_nobody)
{
	double begin = seconds();
	struct outcome *o = under("steady", "STANDIN_NVML_CALL_MS=100", NULL, NULL);
	const struct account *log = only_log(o);

	assert_true(log->clocks <= (seconds() - begin) / 0.3);
	assert_int_equal(log->counter[GW_COUNTER_ring_dropped], 0);
	outcome_free(o);
}

/* Each question takes some 15 ms of CPU, and the program a second; longer on a loaded machine. */
static unsigned samples_within(const char *budget, double *took)
{
	double begin = seconds();
	struct outcome *o = under("steady", "STANDIN_NVML_CPU_US=2500", budget, NULL);
	unsigned clocks = only_log(o)->clocks;

	*took = seconds() - begin;
	assert_int_equal(clock_is_missing(o), clocks == 0);
	outcome_free(o);
	return clocks;
}

TEST(asking_keeps_to_the_budget)
{
	double took, longer;
	unsigned usual = samples_within("GPUWATCH_BUDGET=1", &took);

	/* 20 ms in advance and 0.4% of a CPU; the question that spends the last of it, the one that
	   was put before its answer was there, and a part of one. */
	assert_in_range(usual, 1, 3 + (unsigned)((0.020 + 0.004 * took) / 0.0125));
	assert_true(samples_within("GPUWATCH_BUDGET=100", &longer) > usual + 1);
	assert_int_equal(samples_within("GPUWATCH_BUDGET=0", &longer), 0);
}

TEST(mode_count_asks_nothing)
{
	struct outcome *o = under("steady", "GPUWATCH_MODE=count", NULL, NULL);

	assert_int_equal(only_log(o)->clocks, 0);
	assert_false(clock_is_missing(o));
	outcome_free(o);
}

int main(void)
{
	return tests_run(NULL, NULL);
}
