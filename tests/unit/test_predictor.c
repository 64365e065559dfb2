/* The learner: what it may know, and how often its intervals hold. */
#include "predictor/learner/predictor.h"
#include "tests/random.h"
#include "tests/test.h"

#include <float.h>

enum { CONFIGS = 5, STEPS = 400 };

static uint64_t seed;

/* Predict and then measure one launch, as the worker does; true when the interval held. */
static bool launch(struct gw_predictor *p, uint32_t config, double seconds, bool *predicted)
{
	struct gw_prediction made;
	struct gw_observation o = {.seconds = seconds, .exclusive = true};

	gw_predict(p, config, gw_predictor_observations(p), &made);
	o.predicted = made.seconds;
	o.low = made.low;
	o.high = made.high;
	o.tier = made.tier;
	*predicted = isfinite(made.seconds);
	gw_observe(p, config, &o);
	return *predicted && seconds >= made.low && seconds <= made.high;
}

TEST(nothing_is_predicted_of_a_configuration_never_timed)
{
	struct gw_predictor *p = gw_predictor_new(10);
	struct gw_prediction made;

	for (uint32_t config = 0; config <= 12; config++) {
		gw_predict(p, config, UINT64_MAX, &made);
		assert_true(isnan(made.seconds) && isnan(made.low) && isnan(made.high));
		assert_int_equal(made.tier, GW_TIER_NONE);
		assert_non_null(made.reason);
	}
	gw_predictor_free(p);
	gw_predictor_free(NULL);
}

TEST(what_was_observed_counts_from_the_next_advance)
{
	struct gw_predictor *p = gw_predictor_new(10);
	struct gw_observation o = {.seconds = 5e-6, .exclusive = true, .predicted = NAN};
	struct gw_prediction made;

	assert_int_equal(gw_observe(p, 3, &o), 1);
	gw_predict(p, 3, 1, &made);
	assert_true(isnan(made.seconds));
	gw_predictor_advance(p, NULL, NULL);
	gw_predict(p, 3, 1, &made);
	assert_true(fabs(made.seconds - 5e-6) < 1e-11);
	assert_true(made.low < made.seconds && made.seconds < made.high);
	assert_int_equal(made.tier, GW_TIER_STEADY);
	assert_int_equal(made.known, 1);
	assert_true(made.published);
	gw_predict(p, 3, 0, &made); /* called before the measurement was known */
	assert_true(isnan(made.seconds));
	gw_predictor_free(p);
}

static uint32_t reported[16], reported_count;

static void tell(void *arg, uint32_t config, const struct gw_prediction *made)
{
	assert_ptr_equal(arg, reported);
	assert_true(isfinite(made->seconds));
	reported[reported_count++ % 16] = config;
}

TEST(an_advance_tells_each_changed_configuration_once)
{
	struct gw_predictor *p = gw_predictor_new(5000);
	struct gw_observation o = {.seconds = 1e-6, .predicted = NAN};

	reported_count = 0;
	gw_observe(p, 3, &o);
	gw_observe(p, 4999, &o);
	gw_observe(p, 3, &o);
	gw_predictor_advance(p, tell, reported);
	assert_int_equal(reported_count, 2);
	assert_int_equal(reported[0] + reported[1], 5002);
	gw_predictor_advance(p, tell, reported);
	assert_int_equal(reported_count, 2);
	gw_predictor_free(p);
}

/* A sequence of events: every step observes, some then advance. */
static struct step {
	uint32_t config;
	double seconds;
	bool advance;
} steps[STEPS];

static struct gw_predictor *replay(int upto)
{
	struct gw_predictor *p = gw_predictor_new(CONFIGS);

	for (int i = 0; i < upto; i++) {
		struct gw_prediction made;
		struct gw_observation o = {.seconds = steps[i].seconds, .exclusive = true};

		gw_predict(p, steps[i].config, gw_predictor_observations(p), &made);
		o.predicted = made.seconds;
		o.low = made.low;
		o.high = made.high;
		o.tier = made.tier;
		gw_observe(p, steps[i].config, &o);
		if (steps[i].advance)
			gw_predictor_advance(p, NULL, NULL);
	}
	return p;
}

static bool alike(const struct gw_prediction *a, const struct gw_prediction *b)
{
	return (isnan(a->seconds) && isnan(b->seconds)) ||
	       (a->seconds == b->seconds && a->low == b->low && a->high == b->high &&
		a->known == b->known && a->multimodal == b->multimodal);
}

/* What is said later of an earlier moment is what was said at it, or nothing. */
TEST(no_prediction_uses_what_was_measured_later)
{
	unsigned same = 0, forgotten = 0;

	seed = 7;
	for (int i = 0; i < STEPS; i++)
		steps[i] = (struct step){
			1 + (uint32_t)(next_uniform(&seed) * CONFIGS),
			1e-6 * exp(next_normal(&seed) * (next_uniform(&seed) < 0.1 ? 2 : 0.05)),
			next_uniform(&seed) < 0.2};
	for (int now = 1; now < STEPS; now += 3) {
		struct gw_predictor *then = replay(now);
		int later = now + (int)(next_uniform(&seed) * 15);
		struct gw_predictor *after = replay(later < STEPS ? later : STEPS);
		uint64_t known = gw_predictor_observations(then);

		for (uint32_t c = 1; c <= CONFIGS; c++) {
			struct gw_prediction early, late;

			gw_predict(then, c, known, &early);
			gw_predict(after, c, known, &late);
			assert_true(early.known <= known && late.known <= known);
			if (isnan(late.seconds) && !isnan(early.seconds))
				forgotten++;
			else
				assert_true(alike(&early, &late));
			same += isnan(late.seconds) ? 0 : 1;
		}
		gw_predictor_free(then);
		gw_predictor_free(after);
	}
	assert_true(same > 300 && forgotten > 0);
}

/* Share of launches inside their interval, once 500 have been seen. */
static double coverage(double (*next)(int i), int launches, int batch)
{
	struct gw_predictor *p = gw_predictor_new(4);
	int scored = 0, held = 0;

	seed = 42;
	for (int i = 0; i < launches; i++) {
		bool predicted, ok = launch(p, 1, next(i), &predicted);

		if (i >= 500 && predicted) {
			scored++;
			held += ok;
		}
		if (i % batch == batch - 1)
			gw_predictor_advance(p, NULL, NULL);
	}
	gw_predictor_free(p);
	assert_true(scored > launches / 2);
	return (double)held / scored;
}

static double noisy(int i)
{
	(void)i;
	return 20e-6 * exp(0.03 * next_normal(&seed));
}

static double very_noisy(int i)
{
	(void)i;
	return 20e-6 * exp(0.5 * next_normal(&seed));
}

static double drifting(int i)
{
	return 20e-6 * exp(0.0005 * i + 0.02 * next_normal(&seed));
}

static double two_modes(int i)
{
	return (i / 3 % 2 ? 40e-6 : 20e-6) * exp(0.01 * next_normal(&seed));
}

static double heavy_tailed(int i)
{
	(void)i;
	return 20e-6 * exp(0.02 * next_normal(&seed) / sqrt(next_uniform(&seed)));
}

TEST(intervals_hold_nine_times_in_ten)
{
	/* In much noise some windows look like two modes, whose intervals hold more. */
	static const struct {
		double (*next)(int);
		double most;
	} streams[] = {{noisy, 0.94}, {very_noisy, 0.97}, {drifting, 0.94}, {heavy_tailed, 0.94}};

	for (size_t i = 0; i < COUNT(streams); i++)
		for (int batch = 1; batch <= 64; batch *= 8) {
			double c = coverage(streams[i].next, 5000, batch);

			if (c < 0.86 || c > streams[i].most)
				print_error("stream %zu in batches of %d: %.3f\n", i, batch, c);
			assert_true(c >= 0.86 && c <= streams[i].most);
		}
}

TEST(an_interval_of_two_modes_holds_both)
{
	assert_true(coverage(two_modes, 5000, 8) > 0.9);
}

/* ---- many configurations, measured a while after they were predicted ---- */

enum { MANY = 100, TURNS = 200, LATE = 3 };

/* Logarithm of the factor that all times have at turn @p i. */
static double stable(int i)
{
	(void)i;
	return 0;
}

static double settling(int i)
{
	return 0.25 * exp(-i / 40.0);
}

static double stepping(int i)
{
	return i > 60 ? 0.3 : 0;
}

static double creeping(int i)
{
	return 0.002 * i;
}

struct held {
	double share, half_width, error;
};

/* Configurations whose noise lies between 0.1% and 10%, all under one trend. */
static struct held late_verdicts(double (*trend)(int))
{
	static struct gw_prediction made[MANY][TURNS];
	static double seconds[MANY][TURNS];
	struct gw_predictor *p = gw_predictor_new(MANY);
	struct held h = {0, 0, 0};
	double n = 0, noise[MANY];

	seed = 77;
	for (int c = 0; c < MANY; c++)
		noise[c] = fmin(0.004 * exp(1.2 * next_normal(&seed)), 0.1);
	for (int i = 0; i < TURNS + LATE; i++) {
		for (uint32_t c = 0; c < MANY && i < TURNS; c++) {
			double t = 3e-6 * (1 + c) * exp(trend(i) + noise[c] * next_normal(&seed));

			gw_predict(p, c + 1, UINT64_MAX, &made[c][i]);
			seconds[c][i] = round(t / 32e-9) * 32e-9;
		}
		for (uint32_t c = 0; c < MANY && i >= LATE; c++) {
			const struct gw_prediction *m = &made[c][i - LATE];
			double t = seconds[c][i - LATE];

			gw_observe(p, c + 1,
				   &(struct gw_observation){.seconds = t,
							    .exclusive = true,
							    .predicted = m->seconds,
							    .low = m->low,
							    .high = m->high,
							    .tier = m->tier,
							    .sm_hz = NAN});
			if (isnan(m->seconds) || i < 20)
				continue;
			n++;
			h.share += t >= m->low && t <= m->high;
			h.half_width += log(m->high / m->low) / 2;
			h.error += fabs(log(t / m->seconds));
		}
		gw_predictor_advance(p, NULL, NULL);
	}
	gw_predictor_free(p);
	return (struct held){h.share / n, h.half_width / n, h.error / n};
}

/*
 * Intervals hold, and do so without being useless: the widest that is allowed is what the trend
 * and the noise take, doubled.
 */
TEST(intervals_hold_while_times_change_and_verdicts_come_late)
{
	static const struct {
		double (*trend)(int);
		double width, error;
	} trends[] = {{stable, 0.022, 0.007},
		      {settling, 0.044, 0.018},
		      {stepping, 0.044, 0.018},
		      {creeping, 0.050, 0.022}};

	for (size_t i = 0; i < COUNT(trends); i++) {
		struct held h = late_verdicts(trends[i].trend);

		if (h.share < 0.87 || h.half_width > trends[i].width)
			print_error("trend %zu: %.3f held, half-width %.4f, error %.4f\n", i,
				    h.share, h.half_width, h.error);
		assert_true(h.share >= 0.87 && h.share <= 0.95);
		assert_true(h.half_width <= trends[i].width);
		assert_true(h.error <= trends[i].error);
	}
}

/*
 * One kernel, back to back, as a GPU whose clock wanders runs it: neighbours agree to a
 * thousandth, and a launch runs 150 launches after the last that was known when it was queued.
 */
TEST(an_interval_reaches_as_far_as_times_wander_until_a_launch_runs)
{
	enum { LAUNCHES = 20000, BATCH = 50, BEHIND = 150 };
	static struct gw_prediction made[LAUNCHES];
	static double t[LAUNCHES];
	struct gw_predictor *p = gw_predictor_new(1);
	double level = 0, held = 0, width = 0, n = 0;

	seed = 4;
	for (int i = 0; i < LAUNCHES; i++) {
		level = 0.995 * level + 0.003 * next_normal(&seed); /* 3% in the long run */
		t[i] = 2e-4 * exp(level + 0.0005 * next_normal(&seed));
		gw_predict(p, 1, UINT64_MAX, &made[i]);
		if (i >= BEHIND) {
			const struct gw_prediction *m = &made[i - BEHIND];

			gw_observe(p, 1,
				   &(struct gw_observation){.seconds = t[i - BEHIND],
							    .exclusive = true,
							    .predicted = m->seconds,
							    .low = m->low,
							    .high = m->high,
							    .tier = m->tier,
							    .sm_hz = NAN});
			if (i >= 4000) {
				n++;
				held += t[i - BEHIND] >= m->low && t[i - BEHIND] <= m->high;
				width += log(m->high / m->low) / 2;
			}
		}
		if (i % BATCH == 0)
			gw_predictor_advance(p, NULL, NULL);
	}
	gw_predictor_free(p);
	if (held < 0.83 * n || width > 0.09 * n)
		print_error("%.3f held, half-width %.4f\n", held / n, width / n);
	assert_true(held >= 0.83 * n && held <= 0.96 * n);
	assert_true(width <= 0.09 * n);
}

/* Thousands of configurations launched twice: the second launch has one time to go by. */
TEST(intervals_hold_for_configurations_launched_once_before)
{
	struct gw_predictor *p = gw_predictor_new(20000);
	int scored = 0, held = 0;

	seed = 3;
	for (uint32_t c = 1; c <= 8000; c++) {
		double t = 1e-5 * exp(next_normal(&seed));
		bool predicted, ok;

		launch(p, c, t * exp(0.08 * next_normal(&seed)), &predicted);
		assert_false(predicted);
		gw_predictor_advance(p, NULL, NULL);
		ok = launch(p, c, t * exp(0.08 * next_normal(&seed)), &predicted);
		assert_true(predicted);
		gw_predictor_advance(p, NULL, NULL);
		if (c > 2000) {
			scored++;
			held += ok;
		}
	}
	gw_predictor_free(p);
	assert_true((double)held / scored > 0.87 && (double)held / scored < 0.93);
}

/* A constant time with outliers has no width to adapt: it must not spend the others'. */
TEST(a_stream_that_always_misses_does_not_ruin_the_others)
{
	struct gw_predictor *p = gw_predictor_new(4);
	struct gw_prediction made;
	bool predicted;

	seed = 5;
	for (int i = 0; i < 400000; i++) {
		launch(p, 1, i % 5 ? 20e-6 : 21e-6, &predicted);
		if (i % 64 == 0)
			gw_predictor_advance(p, NULL, NULL);
	}
	for (int i = 0; i < 64; i++)
		launch(p, 2, noisy(i), &predicted);
	gw_predictor_advance(p, NULL, NULL);
	for (uint32_t c = 1; c <= 2; c++) {
		gw_predict(p, c, UINT64_MAX, &made);
		assert_true(isfinite(made.low) && isfinite(made.high));
		assert_true(made.low > 5e-6 && made.high < 80e-6);
	}
	gw_predictor_free(p);
}

TEST(disturbed_times_teach_only_until_undisturbed_ones_are_there)
{
	struct gw_predictor *p = gw_predictor_new(4);
	struct gw_observation o = {.seconds = 9e-6, .exclusive = false, .predicted = NAN};
	struct gw_prediction made;

	gw_observe(p, 1, &o);
	gw_predictor_advance(p, NULL, NULL);
	gw_predict(p, 1, 1, &made);
	assert_true(fabs(made.seconds - 9e-6) < 1e-11);
	for (int i = 0; i < 20; i++)
		gw_observe(p, 1, &o);
	o.exclusive = true;
	o.seconds = 1e-6;
	gw_observe(p, 1, &o);
	gw_predictor_advance(p, NULL, NULL);
	gw_predict(p, 1, UINT64_MAX, &made); /* one time alone against 21 */
	assert_true(fabs(made.seconds - 1e-6) < 1e-11);
	o.exclusive = false;
	o.seconds = 9e-6;
	for (int i = 0; i < 40; i++)
		gw_observe(p, 1, &o);
	gw_predictor_advance(p, NULL, NULL);
	gw_predict(p, 1, UINT64_MAX, &made);
	assert_true(fabs(made.seconds - 1e-6) < 1e-11);
	gw_predictor_free(p);
}

TEST(hostile_times_are_not_learnt)
{
	static const double bad[] = {0,    -1,     NAN,     INFINITY, -INFINITY,
				     -0.0, 1e-300, DBL_MIN, 1e300,    DBL_MAX};
	struct gw_predictor *p = gw_predictor_new(4);
	struct gw_observation o = {.exclusive = true, .predicted = NAN};

	for (size_t i = 0; i < COUNT(bad); i++) {
		o.seconds = bad[i];
		assert_int_equal(gw_observe(p, 1, &o), 0);
	}
	o.seconds = 1;
	assert_int_equal(gw_observe(p, 0, &o), 0);
	assert_int_equal(gw_observe(p, 5, &o), 0);
	assert_int_equal(gw_observe(p, UINT32_MAX, &o), 0);
	assert_int_equal(gw_predictor_observations(p), 0);
	assert_int_equal(gw_observe(p, 4, &o), 1);
	gw_predictor_free(p);
}

TEST(any_learnt_time_gives_a_finite_prediction)
{
	struct gw_predictor *p = gw_predictor_new(4);
	bool predicted;

	seed = 11;
	for (int i = 0; i < 2000; i++) {
		struct gw_prediction made;

		launch(p, 1 + (uint32_t)i % 4, pow(10, 70 * next_uniform(&seed) - 35), &predicted);
		gw_predictor_advance(p, NULL, NULL);
		gw_predict(p, 1 + (uint32_t)i % 4, UINT64_MAX, &made);
		assert_true(isfinite(made.seconds) && made.seconds > 0);
		assert_true(made.low >= 0 && made.low <= made.seconds);
		assert_true(made.high >= made.seconds);
	}
	gw_predictor_free(p);
}

TESTS_MAIN()
