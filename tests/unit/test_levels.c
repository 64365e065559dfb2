/*
 * Levels of a memory reported from latencies, and rates from batches: samples made with known
 * truth, boundaries worked out by hand. Randomness is a fixed sequence, the same on every run.
 */
#include "calib/groups/rate.h"
#include "calib/levels.h"
#include "calib/stats.h"
#include "tests/random.h"
#include "tests/test.h"

enum { MANY = 4000 };

static uint64_t drawn;

static double normal(double mean, double deviation)
{
	return mean + deviation * next_normal(&drawn);
}

static void close_to(double value, double expected, double within)
{
	if (!(fabs(value - expected) <= within))
		fail_msg("%g is not %g within %g", value, expected, within);
}

/* 40% near lines about 270 cycles, 60% far ones about 490. */
static void mixture(double *x, size_t n)
{
	drawn = 1;
	for (size_t i = 0; i < n; i++)
		x[i] = next_uniform(&drawn) < 0.4 ? normal(270, 12) : normal(490, 20);
}

TEST(two_populations_are_distinguished)
{
	double x[MANY];
	struct gw_split s;

	mixture(x, MANY);
	s = gw_split_of(x, MANY, 0, 1);
	assert_true(s.boundary > 330 && s.boundary < 410);
	close_to(s.low, 270, 2);
	close_to(s.high, 490, 2);
	close_to(s.share, 0.4, 0.03);
	assert_true(gw_split_is_two(&s, 30));
}

TEST(one_population_is_not_two)
{
	double x[MANY];
	struct gw_split s;

	drawn = 2;
	for (size_t i = 0; i < MANY; i++)
		x[i] = normal(270, 12);
	s = gw_split_of(x, MANY, 0, 1);
	close_to(s.clarity, 2 / M_PI, 0.02);
	assert_false(gw_split_is_two(&s, 1));
}

TEST(an_even_spread_is_not_two)
{
	double x[MANY];
	struct gw_split s;

	for (size_t i = 0; i < MANY; i++)
		x[i] = (double)i;
	s = gw_split_of(x, MANY, 0, 1);
	close_to(s.clarity, 0.75, 0.001);
	assert_false(gw_split_is_two(&s, 1));
}

TEST(populations_too_near_are_not_two)
{
	double x[MANY];
	struct gw_split s;

	mixture(x, MANY);
	s = gw_split_of(x, MANY, 0, 1);
	assert_false(gw_split_is_two(&s, 300));
}

/* Three loads in a thousand meet a refresh and take ten times as long: no population. */
TEST(stragglers_neither_move_the_boundary_nor_count)
{
	double x[MANY];
	struct gw_split s;

	mixture(x, MANY);
	for (size_t i = 0; i < MANY; i += 333)
		x[i] = 6000;
	s = gw_split_of(x, MANY, 0.005, 0.995);
	assert_true(s.boundary > 330 && s.boundary < 410);
	assert_true(gw_split_is_two(&s, 30));
	for (size_t i = 0; i < MANY; i++)
		x[i] = i % 333 ? 270 + (double)(i % 7) : 6000;
	s = gw_split_of(x, MANY, 0, 1);
	assert_false(gw_split_is_two(&s, 30));
}

TEST(too_few_or_equal_samples_are_not_divided)
{
	double x[GW_SPLIT_LEAST];

	for (size_t i = 0; i < GW_SPLIT_LEAST; i++)
		x[i] = 5;
	assert_true(isnan(gw_split_of(x, GW_SPLIT_LEAST, 0, 1).boundary));
	x[0] = 1;
	assert_true(isnan(gw_split_of(x, GW_SPLIT_LEAST - 1, 0, 1).boundary));
	close_to(gw_split_of(x, GW_SPLIT_LEAST, 0, 1).boundary, 3, 0);
}

TEST(the_mean_leaves_out_what_is_low_or_slow)
{
	double x[100];

	for (size_t i = 0; i < 100; i++)
		x[i] = (double)(i + 1);
	x[99] = 1e6;
	close_to(gw_mean_within(x, 100, 0, 0.99), 50, 1e-9);    /* 1 to 99 */
	close_to(gw_mean_within(x, 100, 49, 0.99), 74.5, 1e-9); /* 50 to 99 */
	assert_true(isnan(gw_mean_within(x, 100, 2e6, 0.99)));
	assert_true(isnan(gw_mean_within(x, 0, 0, 0.99)));
}

/* 300 up to 16, 320 from 64 on, half way at 32: the crossing lies there. */
TEST(a_step_is_found_with_its_levels_and_place)
{
	double x[16], y[16];
	struct gw_step step;

	for (size_t i = 0; i < 16; i++) {
		x[i] = pow(2, (double)i);
		y[i] = (i < 5 ? 300 : i == 5 ? 309 : 320) + (double)(i % 3) - 1;
	}
	step = gw_step_of(x, y, 16, 0.01);
	close_to(step.low, 300, 0.5);
	close_to(step.high, 320, 0.5);
	/* y[5] is 310 at x 32, the middle: no way to go from there. */
	close_to(step.at, 32, 1);
}

TEST(a_level_curve_has_no_step)
{
	double x[16], y[16];

	drawn = 3;
	for (size_t i = 0; i < 16; i++) {
		x[i] = (double)(i + 1);
		y[i] = normal(300, 1);
	}
	assert_true(isnan(gw_step_of(x, y, 16, 0.01).low));
}

TEST(a_step_down_is_none)
{
	double x[16], y[16];

	for (size_t i = 0; i < 16; i++) {
		x[i] = (double)(i + 1);
		y[i] = i < 8 ? 320 : 300;
	}
	assert_true(isnan(gw_step_of(x, y, 16, 0.01).low));
}

TEST(a_tidy_curve_rises_in_x_and_merges_neighbours)
{
	double x[] = {300, 100, 101, 200}, y[] = {9, 1, 3, 5};

	assert_int_equal(gw_curve_tidy(x, y, 4, 0.02), 3);
	close_to(x[0], 100.5, 0);
	close_to(y[0], 2, 0);
	close_to(x[1], 200, 0);
	close_to(y[2], 9, 0);
}

/* Worked by hand: 5 4 -> 4.5 4.5; then 3 pulls all three to 4; 6 stands; 7 1 -> 4, with 6: 14/3. */
TEST(a_rising_curve_pools_what_falls)
{
	double y[] = {5, 4, 3, 6, 7, 1, 9};
	const double expected[] = {4, 4, 4, 14.0 / 3, 14.0 / 3, 14.0 / 3, 9};

	gw_curve_rising(y, 7);
	for (size_t i = 0; i < 7; i++)
		close_to(y[i], expected[i], 1e-12);
}

TEST(pooling_reaches_back_over_earlier_pools)
{
	double y[] = {5, 4, 0};

	gw_curve_rising(y, 3);
	for (size_t i = 0; i < 3; i++)
		close_to(y[i], 3, 1e-12);
}

/* 0.6 ns a block until 0.165 ns a warp is more: from 4 warps on. */
TEST(launches_cost_by_block_then_by_warp)
{
	double warps[32], slope[32];
	struct gw_launch_rates rates;

	for (size_t i = 0; i < 32; i++) {
		warps[i] = (double)(i + 1);
		slope[i] = fmax(0.6e-9, 0.165e-9 * warps[i]);
	}
	rates = gw_launch_rates_of(warps, slope, 32);
	close_to(rates.per_block, 0.6e-9, 0);
	close_to(rates.per_warp, 0.165e-9, 1e-18);
	assert_int_equal(rates.warps, 6); /* the first to take 1.5 times 0.6 ns */
}

TEST(where_warps_never_count_their_rate_is_unknown)
{
	const double warps[] = {1, 2, 4}, slope[] = {1e-9, 1.1e-9, 1.2e-9};
	struct gw_launch_rates rates = gw_launch_rates_of(warps, slope, 3);

	close_to(rates.per_block, 1e-9, 0);
	assert_true(isnan(rates.per_warp));
	assert_int_equal(rates.warps, 0);
}

/* Rates of calibration on scripted samples: what a rate is taken to be while it still changes. */
/*
 * What rate.c asks of the bench. Samples are taken from `script`, whose last number goes on; a
 * launch moves one unit, so rates are their reciprocals.
 */
static const double *script;
static size_t script_count, taken, stop_after;

size_t gw_bench_time(struct gw_bench *b, CUfunction f, struct gw_shape s, void **args,
		     unsigned launches, double *seconds, size_t count)
{
	(void)b;
	(void)f;
	(void)s;
	(void)args;
	(void)launches;
	for (size_t i = 0; i < count; i++, taken++) {
		if (taken == stop_after)
			return i;
		seconds[i] = 1 / script[taken < script_count ? taken : script_count - 1];
	}
	return count;
}

bool gw_bench_run(struct gw_bench *b, CUfunction f, struct gw_shape s, void **args)
{
	(void)b;
	(void)f;
	(void)s;
	(void)args;
	return false;
}

bool gw_bench_read(struct gw_bench *b, void *host, CUdeviceptr from, size_t bytes)
{
	(void)b;
	(void)host;
	(void)from;
	(void)bytes;
	return false;
}

void gw_bench_publish(struct gw_bench *b, enum gw_param p, const double *samples, size_t n,
		      const char *how)
{
	(void)b;
	(void)p;
	(void)samples;
	(void)n;
	(void)how;
}

/* The rates that come of a script; how many in @p n. */
static double settled(const double *samples, size_t count, size_t stop, size_t *n)
{
	struct gw_rate r = {.kernel = (CUfunction)(uintptr_t)8, .amount = 1, .launches = 1};
	double rates[GW_RATE_SAMPLES];

	script = samples;
	script_count = count;
	taken = 0;
	stop_after = stop;
	*n = gw_rate_settled(NULL, &r, rates);
	return gw_median(rates, *n);
}

/* B/s of an H200 that reads 2 GiB again and again (docs/results/MANIFEST.tsv,
 * h200-2026-11-22/calibration). */
static const double reading[] = {4018254281676.4, 4005064693899.6, 4017291882331.2,
				 4012248180030.4, 4017773024371.6, 4012728114611.3,
				 4113322921125.8, 4616735323383.6, 4628197650416.2};
static const double writing[] = {4642605623315.3, 4646784782382.7, 4643247920403.6,
				 4659690522970.3, 4660985071084.9, 4655488428982.4,
				 4651938310238.2, 4643890694522.5, 4642926899225.9};

TEST(what_rises_at_first_is_taken_once_it_has_settled)
{
	size_t n;

	assert_true(settled(reading, 9, SIZE_MAX, &n) == 1 / (1 / 4628197650416.2));
	assert_int_equal(n, GW_RATE_SAMPLES);
	assert_int_equal(taken, 3 * GW_RATE_SAMPLES);
}

TEST(what_is_steady_is_measured_twice)
{
	double twice[18];
	size_t n;

	for (size_t i = 0; i < 18; i++)
		twice[i] = writing[i % 9];
	assert_true(fabs(settled(twice, 18, SIZE_MAX, &n) / gw_median(writing, 9) - 1) < 1e-12);
	assert_int_equal(taken, 2 * GW_RATE_SAMPLES);
}

/* A slow beginning that fills more than a batch. */
TEST(two_batches_that_differ_are_not_settled)
{
	double samples[20];
	size_t n;

	for (size_t i = 0; i < 20; i++)
		samples[i] = i < 9 ? 4 : 5;
	assert_true(fabs(settled(samples, 20, SIZE_MAX, &n) - 5) < 1e-12);
	assert_int_equal(taken, 3 * GW_RATE_SAMPLES);
}

TEST(what_never_settles_ends)
{
	double samples[999];
	size_t n;

	for (size_t i = 0; i < 999; i++)
		samples[i] = 1 + (double)i;
	settled(samples, 999, SIZE_MAX, &n);
	assert_int_equal(n, GW_RATE_SAMPLES);
	assert_true(taken < 200);
}

TEST(a_bench_that_stops_gives_what_it_has)
{
	size_t n;

	settled(writing, 9, 4, &n);
	assert_int_equal(n, 4);
	assert_true(isnan(settled(writing, 9, 0, &n)));
	assert_int_equal(n, 0);
}

TESTS_MAIN()
