/* SPDX-License-Identifier: Apache-2.0 */
/* Reading between points: the prior without any, the points where they are, sureness in between. */
#include "predictor/learner/krige.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const struct gw_prior prior = {
        .offset = 1, .slope = 0.2, .smooth = 0.3, .reach = 1, .own = 0.05};

static struct gw_place at(double x)
{
	return (struct gw_place){.at = {x}, .along = x};
}

static struct gw_point point(double x, double value, double noise)
{
	return (struct gw_point){.place = at(x), .value = value, .noise = noise};
}

static double value_at(const struct gw_prior *p, const struct gw_point *points, unsigned n,
                       double x, double *deviation)
{
	struct gw_place here = at(x);
	struct gw_weights w;
	double sum = 0;

	gw_krige(p, points, n, &here, &w);
	assert_int_equal(w.count, n);
	for (unsigned i = 0; i < n; i++)
		sum += w.weight[i] * points[i].value;
	*deviation = w.deviation;
	return sum;
}

static void without_a_point_there_is_the_prior(void **state)
{
	double deviation, all = sqrt(1 + 0.3 * 0.3 + 0.05 * 0.05);

	(void)state;
	assert_true(value_at(&prior, NULL, 0, 3, &deviation) == 0);
	assert_true(fabs(deviation - all) < 1e-12);
}

/* One point of variance v + n^2 at the place itself: v / (v + n^2) of its value. */
static void a_point_counts_by_how_much_it_can_tell(void **state)
{
	double deviation, v = 1 + 0.3 * 0.3;
	struct gw_point sure = point(0, 2, 0.01), vague = point(0, 2, 2);

	(void)state;
	assert_true(fabs(value_at(&prior, &sure, 1, 0, &deviation) - 2 * v / (v + 1e-4)) < 1e-9);
	assert_true(deviation < 0.06);
	assert_true(fabs(value_at(&prior, &vague, 1, 0, &deviation) - 2 * v / (v + 4)) < 1e-9);
	assert_true(deviation > 0.9);
}

static void the_farther_from_points_the_less_sure(void **state)
{
	struct gw_point p[2] = {point(0, 1, 0.02), point(1, 1.2, 0.02)};
	double near, far, farther;

	(void)state;
	value_at(&prior, p, 2, 0.5, &near);
	value_at(&prior, p, 2, 3, &far);
	value_at(&prior, p, 2, 6, &farther);
	assert_true(near < far && far < farther);
}

static void a_line_is_continued_and_a_bend_followed(void **state)
{
	struct gw_point line[GW_KRIGE_POINTS], bend[GW_KRIGE_POINTS];
	const struct gw_prior steep = {
	        .offset = 3, .slope = 2, .smooth = 0.1, .reach = 1, .own = 0.01};
	double deviation;

	(void)state;
	for (unsigned i = 0; i < GW_KRIGE_POINTS; i++) {
		line[i] = point(i, 5 + 0.7 * i, 0.01);
		bend[i] = point(i * 0.3, 5 + sin(i * 0.3), 0.01);
	}
	assert_true(fabs(value_at(&steep, line, GW_KRIGE_POINTS, 12, &deviation) - 13.4) < 0.1);
	assert_true(fabs(value_at(&prior, bend, GW_KRIGE_POINTS, 1.0, &deviation) - 5 - sin(1.0)) <
	            0.02);
}

/* The same place twice makes the equations all but unsolvable. */
static void points_at_one_place_are_averaged(void **state)
{
	struct gw_point p[GW_KRIGE_POINTS];
	double deviation, v;

	(void)state;
	for (unsigned i = 0; i < GW_KRIGE_POINTS; i++)
		p[i] = point(1, i % 2 ? 2.1 : 1.9, 1e-9);
	v = value_at(&prior, p, GW_KRIGE_POINTS, 1, &deviation);
	assert_true(isfinite(v) && isfinite(deviation));
	for (unsigned i = 0; i < GW_KRIGE_POINTS; i++)
		p[i].noise = 0.05;
	v = value_at(&prior, p, GW_KRIGE_POINTS, 1, &deviation);
	assert_true(fabs(v - 2) < 0.01);
}

static void points_that_agree_less_than_held_for_likely_fit_badly(void **state)
{
	struct gw_point p[6] = {{.noise = 0}};
	double left_out = 0;

	(void)state;
	assert_true(gw_krige_misfit(&prior, p, 0) == 1);
	p[0] = point(0, 5, 0.1);
	assert_true(gw_krige_misfit(&prior, p, 1) == 1);
	for (unsigned i = 0; i < 6; i++)
		p[i] = point(i, 0.5 + 0.2 * i, 0.1);
	assert_true(gw_krige_misfit(&prior, p, 6) < 1);
	for (unsigned i = 0; i < 6; i++)
		p[i].value += i % 2 ? 2 : -2;
	assert_true(gw_krige_misfit(&prior, p, 6) > 10);
	/* Both of two are as far off what the other says, as leaving out shows. */
	for (unsigned i = 0; i < 2; i++) {
		struct gw_point rest = p[1 - i];
		double deviation,
		        off = p[i].value - value_at(&prior, &rest, 1, p[i].place.at[0], &deviation);
		left_out += off * off / (deviation * deviation + 0.1 * 0.1) / 2;
	}
	assert_true(fabs(gw_krige_misfit(&prior, p, 2) / left_out - 1) < 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(without_a_point_there_is_the_prior),
	        cmocka_unit_test(a_point_counts_by_how_much_it_can_tell),
	        cmocka_unit_test(the_farther_from_points_the_less_sure),
	        cmocka_unit_test(a_line_is_continued_and_a_bend_followed),
	        cmocka_unit_test(points_at_one_place_are_averaged),
	        cmocka_unit_test(points_that_agree_less_than_held_for_likely_fit_badly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
