/*
 * Numeric methods: reading between points (the prior without any, the points where they are,
 * sureness in between), non-negative least squares, sketches of quantiles.
 */
#include "predictor/core/sketch.h"
#include "predictor/counters/nnls.h"
#include "predictor/learner/krige.h"
#include "tests/random.h"
#include "tests/test.h"

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

TEST(without_a_point_there_is_the_prior)
{
	double deviation, all = sqrt(1 + 0.3 * 0.3 + 0.05 * 0.05);

	assert_true(value_at(&prior, NULL, 0, 3, &deviation) == 0);
	assert_true(fabs(deviation - all) < 1e-12);
}

/* One point of variance v + n^2 at the place itself: v / (v + n^2) of its value. */
TEST(a_point_counts_by_how_much_it_can_tell)
{
	double deviation, v = 1 + 0.3 * 0.3;
	struct gw_point sure = point(0, 2, 0.01), vague = point(0, 2, 2);

	assert_true(fabs(value_at(&prior, &sure, 1, 0, &deviation) - 2 * v / (v + 1e-4)) < 1e-9);
	assert_true(deviation < 0.06);
	assert_true(fabs(value_at(&prior, &vague, 1, 0, &deviation) - 2 * v / (v + 4)) < 1e-9);
	assert_true(deviation > 0.9);
}

TEST(the_farther_from_points_the_less_sure)
{
	struct gw_point p[2] = {point(0, 1, 0.02), point(1, 1.2, 0.02)};
	double near, far, farther;

	value_at(&prior, p, 2, 0.5, &near);
	value_at(&prior, p, 2, 3, &far);
	value_at(&prior, p, 2, 6, &farther);
	assert_true(near < far && far < farther);
}

TEST(a_line_is_continued_and_a_bend_followed)
{
	struct gw_point line[GW_KRIGE_POINTS], bend[GW_KRIGE_POINTS];
	const struct gw_prior steep = {
		.offset = 3, .slope = 2, .smooth = 0.1, .reach = 1, .own = 0.01};
	double deviation;

	for (unsigned i = 0; i < GW_KRIGE_POINTS; i++) {
		line[i] = point(i, 5 + 0.7 * i, 0.01);
		bend[i] = point(i * 0.3, 5 + sin(i * 0.3), 0.01);
	}
	assert_true(fabs(value_at(&steep, line, GW_KRIGE_POINTS, 12, &deviation) - 13.4) < 0.1);
	assert_true(fabs(value_at(&prior, bend, GW_KRIGE_POINTS, 1.0, &deviation) - 5 - sin(1.0)) <
		    0.02);
}

/* The same place twice makes the equations all but unsolvable. */
TEST(points_at_one_place_are_averaged)
{
	struct gw_point p[GW_KRIGE_POINTS];
	double deviation, v;

	for (unsigned i = 0; i < GW_KRIGE_POINTS; i++)
		p[i] = point(1, i % 2 ? 2.1 : 1.9, 1e-9);
	v = value_at(&prior, p, GW_KRIGE_POINTS, 1, &deviation);
	assert_true(isfinite(v) && isfinite(deviation));
	for (unsigned i = 0; i < GW_KRIGE_POINTS; i++)
		p[i].noise = 0.05;
	v = value_at(&prior, p, GW_KRIGE_POINTS, 1, &deviation);
	assert_true(fabs(v - 2) < 0.01);
}

TEST(points_that_agree_less_than_held_for_likely_fit_badly)
{
	struct gw_point p[6] = {{.noise = 0}};
	double left_out = 0;

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

/* Least squares that can't be negative. */
/* cmocka wants these before it. */

TEST(least_squares_stay_at_zero_rather_than_below)
{
	/* Unconstrained: x = (2, -1). With x >= 0 the best is (1.2, 0). */
	const double gram[] = {5, 4, 4, 5}, rhs[] = {6, 3};
	double x[2], inverse[2];

	assert_true(gw_nnls(2, gram, rhs, x, inverse));
	assert_true(fabs(x[0] - 1.2) < 1e-6 && x[1] == 0);
	assert_true(fabs(inverse[0] - 0.2) < 1e-6 && inverse[1] == 0);
}

TEST(least_squares_find_the_positive_solution)
{
	const double gram[] = {2, 1, 0, 1, 3, 1, 0, 1, 4}, want[] = {1, 2, 3};
	double rhs[3] = {0}, x[3];

	for (unsigned i = 0; i < 3; i++)
		for (unsigned j = 0; j < 3; j++)
			rhs[i] += gram[i * 3 + j] * want[j];
	assert_true(gw_nnls(3, gram, rhs, x, NULL));
	for (unsigned i = 0; i < 3; i++)
		assert_true(fabs(x[i] - want[i]) < 1e-6);
	assert_false(gw_nnls(GW_NNLS_MAX + 1, gram, rhs, x, NULL));
}

/* Sketches against the values themselves. */
enum { VALUES = 5000 };

static double values[VALUES];
static uint64_t seed;

static int by_value(const void *x, const void *y)
{
	const double *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* Values from @p low on, over @p octaves octaves; half of them close to the middle. */
static struct gw_sketch spread(double low, double octaves)
{
	struct gw_sketch s = {0};

	for (int i = 0; i < VALUES; i++) {
		double at = i % 2 ? next_uniform(&seed) : 0.5 + 0.01 * next_uniform(&seed);

		values[i] = low * exp2(octaves * at);
		gw_sketch_add(&s, values[i], 1);
	}
	qsort(values, VALUES, sizeof(*values), by_value);
	return s;
}

static void assert_quantiles(const struct gw_sketch *s)
{
	static const double shares[] = {0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1};
	const double most = gw_sketch_error(s->schema) * (1 + 1e-9);

	assert_true(gw_sketch_valid(s));
	assert_int_equal(s->count, VALUES);
	for (size_t i = 0; i < COUNT(shares); i++) {
		int rank = (int)ceil(shares[i] * VALUES);
		double exact = values[rank ? rank - 1 : 0];

		assert_true(fabs(gw_sketch_quantile(s, shares[i]) / exact - 1) <= most);
	}
}

TEST(a_value_lies_within_its_bucket)
{
	for (int i = 0; i < 100000; i++) {
		double value = exp2(120 * next_uniform(&seed) - 60);
		int32_t at = gw_sketch_index(value);

		assert_true(value <= gw_sketch_bound(3, at) * (1 + 1e-14));
		assert_true(value > gw_sketch_bound(3, at - 1) * (1 - 1e-14));
	}
	assert_int_equal(gw_sketch_index(1), 0);
	assert_int_equal(gw_sketch_index(nextafter(1, 2)), 1);
	assert_int_equal(gw_sketch_index(2), 8);
	assert_int_equal(gw_sketch_index(0.5), -8);
	assert_int_equal(gw_sketch_index(GW_SKETCH_MOST), GW_SKETCH_INDEX_MOST);
}

TEST(quantiles_are_within_the_schemas_error)
{
	static const double octaves[] = {0, 0.05, 1, 5, 7.8};

	for (size_t i = 0; i < COUNT(octaves); i++) {
		struct gw_sketch s = spread(3e-6, octaves[i]);

		assert_int_equal(s.schema, GW_SKETCH_SCHEMA);
		assert_quantiles(&s);
	}
	assert_true(gw_sketch_error(GW_SKETCH_SCHEMA) < 0.0443);
}

TEST(a_wider_span_costs_resolution_and_no_value)
{
	static const struct {
		double octaves;
		int32_t schema;
	} cases[] = {{12, 2}, {25, 1}, {50, 0}, {100, -1}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct gw_sketch s = spread(1e-15, cases[i].octaves);

		assert_int_equal(s.schema, cases[i].schema);
		assert_quantiles(&s);
	}
}

TEST(sums_and_ends_are_exact)
{
	struct gw_sketch s = {0};

	gw_sketch_add(&s, 5, 2);
	gw_sketch_add(&s, 0, 1);
	gw_sketch_add(&s, -1, 1);
	gw_sketch_add(&s, 1e30, 1);
	gw_sketch_add(&s, 1e-30, 1);
	gw_sketch_add(&s, NAN, 1);
	gw_sketch_add(&s, INFINITY, 1);
	assert_int_equal(s.count, 6);
	assert_int_equal(s.zero, 2);
	assert_true(s.sum == 5.0 + 5 - 1 + 1e30 + 1e-30);
	assert_true(s.low == -1 && s.high == 1e30);
	assert_true(gw_sketch_quantile(&s, 0) == -1);
	assert_int_equal(s.schema, GW_SKETCH_SCHEMA_LEAST);
	assert_true(gw_sketch_valid(&s));
}

TEST(an_empty_one_has_no_quantile)
{
	struct gw_sketch s = {0};

	assert_true(isnan(gw_sketch_quantile(&s, 0.5)));
	assert_true(gw_sketch_valid(&s));
}

/* In any order and any parts. */
TEST(parts_that_are_merged_are_the_whole)
{
	static const double octaves[] = {2, 7, 20, 100};

	for (size_t k = 0; k < COUNT(octaves); k++) {
		struct gw_sketch part[3] = {{0}}, all = {0};

		spread(1e-15, octaves[k]);
		for (int i = 0; i < VALUES; i++) /* each third of the span by itself */
			gw_sketch_add(&part[3 * i / VALUES], values[i], 1);
		gw_sketch_merge(&all, &part[2]);
		gw_sketch_merge(&all, &part[0]);
		gw_sketch_merge(&all, &part[1]);
		assert_quantiles(&all);
		gw_sketch_merge(&all, &(struct gw_sketch){0});
		assert_quantiles(&all);
	}
}

TEST(damaged_ones_are_refused)
{
	struct gw_sketch s = spread(1, 3), bad;

#define DAMAGED(field, value) \
	bad = s; \
	bad.field = value; \
	assert_false(gw_sketch_valid(&bad))
	DAMAGED(schema, 4);
	DAMAGED(schema, INT32_MIN);
	DAMAGED(first, INT32_MAX);
	DAMAGED(first, INT32_MIN);
	DAMAGED(zero, VALUES + 1);
	DAMAGED(sum, NAN);
	DAMAGED(high, INFINITY);
}

TEST(one_with_values_that_none_holds_is_refused)
{
	struct gw_sketch s = {0}, wide;

	gw_sketch_add(&s, GW_SKETCH_LEAST, 1);
	gw_sketch_add(&s, GW_SKETCH_MOST, 1);
	assert_true(gw_sketch_valid(&s));
	wide = s;
	wide.first += GW_SKETCH_BUCKETS;
	assert_false(gw_sketch_valid(&wide));
	wide.first = s.first - GW_SKETCH_BUCKETS;
	assert_false(gw_sketch_valid(&wide));
	gw_sketch_merge(&s, &s);
	assert_true(gw_sketch_valid(&s));
}

/* The same counts up to powers of 4, where buckets of all schemas end. */
static void assert_same_buckets(struct gw_sketch a, struct gw_sketch b)
{
	assert_int_equal(a.count, b.count);
	assert_int_equal(a.zero, b.zero);
	for (double end = 0x1p-4; end < 0x1p60; end *= 4) {
		uint64_t below_a = 0, below_b = 0;

		for (int i = 0; i < GW_SKETCH_BUCKETS; i++) {
			below_a += gw_sketch_bound(a.schema, a.first + i) <= end ? a.bucket[i] : 0;
			below_b += gw_sketch_bound(b.schema, b.first + i) <= end ? b.bucket[i] : 0;
		}
		assert_int_equal(below_a, below_b);
	}
}

TEST(what_came_since_is_what_was_added_since)
{
	static const double octaves[] = {1, 7, 20, 40};

	for (size_t i = 0; i < COUNT(octaves); i++) {
		struct gw_sketch now = spread(100, 2), before = now, more, added;

		gw_sketch_add(&now, 0, 3);
		added = spread(50, octaves[i]);
		gw_sketch_merge(&now, &added);
		gw_sketch_add(&added, 0, 3);
		gw_sketch_since(&now, &before, &more);
		assert_true(gw_sketch_valid(&more));
		assert_same_buckets(more, added);
		assert_true(fabs(more.sum / added.sum - 1) < 1e-9);
	}
}

TEST(what_has_begun_anew_is_all_since)
{
	struct gw_sketch before = spread(100, 2), now = {0}, more;

	gw_sketch_add(&now, 100, 7);
	gw_sketch_since(&now, &before, &more);
	assert_memory_equal(&more, &now, sizeof(now));
	gw_sketch_add(&now, 1e9, 2 * VALUES); /* as many, and none of those before */
	gw_sketch_since(&now, &before, &more);
	assert_memory_equal(&more, &now, sizeof(now));
}

TESTS_MAIN()
