/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times beside other kernels: they teach nothing of the time alone, and intervals hold them; shares
 * of times that intervals hold.
 */
#include "predictor/learner/coverage.h"
#include "predictor/learner/overlap.h"
#include "predictor/learner/predictor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t seed;

static double uniform(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(seed >> 11) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

static void few_do_not_matter(void **state)
{
	struct gw_overlap c = {0};
	double low, high;

	(void)state;
	assert_false(gw_overlap_range(&c, &low, &high));
	for (int i = 0; i < 100; i++) {
		gw_overlap_add(&c, false, 9);
		for (int k = 0; k < 40; k++)
			gw_overlap_add(&c, true, 1);
		assert_false(gw_overlap_range(&c, &low, &high));
	}
}

static void the_latest_are_held(void **state)
{
	struct gw_overlap c = {0};
	double low, high;

	(void)state;
	gw_overlap_add(&c, false, 100);
	for (int i = 0; i < GW_RANGE_TIMES; i++)
		gw_overlap_add(&c, false, 3 + i);
	assert_true(gw_overlap_range(&c, &low, &high));
	assert_true(low == 3 && high == 2 + GW_RANGE_TIMES);
}

static void what_has_passed_is_forgotten(void **state)
{
	struct gw_overlap c = {0};
	double low, high;
	int launches = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		gw_overlap_add(&c, false, 5);
	while (gw_overlap_range(&c, &low, &high) && launches < 1000) {
		gw_overlap_add(&c, true, 1);
		launches++;
	}
	assert_in_range(launches, 64, 128);
}

/* What (n - 1) / (n + 1) says, of a distribution with a long tail. */
static void their_range_holds_the_next_nine_times_in_ten(void **state)
{
	struct gw_overlap c = {0};
	double low, high;
	int held = 0;

	(void)state;
	seed = 3;
	for (int i = 0; i < 20000; i++) {
		double t = exp(normal() * 0.7);

		held += gw_overlap_range(&c, &low, &high) && t >= low && t <= high;
		gw_overlap_add(&c, false, t);
	}
	assert_in_range(held, 17800, 18200);
}

enum { LATE = 40, LAUNCHES = 12000 };

static struct outcome {
	double held, width, error;
} of_course(double (*course)(int launch, bool *exclusive))
{
	static struct gw_prediction made[LAUNCHES + LATE];
	struct gw_predictor *p = gw_predictor_new(1);
	struct outcome out = {0, 0, 0};
	uint64_t published = 0;
	double n = 0;

	seed = 5;
	/* Each launch is predicted as long before it is measured as so many launches take. */
	for (int i = 0; i < LAUNCHES + LATE; i++) {
		struct gw_prediction *m = &made[i >= LATE ? i - LATE : 0];
		struct gw_observation o = {.exclusive = true, .sm_hz = NAN};

		gw_predict(p, 1, published, &made[i]);
		if (i < LATE)
			continue;
		o.seconds = course(i - LATE, &o.exclusive);
		o.predicted = m->seconds;
		o.low = m->low;
		o.high = m->high;
		o.tier = m->tier;
		if (isfinite(m->seconds) && i > LAUNCHES / 10) {
			n++;
			out.held += o.seconds >= m->low && o.seconds <= m->high;
			out.width += (m->high - m->low) / m->seconds;
			out.error += fabs(m->seconds / 1e-4 - 1);
		}
		gw_observe(p, 1, &o);
		if (i % 5)
			continue;
		gw_predictor_advance(p, NULL, NULL);
		published = gw_predictor_observations(p);
	}
	gw_predictor_free(p);
	return (struct outcome){out.held / n, out.width / n, out.error / n};
}

/* A third longer beside others. */
static double time_of(bool exclusive)
{
	return 1e-4 * (exclusive ? exp(0.005 * normal()) : 1.32 * exp(0.03 * normal()));
}

static double in_turns(int launch, bool *exclusive)
{
	*exclusive = !(launch / 100 & 1);
	return time_of(*exclusive);
}

static double for_long(int launch, bool *exclusive)
{
	*exclusive = !(launch / 3000 & 1);
	return time_of(*exclusive);
}

static double now_and_then(int launch, bool *exclusive)
{
	(void)launch;
	*exclusive = uniform() > 0.3;
	return time_of(*exclusive);
}

/* Verdicts come when it is otherwise already: no width that follows them would do. */
static void intervals_hold_beside_others_and_are_no_wider_for_it(void **state)
{
	double (*const courses[])(int, bool *) = {in_turns, for_long, now_and_then};

	(void)state;
	for (size_t i = 0; i < sizeof(courses) / sizeof(*courses); i++) {
		struct outcome o = of_course(courses[i]);

		print_message("%zu: held %.3f, width %.3f, off %.4f\n", i, o.held, o.width,
		              o.error);
		assert_true(o.held >= 0.86 && o.held <= 0.95);
		assert_true(o.width < 0.5);   /* from 1 to 1.32 and what scatters about both */
		assert_true(o.error < 0.005); /* of the time alone */
	}
}

/* Widths find the one that one in ten times lies outside of, and don't swing on the way. */
enum { KIND = GW_WIDTH_SIZES - 1, LAG_MOST = 16 };

/* Share of @p rounds of @p together predictions each, judged @p lag rounds later, that miss. */
static double missed(struct gw_coverage *c, int rounds, int together, int lag, double scale,
                     double *least, double *most)
{
	float then[LAG_MOST];
	double outside = 0;

	*least = HUGE_VAL;
	*most = 0;
	for (int i = 0; i < rounds; i++) {
		double width;

		then[i % LAG_MOST] = c->width[KIND];
		width = (double)then[(i >= lag ? i - lag : 0) % LAG_MOST];
		for (int k = 0; k < together; k++) {
			bool out = fabs(scale * normal()) > width;

			gw_coverage_judge(c, KIND, out);
			outside += i >= rounds / 2 && out;
		}
		gw_coverage_adapt(c);
		if (i >= rounds / 2) {
			*least = fmin(*least, (double)c->width[KIND]);
			*most = fmax(*most, (double)c->width[KIND]);
		}
	}
	return outside / (rounds - rounds / 2) / together;
}

static void one_in_ten_lies_outside_in_the_end(void **state)
{
	static const double scales[] = {0.5, 1, 3};
	struct gw_coverage c;
	double least, most, m;

	(void)state;
	for (int i = 0; i < 3; i++) {
		seed = 9;
		gw_coverage_start(&c);
		m = missed(&c, 4000, 1, 0, scales[i], &least, &most);
		assert_true(m > 0.085 && m < 0.115);
		assert_true(least > 1.2 * scales[i] && most < 2.4 * scales[i]);
	}
}

/* A hundred predictions at once, each judged ten rounds later: still no swing. */
static void a_late_verdict_on_many_makes_no_swing(void **state)
{
	struct gw_coverage c;
	double least, most, m;

	(void)state;
	seed = 9;
	gw_coverage_start(&c);
	m = missed(&c, 400, 100, 10, 1, &least, &most);
	assert_true(m > 0.08 && m < 0.12);
	assert_true(least > 1.2 && most < 2.2);
}

static void a_width_stays_within_bounds(void **state)
{
	struct gw_coverage c;
	float first;

	(void)state;
	gw_coverage_start(&c);
	first = c.width[KIND];
	for (int i = 0; i < 10000; i++) {
		gw_coverage_judge(&c, KIND, 1);
		gw_coverage_adapt(&c);
	}
	assert_true(c.width[KIND] > 4 * first && c.width[KIND] < 10 * first);
	for (int i = 0; i < 100000; i++) {
		gw_coverage_judge(&c, KIND, 0);
		gw_coverage_adapt(&c);
	}
	assert_true(c.width[KIND] > 0.1f * first && c.width[KIND] < first);
}

static void kinds_do_not_mix(void **state)
{
	bool seen[GW_WIDTHS] = {false};
	struct gw_coverage c, before;

	(void)state;
	gw_coverage_start(&c);
	before = c;
	gw_coverage_judge(&c, gw_width_of_work(GW_TIER_COLD, GW_SOURCE_STATIC), 1);
	gw_coverage_adapt(&c);
	for (unsigned i = 0; i < GW_WIDTHS; i++)
		assert_int_equal(c.width[i] > before.width[i],
		                 i == gw_width_of_work(GW_TIER_COLD, GW_SOURCE_STATIC));
	for (uint32_t size = 1; size <= 32; size++)
		seen[gw_width_of_size(size)] = true;
	seen[GW_WIDTH_LEAST] = true;
	for (unsigned source = GW_SOURCE_NONE; source <= GW_SOURCE_COUNTED; source++) {
		seen[gw_width_of_work(GW_TIER_COLD, (enum gw_source)source)] = true;
		seen[gw_width_of_work(GW_TIER_WARM, (enum gw_source)source)] = true;
	}
	for (unsigned i = 0; i < GW_WIDTHS; i++)
		assert_true(seen[i]);
}

static void a_configuration_that_misses_gets_a_width_of_its_own(void **state)
{
	float own = 0, calm = 0;

	(void)state;
	for (int i = 0; i < 30; i++) {
		own = gw_coverage_own(own, 1, 2);
		calm = gw_coverage_own(calm, 0, 2);
	}
	assert_true(own > 1 && calm < -0.1f);
	for (int i = 0; i < 1000; i++)
		own = gw_coverage_own(own, 1, 1000000);
	assert_true(own <= 2);
	for (int i = 0; i < 1000; i++)
		own = gw_coverage_own(own, GW_MISS, 4); /* as it should be: forgotten */
	assert_true(fabsf(own) < 0.01f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(few_do_not_matter),
	        cmocka_unit_test(the_latest_are_held),
	        cmocka_unit_test(what_has_passed_is_forgotten),
	        cmocka_unit_test(their_range_holds_the_next_nine_times_in_ten),
	        cmocka_unit_test(intervals_hold_beside_others_and_are_no_wider_for_it),
	        cmocka_unit_test(one_in_ten_lies_outside_in_the_end),
	        cmocka_unit_test(a_late_verdict_on_many_makes_no_swing),
	        cmocka_unit_test(a_width_stays_within_bounds),
	        cmocka_unit_test(kinds_do_not_mix),
	        cmocka_unit_test(a_configuration_that_misses_gets_a_width_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
