/* The sequential test of gpuwatch health on made-up kernels. */
#include "cli/health/detect.h"
#include "tests/random.h"
#include "tests/test.h"

static uint64_t seed, now;

/* What a GPU does in one interval: ten kernels bound by memory, ten by arithmetic. */
struct load {
	double memory, compute; /* times as usual; 0: none of these */
	double sm_khz;          /* NaN: unknown */
	double noise;
	uint64_t job;    /* other kernels */
	unsigned others; /* of the longest kernels, how many are of another job */
};
static const struct load usual = {1, 1, 1980000, 0.01, 0, 0};

static void samples(struct health *h, const struct load *l)
{
	for (unsigned i = 0; i < 20; i++) {
		const bool memory = i % 2;
		const double slow = memory ? l->memory : l->compute;
		const double clock = !memory && l->sm_khz > 0 ? 1980000 / l->sm_khz : 1;
		struct health_sample s = {
			.key = 100 * (l->job + (i + l->others >= 20 ? 50 : 0)) + i + 1,
			.kernel = memory ? "copy" : "gemm",
			.resource = memory ? HEALTH_MEMORY : HEALTH_COMPUTE,
			.launches = 50,
			.mean_ns =
				1e4 * (i + 1) * slow * clock * exp(l->noise * next_normal(&seed)),
			.sm_khz = l->sm_khz,
		};

		health_add(h, &s);
	}
}

static void interval(struct health *h, const struct load *l)
{
	samples(h, l);
	now += health_interval_ns();
	health_tick(h, now);
}

static void intervals(struct health *h, const struct load *l, unsigned count)
{
	while (count--)
		interval(h, l);
}

static struct health *start(unsigned count)
{
	struct health *h = health_new();

	seed = 7;
	now = UINT64_C(1000000000000);
	intervals(h, &usual, count);
	return h;
}

static enum health_state state_of(const struct health *h, enum health_resource r)
{
	struct health_verdict v;

	health_of(h, r, &v);
	return v.state;
}

TEST(a_gpu_is_unknown_before_it_has_run_for_long_enough)
{
	struct health *h = start(0);
	enum health_resource worst;

	assert_int_equal(health_state(h, &worst), HEALTH_UNKNOWN);
	intervals(h, &usual, 13);
	assert_int_equal(health_state(h, &worst), HEALTH_UNKNOWN);
	intervals(h, &usual, 1);
	assert_int_equal(health_state(h, &worst), HEALTH_GOOD);
	health_free(h);
}

TEST(memory_that_slows_by_three_per_cent_is_found_within_a_minute)
{
	struct load slow = usual;
	struct health_verdict v;
	struct health *h = start(60);
	enum health_resource worst;
	const uint64_t before = now;

	slow.memory = 1.03;
	intervals(h, &slow, 6);
	assert_int_equal(health_state(h, &worst), HEALTH_SLOW);
	assert_int_equal(worst, HEALTH_MEMORY);
	health_of(h, HEALTH_MEMORY, &v);
	assert_true(fabs(v.ratio - 1.03) < 0.01);
	assert_true(v.since_ns >= before && v.since_ns < before + 2 * health_interval_ns());
	assert_true(v.confidence > 0.99);
	assert_int_equal(v.configs, 10);
	assert_int_equal(v.evidence, HEALTH_EVIDENCE);
	assert_string_equal(v.row[0].kernel, "copy");
	assert_true(fabs(v.row[0].measured_ns / v.row[0].expected_ns - 1.03) < 0.02);
	assert_int_equal(state_of(h, HEALTH_COMPUTE), HEALTH_GOOD);
	assert_int_equal(state_of(h, HEALTH_CLOCK), HEALTH_GOOD);
	health_free(h);
}

TEST(a_clock_that_falls_is_the_clock_and_not_the_kernels)
{
	struct load slow = usual;
	struct health *h = start(60);

	slow.sm_khz = 1900000;
	intervals(h, &slow, 12);
	assert_int_equal(state_of(h, HEALTH_CLOCK), HEALTH_SLOW);
	assert_int_equal(state_of(h, HEALTH_COMPUTE), HEALTH_GOOD);
	assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_GOOD);
	health_free(h);
}

TEST(without_a_clock_kernels_are_judged_as_they_are)
{
	struct load l = usual;
	struct health *h = start(0);
	struct health_verdict v;

	l.sm_khz = NAN;
	intervals(h, &l, 60);
	l.compute = 1.05;
	intervals(h, &l, 12);
	assert_int_equal(state_of(h, HEALTH_COMPUTE), HEALTH_SLOW);
	health_of(h, HEALTH_CLOCK, &v);
	assert_int_equal(v.state, HEALTH_UNKNOWN);
	assert_true(isnan(v.ratio));
	health_free(h);
}

TEST(a_gpu_that_recovers_is_healthy_again)
{
	struct load slow = usual;
	struct health *h = start(60);
	struct health_verdict v;

	slow.memory = 1.1;
	intervals(h, &slow, 12);
	assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_SLOW);
	intervals(h, &usual, 13);
	health_of(h, HEALTH_MEMORY, &v);
	assert_int_equal(v.state, HEALTH_GOOD);
	assert_int_equal(v.since_ns, 0);
	assert_int_equal(v.evidence, 0);
	health_free(h);
}

TEST(a_gpu_that_stays_slow_stays_found)
{
	struct load slow = usual;
	struct health *h = start(60);

	slow.memory = 1.05;
	for (int i = 0; i < 2000; i++) {
		interval(h, &slow);
		if (i > 12)
			assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_SLOW);
	}
	health_free(h);
}

TEST(drift_over_a_day_is_no_change)
{
	struct health *h = start(60);
	enum health_resource worst;

	for (int i = 0; i < 17280; i++) {
		struct load l = usual;

		l.memory = l.compute = 1 + 0.01 * sin(6.283185307 * i / 17280);
		interval(h, &l);
		assert_int_equal(health_state(h, &worst), HEALTH_GOOD);
	}
	health_free(h);
}

TEST(another_job_is_no_change)
{
	struct health *h = start(60);
	enum health_resource worst;

	for (uint64_t job = 1; job < 50; job++) {
		struct load l = usual;

		l.job = job;
		l.memory = 1 + 0.3 * next_uniform(&seed);
		l.compute = 1 + 0.3 * next_uniform(&seed);
		intervals(h, &l, 30);
		assert_int_equal(health_state(h, &worst), HEALTH_GOOD);
	}
	health_free(h);
}

/* After @p first intervals the other program has @p away, and then this one runs again. */
static struct health *away_and_back(unsigned first, const struct load *other, unsigned away,
				    const struct load *again, unsigned count)
{
	struct health *h = start(first);

	intervals(h, other, away);
	intervals(h, again, count);
	return h;
}

TEST(a_program_that_runs_again_is_compared_with_before)
{
	struct load other = usual, slow = usual;
	struct health *h;

	other.job = 1;
	slow.memory = 1.05;
	h = away_and_back(60, &other, 60, &slow, 6);
	assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_SLOW);
	health_free(h);
}

TEST(a_program_that_comes_back_to_a_slow_gpu_is_found_in_a_minute)
{
	struct load other = usual, slow = usual;
	struct health *h;

	other.job = 1;
	slow.memory = 1.021;
	h = away_and_back(240, &other, 60, &slow, 6);
	assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_SLOW);
	assert_int_equal(state_of(h, HEALTH_COMPUTE), HEALTH_GOOD);
	health_free(h);
}

/* There are few such moments in a day, so a smaller score says as much. */
TEST(a_program_that_comes_back_needs_a_smaller_score)
{
	struct load other = usual, slow = usual;
	struct health_verdict v;
	struct health *h;

	other.job = 1;
	slow.memory = 1.021;
	h = away_and_back(240, &other, 90, &slow, 5);
	health_of(h, HEALTH_MEMORY, &v);
	assert_int_equal(v.state, HEALTH_SLOW);
	assert_true(v.score < 14);
	health_free(h);
}

/* The same kernels: their drift is known as it was at that clock. */
TEST(kernels_that_go_back_to_a_clock_are_compared_with_what_they_took_there)
{
	struct load other = usual, slow = usual;
	struct health *h;

	other.sm_khz = 1700000;
	slow.compute = 1.03;
	h = away_and_back(150, &other, 60, &slow, 5);
	assert_int_equal(state_of(h, HEALTH_COMPUTE), HEALTH_SLOW);
	assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_GOOD);
	health_free(h);
}

/* Half of the other program's kernels are this one's, and the clock is another with it. */
TEST(what_a_program_took_before_another_one_is_not_forgotten)
{
	struct load other = usual, slow = usual;
	struct health *h;

	other.others = 10;
	other.sm_khz = 1700000;
	slow.compute = 1.03;
	h = away_and_back(150, &other, 60, &slow, 6);
	assert_int_equal(state_of(h, HEALTH_COMPUTE), HEALTH_SLOW);
	health_free(h);
}

/* A clock that falls with kernels that changed, after @p first. */
static void with_another_clock(const struct load *first, unsigned count, const struct load *then)
{
	struct health *h = start(0);

	intervals(h, first, 240);
	for (unsigned i = 0; i < count; i++)
		interval(h, &usual);
	for (int i = 0; i < 120; i++) {
		interval(h, then);
		assert_int_not_equal(state_of(h, HEALTH_CLOCK), HEALTH_SLOW);
	}
	health_free(h);
}

TEST(a_job_of_a_minute_is_no_reference_of_the_clock)
{
	struct load slow = usual;

	slow.job = 1;
	slow.sm_khz = 1700000;
	with_another_clock(&slow, 6, &slow);
}

TEST(the_clock_is_not_compared_when_a_fifth_of_the_kernels_is_new)
{
	struct load partly_new = usual;

	partly_new.others = 2;
	partly_new.sm_khz = 1930000;
	with_another_clock(&usual, 0, &partly_new);
}

/* No kernel of memory runs for eight hours, then others do, then the first come back to a GPU
 * whose memory takes @p drifted times as long: by so much it may have drifted. */
static void a_pause_excuses_drift(struct health *h, double drifted)
{
	struct load without = usual, other = usual, again = usual;

	without.memory = 0;
	without.job = 1;
	intervals(h, &without, 2880);
	other.job = 2;
	intervals(h, &other, 360);
	again.memory = drifted;
	for (int i = 0; i < 360; i++) {
		interval(h, &again);
		assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_GOOD);
	}
	health_free(h);
}

/* The GPU drifts while no kernel says so; what comes then takes the error over. */
TEST(what_was_learned_after_a_pause_does_not_judge_what_was_before)
{
	a_pause_excuses_drift(start(60), 1.03);
}

/* As above, where the pause came before the drift was settled. */
TEST(what_a_job_of_two_minutes_learned_before_a_pause_is_uncertain)
{
	a_pause_excuses_drift(start(13), 1.025);
}

TEST(kernels_whose_data_decide_count_for_little)
{
	struct health *h = start(60);
	enum health_resource worst;

	for (int i = 0; i < 500; i++) {
		const struct health_sample wild = {.key = 999,
						   .kernel = "sort",
						   .resource = HEALTH_MEMORY,
						   .launches = 1e6,
						   .mean_ns = 1e6 * exp(0.15 * next_normal(&seed)),
						   .sm_khz = 1980000};

		health_add(h, &wild);
		interval(h, &usual);
		assert_int_equal(health_state(h, &worst), HEALTH_GOOD);
	}
	health_free(h);
}

TEST(faster_is_not_slow)
{
	struct load fast = usual;
	struct health *h = start(60);
	enum health_resource worst;

	fast.memory = fast.compute = 0.9;
	intervals(h, &fast, 200);
	assert_int_equal(health_state(h, &worst), HEALTH_GOOD);
	health_free(h);
}

TEST(a_disturbance_of_seconds_is_no_change)
{
	struct load slow = usual;
	struct health *h = start(60);
	enum health_resource worst;

	slow.memory = slow.compute = 1.2;
	for (int i = 0; i < 50; i++) {
		intervals(h, &slow, 2);
		assert_int_equal(health_state(h, &worst), HEALTH_GOOD);
		intervals(h, &usual, 20);
		assert_int_equal(health_state(h, &worst), HEALTH_GOOD);
	}
	health_free(h);
}

/* Five kernels bound by memory, of which @p slow from @p from on take @p by times more for their
 * data. */
static void partly(struct health *h, unsigned from, unsigned slow, double by, double all,
		   unsigned count)
{
	while (count--) {
		for (unsigned i = 0; i < 5; i++)
			health_add(h, &(struct health_sample){
					      .key = i + 1,
					      .kernel = "copy",
					      .resource = HEALTH_MEMORY,
					      .launches = 50,
					      .mean_ns = 1e4 * all * (i - from < slow ? by : 1) *
							 exp(0.004 * next_normal(&seed)),
					      .sm_khz = 1980000});
		now += health_interval_ns();
		health_tick(h, now);
	}
}

TEST(a_disturbance_on_top_of_a_small_deviation_is_no_change)
{
	struct load slow = usual, disturbed = usual;
	struct health *h = start(200);

	slow.memory = 1.015;
	disturbed.memory = 1.06;
	intervals(h, &slow, 24);
	intervals(h, &disturbed, 2);
	assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_GOOD);
	intervals(h, &slow, 12);
	assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_GOOD);
	health_free(h);
}

/* As beside a neighbour on the same GPU: each of ten kernels takes another multiple. */
TEST(kernels_that_slow_by_much_need_not_slow_alike)
{
	struct health *h = start(60);

	for (int i = 0; i < 12; i++) {
		for (unsigned k = 1; k < 20; k += 2)
			health_add(h, &(struct health_sample){.key = k + 1,
							      .kernel = "copy",
							      .resource = HEALTH_MEMORY,
							      .launches = 50,
							      .mean_ns = 1e4 * (k + 1) *
									 (1.2 + 0.1 * k),
							      .sm_khz = usual.sm_khz});
		now += health_interval_ns();
		health_tick(h, now);
		if (i >= 5)
			assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_SLOW);
	}
	health_free(h);
}

/* Kernels follow the clock by 70%, and the drift has taken in what they do not follow. */
TEST(a_clock_that_comes_back_leaves_no_deviation)
{
	struct load capped = usual, slow = usual;
	struct health *h = start(200);
	struct health_verdict v;

	capped.sm_khz = usual.sm_khz / 1.08;
	capped.compute = 1.056 / 1.08;
	slow.compute = 1.03;
	intervals(h, &capped, 500);
	for (int i = 0; i < 60; i++) {
		interval(h, &usual);
		assert_int_equal(state_of(h, HEALTH_COMPUTE), HEALTH_GOOD);
	}
	health_of(h, HEALTH_COMPUTE, &v);
	assert_true(fabs(v.ratio - 1) < 0.01);
	intervals(h, &slow, 6);
	assert_int_equal(state_of(h, HEALTH_COMPUTE), HEALTH_SLOW);
	health_free(h);
}

TEST(kernels_that_do_not_agree_are_no_slow_gpu)
{
	struct health *h = start(0);
	enum health_resource worst;

	partly(h, 0, 0, 1, 1, 100);
	assert_int_equal(health_state(h, &worst), HEALTH_GOOD);
	partly(h, 0, 2, 1.2, 1, 500);
	assert_int_equal(health_state(h, &worst), HEALTH_GOOD);
	partly(h, 0, 2, 1.2, 1.05, 12);
	assert_int_equal(health_state(h, &worst), HEALTH_SLOW);
	health_free(h);
}

TEST(kernels_that_stay_do_not_follow_most_others_with_new_data)
{
	struct health *h = start(0);

	partly(h, 0, 0, 1, 1, 100);
	for (int i = 0; i < 200; i++) {
		partly(h, 0, 3, 1.04, 1, 1);
		assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_GOOD);
	}
	health_free(h);
}

TEST(what_data_did_for_minutes_is_uncertain_for_longer)
{
	struct health *h = start(0);

	partly(h, 0, 0, 1, 1, 100);
	for (unsigned i = 0; i < 10; i++)
		partly(h, i % 5, 1, 1.08, 1, 20);
	partly(h, 0, 0, 1, 1, 60);
	partly(h, 0, 0, 1, 1.03, 12);
	assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_GOOD);
	health_free(h);
}

TEST(three_configurations_are_no_verdict)
{
	struct health *h = start(0);
	struct health_verdict v;

	for (int i = 0; i < 200; i++) {
		for (uint64_t key = 1; key <= 3; key++)
			health_add(h, &(struct health_sample){.key = key,
							      .kernel = "copy",
							      .resource = HEALTH_MEMORY,
							      .launches = 50,
							      .mean_ns = i < 100 ? 1e4 : 2e4,
							      .sm_khz = NAN});
		now += health_interval_ns();
		health_tick(h, now);
	}
	health_of(h, HEALTH_MEMORY, &v);
	assert_int_equal(v.state, HEALTH_UNKNOWN);
	health_free(h);
}

/* Half of the kernels are known, the other half comes when the GPU is slow already. */
TEST(kernels_that_come_to_a_slow_gpu_do_not_hide_it)
{
	struct load slow = usual, more = usual;
	struct health *h = start(60);

	slow.memory = more.memory = 1.05;
	intervals(h, &slow, 12);
	assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_SLOW);
	more.job = 1;
	for (int i = 0; i < 100; i++) {
		samples(h, &slow);
		interval(h, &more);
	}
	assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_SLOW);
	/* It is compared with what it would take on a healthy one, alone, too. */
	intervals(h, &more, 100);
	assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_SLOW);
	more.memory = 1;
	intervals(h, &more, 24);
	assert_int_equal(state_of(h, HEALTH_MEMORY), HEALTH_GOOD);
	health_free(h);
}

TEST(a_shift_of_two_per_cent_is_significant_within_ten_minutes)
{
	struct load slow = usual;
	struct health *h = start(200);
	struct health_verdict v;

	slow.memory = 1.02;
	intervals(h, &slow, 60);
	health_of(h, HEALTH_MEMORY, &v);
	assert_true(v.score > 4.775); /* p < 0.001 */
	health_of(h, HEALTH_COMPUTE, &v);
	assert_true(v.score < 4.775);
	health_free(h);
}

TEST(what_is_no_number_is_left_out)
{
	struct health *h = start(60);
	const double wild[] = {0, -1, NAN, INFINITY, 1e308};
	enum health_resource worst;

	for (int n = 0; n < 40; n++) {
		for (int i = 0; i < 25; i++)
			health_add(h, &(struct health_sample){.key = (uint64_t)i,
							      .resource =
								      (enum health_resource)(i % 7),
							      .launches = wild[i % 5],
							      .mean_ns = wild[i / 5],
							      .sm_khz = wild[(i + n) % 5]});
		interval(h, &usual);
	}
	assert_int_equal(health_state(h, &worst), HEALTH_GOOD);
	health_free(h);
}

TESTS_MAIN()
