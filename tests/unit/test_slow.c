/* Slow-launch events against sequences whose truth is known. */
#include "tests/test.h"
#include "tests/unit/slow_bench.h"

/* The detector alone, each launch above its interval with probability @p p. */
static unsigned alarms_of_chance(double p, int n)
{
	struct gw_slow *slow = gw_slow_new(1);
	struct gw_slow_event e;
	unsigned alarms = 0;

	for (int i = 0; i < n; i++) {
		struct gw_slow_sample s = usual();

		s.start_ns = (uint64_t)i + 1;
		s.predicted = 100e-6;
		s.low = 90e-6;
		s.high = 110e-6;
		s.seconds = uniform() < p ? 120e-6 : 100e-6;
		s.steady = true;
		alarms += gw_slow_observe(slow, 1, &s, &e) && !e.until_ns;
	}
	gw_slow_free(slow);
	return alarms;
}

TEST(the_documented_rate_of_false_alarms_holds)
{
	seed = 20261122;
	/* One in 10^7 at most is promised at the worst coverage; 2 * 10^7 launches: two, of chance
	 * seldom more than five. */
	assert_in_range(alarms_of_chance(0.30, 20000000), 0, 5);
	/* And it is a test: launches that miss in eight of ten cases do raise it. */
	assert_true(alarms_of_chance(0.8, 2000) > 0);
}

TEST(stationary_launches_raise_no_alarm)
{
	static const double sigmas[] = {0.001, 0.01, 0.03, 0.1, 0.3};

	seed = 7;
	for (size_t k = 0; k < COUNT(sigmas); k++)
		for (unsigned every = 1; every <= 1000; every *= 10) {
			struct bench b;
			struct gw_slow_sample s = usual();

			open_bench(&b, every);
			launches(&b, 100000, 100e-6, sigmas[k], &s);
			assert_int_equal(b.begun, 0);
			close_bench(&b);
		}
}

/* Contaminated: one launch in twelve takes up to three times as long, for no reason. */
BENCH_TEST(a_heavy_tail_raises_no_alarm, 11, 20)
{
	for (int i = 0; i < 100000; i++)
		launch(b,
		       100e-6 * exp(0.01 * normal()) *
			       (uniform() < 1 / 12. ? 1 + 2 * uniform() : 1),
		       usual());
	assert_int_equal(b->begun, 0);
}

/* How many launches an alarm takes after the time has grown by @p ratio; 0: none came. */
static int launches_to_alarm(struct bench *b, double ratio, const struct gw_slow_sample *s)
{
	for (int i = 1; i <= 200; i++)
		if (launch(b, 100e-6 * ratio * exp(0.01 * normal()), *s))
			return i;
	return 0;
}

TEST(a_clock_that_drops_is_reported_within_twenty_launches)
{
	seed = 3;
	for (unsigned every = 1; every <= 100; every *= 10) {
		struct bench b;
		struct gw_slow_sample s = usual();
		uint64_t before;

		open_bench(&b, every);
		launches(&b, 1000, 100e-6, 0.01, &s);
		before = b.ns;
		s.clock.sm_hz = 1500e6;
		s.clock.reasons = 4;
		assert_in_range(launches_to_alarm(&b, 1980 / 1500., &s), 15, 20);
		assert_int_equal(b.last.cause, GW_SLOW_CLOCK);
		assert_int_equal(b.last.reasons, 4);
		assert_float_equal(b.last.ratio, 1.32, 0.02);
		assert_float_equal(b.last.sm_before, 1980e6, 1);
		assert_float_equal(b.last.sm_during, 1500e6, 1);
		assert_in_range(b.last.since_ns, before + 1, before + 400000);
		assert_int_equal(b.last.until_ns, 0);
		close_bench(&b);
	}
}

BENCH_TEST(an_episode_is_one_event_and_ends_when_the_times_come_back, 5, 10)
{
	struct gw_slow_sample s = usual(), slow = usual();
	uint64_t back;

	launches(b, 1000, 100e-6, 0.01, &s);
	slow.clock.sm_hz = 1200e6;
	launches(b, 5000, 165e-6, 0.01, &slow);
	assert_int_equal(b->begun, 1);
	assert_int_equal(b->ended, 0);
	back = b->ns;
	launches(b, 1000, 100e-6, 0.01, &s);
	assert_int_equal(b->begun, 1);
	assert_int_equal(b->ended, 1);
	assert_int_equal(b->last.cause, GW_SLOW_CLOCK);
	assert_in_range(b->last.until_ns, back, back + 1000000);
	assert_in_range(b->last.launches, 4990, 5010);
	assert_in_range(b->last.slow, 4990, 5010);
}

BENCH_TEST(an_open_episode_is_found_at_the_end, 6, 10)
{
	struct gw_slow_sample s = usual();
	struct gw_slow_event e;

	launches(b, 1000, 100e-6, 0.01, &s);
	assert_false(gw_slow_open(b->slow, 0, &e));
	launches(b, 500, 140e-6, 0.01, &s);
	assert_true(gw_slow_open(b->slow, 0, &e));
	assert_int_equal(e.config, 1);
	assert_int_equal(e.until_ns, 0);
	assert_in_range(e.launches, 480, 510);
	assert_false(gw_slow_open(b->slow, 1, &e));
}

/* What a launch of @p config took too long that @p seconds took, where the next should take 100 us.
 */
static double excess(struct gw_slow *slow, uint32_t config, double seconds, struct gw_slow_sample s,
		     enum gw_slow_cause *cause)
{
	s.steady = true;
	s.predicted = 100e-6;
	s.low = 90e-6;
	s.high = 110e-6;
	s.seconds = seconds;
	return gw_slow_excess(slow, config, &s, cause);
}

BENCH_TEST(launches_of_an_open_episode_exceed_what_was_predicted_before_it, 6, 10)
{
	struct gw_slow_sample s = usual();
	enum gw_slow_cause cause;

	launches(b, 1000, 100e-6, 0.01, &s);
	assert_true(excess(b->slow, 1, 140e-6, s, &cause) == 0);
	launches(b, 500, 140e-6, 0.01, &s);
	assert_true(fabs(excess(b->slow, 1, 140e-6, s, &cause) - 40e-6) < 1e-6);
	assert_int_equal(cause, GW_SLOW_UNKNOWN);
	assert_true(excess(b->slow, 1, 90e-6, s, &cause) == 0);
	assert_true(excess(b->slow, 99, 140e-6, s, &cause) == 0);
}

/*
 * Launches each 0.5 ms for @p seconds under the circumstances of @p s, one in @p each interrupted
 * for 2 ms (0: none): what of that was lost to other processes, 0 to 1; NaN for nothing at all.
 */
static double share_lost(struct gw_slow *slow, double seconds, int each, struct gw_slow_sample *s)
{
	enum gw_slow_cause cause;
	double lost = 0, whole = 0;

	for (int i = 1; i <= (int)(seconds * 2000); i++) {
		const bool cut = each && !(i % each);

		s->start_ns += 500000;
		lost += excess(slow, 1, cut ? 2100e-6 : 100e-6 * (1 + 0.3 * (i % 2)), *s, &cause);
		assert_int_equal(cause, GW_SLOW_OTHER_WORK);
		whole += cut ? 2000e-6 : 0;
	}
	return lost / whole;
}

TEST(launches_interrupted_beside_another_process_are_lost_to_it)
{
	struct gw_slow *slow = gw_slow_new(4);
	struct gw_slow_sample s = usual();

	s.clock.others = 0.5; /* from the first launch on: no change to find */
	assert_float_equal(share_lost(slow, 10, 20, &s), 1, 1e-6);
	s.clock.others = 0;
	assert_float_equal(share_lost(slow, 10, 20, &s), 0, 1e-6);
	gw_slow_free(slow);
}

TEST(what_a_configuration_has_alone_is_not_lost)
{
	struct gw_slow *slow = gw_slow_new(4);
	struct gw_slow_sample s = usual();

	share_lost(slow, 20, 20, &s);
	s.clock.others = 0.5;
	assert_float_equal(share_lost(slow, 10, 20, &s), 0, 0.03);
	assert_float_equal(share_lost(slow, 20, 5, &s), 0.75, 0.06);
	gw_slow_free(slow);
}

/* NVML averages over a second: until then a process that begins is not there. */
TEST(another_process_counts_before_it_is_known)
{
	struct gw_slow *slow = gw_slow_new(4);
	struct gw_slow_sample s = usual();

	share_lost(slow, 8, 0, &s);
	share_lost(slow, 2, 20, &s);
	s.clock.others = 0.5;
	assert_float_equal(share_lost(slow, 10, 20, &s), 1, 1e-6);
	gw_slow_free(slow);
}

TEST(nothing_is_lost_to_processes_that_are_not_known)
{
	struct gw_slow *slow = gw_slow_new(4);
	struct gw_slow_sample s = usual();

	s.clock.others = NAN;
	assert_float_equal(share_lost(slow, 5, 20, &s), 0, 1e-6);
	s.clock.others = 0.02;
	assert_float_equal(share_lost(slow, 5, 20, &s), 0, 1e-6);
	s.clock.others = 0.5;
	s.overlapped = true;
	assert_float_equal(share_lost(slow, 5, 20, &s), 0, 1e-6);
	s.overlapped = false;
	s.copies = true;
	assert_float_equal(share_lost(slow, 5, 20, &s), 0, 1e-6);
	gw_slow_free(slow);
}

/* The cause an alarm names when launches grow by 30% under the circumstances of @p s. */
static enum gw_slow_cause cause_under(const struct gw_slow_sample *s)
{
	struct bench b;
	struct gw_slow_sample before = usual();
	enum gw_slow_cause cause;

	seed = 9;
	open_bench(&b, 10);
	launches(&b, 200, 100e-6, 0.01, &before);
	assert_int_not_equal(launches_to_alarm(&b, 1.3, s), 0);
	cause = b.last.cause;
	close_bench(&b);
	return cause;
}

TEST(the_cause_is_what_changed)
{
	struct gw_slow_sample s = usual();

	assert_int_equal(cause_under(&s), GW_SLOW_UNKNOWN);
	s.overlapped = true;
	assert_int_equal(cause_under(&s), GW_SLOW_CONTENTION);
	s = usual();
	s.copies = true;
	assert_int_equal(cause_under(&s), GW_SLOW_COPIES);
	s = usual();
	s.clock.sm_hz = 1500e6;
	assert_int_equal(cause_under(&s), GW_SLOW_CLOCK);
	s = usual();
	s.clock.mem_hz = 1600e6;
	assert_int_equal(cause_under(&s), GW_SLOW_MEMORY_CLOCK);
	s = usual();
	s.clock.others = 0.5;
	assert_int_equal(cause_under(&s), GW_SLOW_OTHER_WORK);
	s = usual();
	s.dram_bytes = 2e6;
	assert_int_equal(cause_under(&s), GW_SLOW_CACHE);
}

BENCH_TEST(what_ran_beside_it_before_is_not_the_cause, 10, 10)
{
	struct gw_slow_sample s = usual();

	s.overlapped = s.copies = true;
	launches(b, 400, 100e-6, 0.01, &s);
	assert_int_not_equal(launches_to_alarm(b, 1.3, &s), 0);
	assert_int_equal(b->last.cause, GW_SLOW_UNKNOWN);
}

/* As the power cap does it on an H200: the clock falls, times rise a little, then by a fifth. */
BENCH_TEST(a_clock_that_fell_before_it_showed_is_the_cause, 21, 200)
{
	struct gw_slow_sample s = usual();

	launches(b, 400, 200e-6, 0.01, &s);
	s.clock.sm_hz = 1500e6;
	launches(b, 100, 204e-6, 0.01, &s);
	launches(b, 60, 240e-6, 0.01, &s);
	assert_int_equal(b->begun, 1);
	assert_int_equal(b->last.cause, GW_SLOW_CLOCK);
}

TEST(what_explains_too_little_is_not_the_cause)
{
	struct gw_slow_sample s = usual();

	s.clock.sm_hz = 1900e6; /* 4% of 30% */
	assert_int_equal(cause_under(&s), GW_SLOW_UNKNOWN);
	s = usual();
	s.clock.others = 0.02;
	s.dram_bytes = 1.1e6;
	assert_int_equal(cause_under(&s), GW_SLOW_UNKNOWN);
}

TEST(what_is_unknown_names_no_cause)
{
	struct gw_slow_sample s = usual();

	s.clock = (struct gw_clock_state){.sm_hz = NAN, .mem_hz = NAN, .others = NAN};
	s.dram_bytes = NAN;
	assert_int_equal(cause_under(&s), GW_SLOW_UNKNOWN);
}

BENCH_TEST(faster_launches_raise_no_alarm, 13, 10)
{
	struct gw_slow_sample s = usual();

	launches(b, 1000, 100e-6, 0.01, &s);
	launches(b, 1000, 60e-6, 0.01, &s);
	assert_int_equal(b->begun, 0);
}

BENCH_TEST(less_than_five_per_cent_is_not_worth_an_event, 14, 10)
{
	struct gw_slow_sample s = usual();

	launches(b, 1000, 100e-6, 0.002, &s);
	launches(b, 1000, 104e-6, 0.001, &s);
	assert_int_equal(b->begun, 0);
}

TEST(predictions_from_elsewhere_do_not_count)
{
	struct gw_slow *slow = gw_slow_new(4);
	struct gw_slow_event e;

	for (int i = 0; i < 1000; i++) {
		struct gw_slow_sample s = usual();

		s.predicted = 100e-6;
		s.high = 110e-6;
		s.seconds = i < 100 ? 100e-6 : 200e-6;
		s.steady = i < 100;
		assert_false(gw_slow_observe(slow, 1, &s, &e));
	}
	gw_slow_free(slow);
}

/* Two speeds, each for a while: the first changes are news, more of the same are ever less so. */
BENCH_TEST(changes_to_and_fro_do_not_flood, 15, 5)
{
	struct gw_slow_sample s = usual();

	for (int i = 0; i < 500; i++)
		launches(b, 60, i % 2 ? 130e-6 : 100e-6, 0.01, &s);
	assert_in_range(b->begun, 1, 40);
}

TEST(configurations_beyond_the_limit_are_left_alone)
{
	struct gw_slow *slow = gw_slow_new(4);
	struct gw_slow_sample s = usual();
	struct gw_slow_event e;

	s.predicted = s.high = s.seconds = 1e-6;
	s.steady = true;
	assert_false(gw_slow_observe(slow, 0, &s, &e));
	assert_false(gw_slow_observe(slow, 5, &s, &e));
	assert_false(gw_slow_observe(slow, UINT32_MAX, &s, &e));
	assert_false(gw_slow_open(slow, 5, &e));
	gw_slow_free(slow);
	gw_slow_free(NULL);
}

TEST(every_cause_has_a_name)
{
	assert_string_equal(gw_slow_cause_name(GW_SLOW_CLOCK), "SM clock");
	assert_string_equal(gw_slow_cause_name((enum gw_slow_cause)999), "unknown");
	assert_true(gw_slow_cause_meaning(GW_SLOW_CACHE)[0] != 0);
}

TESTS_MAIN()
