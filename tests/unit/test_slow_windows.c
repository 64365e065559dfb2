/* Slow episodes of kernels that are timed by sample, in windows. */
#include "tests/test.h"
#include "tests/unit/slow_bench.h"

/* Minutes of windows, two a second, each with @p each times of configuration 1. Seconds until an
 * episode begins; -1: none does. */
static double sampled(struct bench *b, double minutes, unsigned each, double seconds, double sigma,
		      struct gw_slow_sample s)
{
	const uint64_t since = b->ns;
	double at = -1;

	s.sampled = true;
	for (int i = 0; i < (int)(minutes * 120); i++) {
		const double window = exp(0.003 * normal());

		b->ns += 500000000;
		for (unsigned k = 0; k < each; k++) {
			s.start_ns = b->ns + k * 10000;
			s.seconds = seconds * window * exp(sigma * normal());
			if (!gw_slow_observe(b->slow, 1, &s, &b->last))
				continue;
			b->last.until_ns ? b->ended++ : b->begun++;
			if (at < 0 && !b->last.until_ns)
				at = (double)(b->ns - since) * 1e-9;
		}
	}
	return at;
}

TEST(three_per_cent_are_found_within_a_minute_of_samples)
{
	struct gw_slow_sample s = usual();

	for (unsigned i = 0; i < 30; i++) {
		struct bench b;
		double at;

		seed = 2 * i + 1;
		open_bench(&b, 1);
		assert_true(sampled(&b, 10, 1, 100e-6, 0.02, s) < 0);
		at = sampled(&b, 5, 1, 103e-6, 0.02, s);
		assert_true(at > 15 && at < 60);
		assert_int_equal(b.last.cause, GW_SLOW_UNKNOWN);
		assert_true(fabs(b.last.ratio - 1.03) < 0.015);
		assert_true(fabs(b.last.predicted - 100e-6) < 2e-6);
		assert_int_equal(b.ended, 0);
		sampled(&b, 2, 1, 100e-6, 0.02, s);
		assert_int_equal(b.ended, 1);
		assert_true(fabs((double)b.last.until_ns * 1e-9 - 900) < 30);
		assert_true(fabs((double)b.last.since_ns * 1e-9 - 600) < 30);
		close_bench(&b);
	}
}

TEST(a_change_of_17_s_is_found_in_a_kernel_that_is_timed_often)
{
	unsigned found = 0;

	for (unsigned i = 0; i < 30; i++) {
		struct bench b;

		seed = 2 * i + 1;
		open_bench(&b, 1);
		assert_true(sampled(&b, 10, 4, 100e-6, 0.02, usual()) < 0);
		sampled(&b, 17 / 60.0, 4, 105e-6, 0.02, usual());
		sampled(&b, 1, 4, 100e-6, 0.02, usual());
		found += b.begun;
		close_bench(&b);
	}
	assert_true(found >= 25);
}

TEST(hours_of_samples_raise_no_alarm)
{
	static const double sigmas[] = {0.001, 0.01, 0.03, 0.1, 0.3};
	struct gw_slow_sample s = usual();

	seed = 11;
	for (size_t k = 0; k < sizeof(sigmas) / sizeof(*sigmas); k++) {
		struct bench b;

		open_bench(&b, 1);
		assert_true(sampled(&b, 600, 2, 100e-6, sigmas[k], s) < 0);
		close_bench(&b);
	}
}

/* All times of a window are of one of two kinds. */
BENCH_TEST(windows_that_differ_from_each_other_are_no_episode, 13, 1)
{
	struct gw_slow_sample s = usual();

	for (int i = 0; i < 20000; i++)
		assert_true(sampled(b, 1 / 120.0, 8, uniform() < 0.3 ? 120e-6 : 100e-6, 0.001, s) <
			    0);
}

TEST(a_clock_that_wanders_is_taken_out_of_samples)
{
	struct gw_slow_sample s = usual(), lower = usual();
	struct bench b;

	seed = 17;
	lower.clock.sm_hz /= 1.018;
	open_bench(&b, 1);
	assert_true(sampled(&b, 10, 2, 100e-6, 0.005, s) < 0);
	assert_true(sampled(&b, 10, 2, 101.8e-6, 0.005, lower) < 0);
	/* Of a kernel bound by memory the clock explains nothing. */
	close_bench(&b);
	open_bench(&b, 1);
	s.follows = lower.follows = 0;
	assert_true(sampled(&b, 10, 2, 100e-6, 0.005, s) < 0);
	assert_true(sampled(&b, 10, 2, 103e-6, 0.005, lower) > 0);
	assert_int_equal(b.last.cause, GW_SLOW_UNKNOWN);
	close_bench(&b);
}

static enum gw_slow_cause cause_of_samples(const struct gw_slow_sample *s)
{
	enum gw_slow_cause cause;
	struct bench b;

	open_bench(&b, 1);
	sampled(&b, 10, 2, 100e-6, 0.005, usual());
	assert_true(sampled(&b, 3, 2, 104e-6, 0.005, *s) > 0);
	cause = b.last.cause;
	close_bench(&b);
	return cause;
}

TEST(samples_have_causes)
{
	struct gw_slow_sample s = usual();

	seed = 19;
	assert_int_equal(cause_of_samples(&s), GW_SLOW_UNKNOWN);
	s.clock.others = 0.3;
	assert_int_equal(cause_of_samples(&s), GW_SLOW_OTHER_WORK);
	s = usual();
	s.clock.sm_hz /= 1.04;
	assert_int_equal(cause_of_samples(&s), GW_SLOW_CLOCK);
	s = usual();
	s.dram_bytes *= 1.5;
	assert_int_equal(cause_of_samples(&s), GW_SLOW_CACHE);
	s = usual();
	s.overlapped = true;
	assert_int_equal(cause_of_samples(&s), GW_SLOW_CONTENTION);
	s = usual();
	s.copies = true;
	assert_int_equal(cause_of_samples(&s), GW_SLOW_COPIES);
}

/* What overlaps always does not explain a change. */
BENCH_TEST(what_was_there_before_is_no_cause_of_samples, 23, 1)
{
	struct gw_slow_sample s = usual();

	s.overlapped = s.copies = true;
	s.clock.others = 0.3;
	sampled(b, 10, 2, 100e-6, 0.005, s);
	assert_true(sampled(b, 3, 2, 104e-6, 0.005, s) > 0);
	assert_int_equal(b->last.cause, GW_SLOW_UNKNOWN);
}

BENCH_TEST(a_change_of_mode_ends_an_episode, 29, 1)
{
	struct gw_slow_sample s = usual();
	struct gw_slow_event e;

	sampled(b, 10, 2, 100e-6, 0.005, s);
	assert_true(sampled(b, 3, 2, 104e-6, 0.005, s) > 0);
	assert_true(gw_slow_open(b->slow, 0, &e));
	assert_true(launch(b, 104e-6, s)); /* mode audit: each is timed */
	assert_true(b->last.until_ns != 0);
	assert_false(gw_slow_open(b->slow, 0, &e));
	launches(b, 200, 100e-6, 0.01, &s);
	launches(b, 40, 130e-6, 0.01, &s);
	assert_true(gw_slow_open(b->slow, 0, &e));
	s.sampled = true;
	s.start_ns = b->ns;
	s.seconds = 100e-6;
	assert_true(gw_slow_observe(b->slow, 1, &s, &e));
	assert_true(e.until_ns != 0);
	assert_false(gw_slow_open(b->slow, 0, &e));
}

/* Phases of minutes: at first they are episodes, until that is known of the kernel. */
BENCH_TEST(phases_that_come_again_are_learned, 31, 1)
{
	struct gw_slow_sample s = usual();

	for (int i = 0; i < 30; i++)
		sampled(b, 2, 2, i % 2 ? 110e-6 : 100e-6, 0.005, s);
	assert_in_range(b->begun, 1, 5);
}

TEST(sampled_configurations_beyond_the_bound_make_room)
{
	enum { MANY = 20000 };
	struct gw_slow *slow = gw_slow_new(MANY);
	struct gw_slow_sample s = usual();
	struct gw_slow_event e;
	int events = 0;

	s.sampled = true;
	s.seconds = 100e-6;
	for (uint32_t config = 1; config <= MANY; config++)
		for (int i = 0; i < 10; i++) {
			s.start_ns += 10000000;
			assert_false(gw_slow_observe(slow, config, &s, &e));
		}
	assert_in_range(gw_slow_sampled_bytes(slow), 1, 8 << 20);
	s.start_ns = 1;                   /* a clock that was set back */
	for (int i = 0; i < 60000; i++) { /* one that has no room yet becomes slow */
		s.start_ns += 10000000;
		s.seconds = (i < 30000 ? 100e-6 : 120e-6) * (i % 2 ? 1.005 : 1);
		events += gw_slow_observe(slow, 1, &s, &e);
	}
	assert_in_range(events, 1, 5);
	s.start_ns = 1;
	assert_false(gw_slow_observe(slow, MANY, &s, &e));
	s.seconds = NAN;
	assert_false(gw_slow_observe(slow, MANY, &s, &e));
	assert_false(gw_slow_observe(slow, MANY + 1, &s, &e));
	gw_slow_free(slow);
}

int main(void)
{
	return tests_run(NULL, NULL);
}
