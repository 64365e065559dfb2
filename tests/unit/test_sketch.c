/* SPDX-License-Identifier: Apache-2.0 */
/* Sketches against the values themselves. */
#include "predictor/core/sketch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { VALUES = 5000 };

static double values[VALUES];
static uint64_t seed;

/* Between 0 and 1. */
static double any(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return ((double)(seed >> 11) + 0.5) / 0x1p53;
}

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
		double at = i % 2 ? any() : 0.5 + 0.01 * any();

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
	for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
		int rank = (int)ceil(shares[i] * VALUES);
		double exact = values[rank ? rank - 1 : 0];

		assert_true(fabs(gw_sketch_quantile(s, shares[i]) / exact - 1) <= most);
	}
}

static void a_value_lies_within_its_bucket(void **state)
{
	(void)state;
	for (int i = 0; i < 100000; i++) {
		double value = exp2(120 * any() - 60);
		int32_t at = gw_sketch_index(value);

		assert_true(value <= gw_sketch_bound(3, at) * (1 + 1e-14));
		assert_true(value > gw_sketch_bound(3, at - 1) * (1 - 1e-14));
	}
	assert_int_equal(gw_sketch_index(1), 0);
	assert_int_equal(gw_sketch_index(nextafter(1, 2)), 1);
	assert_int_equal(gw_sketch_index(2), 8);
	assert_int_equal(gw_sketch_index(0.5), -8);
}

static void quantiles_are_within_the_schemas_error(void **state)
{
	static const double octaves[] = {0, 0.05, 1, 5, 7.8};

	(void)state;
	for (size_t i = 0; i < sizeof(octaves) / sizeof(*octaves); i++) {
		struct gw_sketch s = spread(3e-6, octaves[i]);

		assert_int_equal(s.schema, GW_SKETCH_SCHEMA);
		assert_quantiles(&s);
	}
	assert_true(gw_sketch_error(GW_SKETCH_SCHEMA) < 0.0443);
}

static void a_wider_span_costs_resolution_and_no_value(void **state)
{
	static const struct {
		double octaves;
		int32_t schema;
	} cases[] = {{12, 2}, {25, 1}, {50, 0}, {100, -1}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gw_sketch s = spread(1e-15, cases[i].octaves);

		assert_int_equal(s.schema, cases[i].schema);
		assert_quantiles(&s);
	}
}

static void sums_and_ends_are_exact(void **state)
{
	struct gw_sketch s = {0};

	(void)state;
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

static void an_empty_one_has_no_quantile(void **state)
{
	struct gw_sketch s = {0};

	(void)state;
	assert_true(isnan(gw_sketch_quantile(&s, 0.5)));
	assert_true(gw_sketch_valid(&s));
}

/* In any order and any parts. */
static void parts_that_are_merged_are_the_whole(void **state)
{
	static const double octaves[] = {2, 7, 20, 100};

	(void)state;
	for (size_t k = 0; k < sizeof(octaves) / sizeof(*octaves); k++) {
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

static void damaged_ones_are_refused(void **state)
{
	struct gw_sketch s = spread(1, 3), bad;

	(void)state;
#define DAMAGED(field, value)                                                                      \
	bad = s;                                                                                   \
	bad.field = value;                                                                         \
	assert_false(gw_sketch_valid(&bad))
	DAMAGED(schema, 4);
	DAMAGED(schema, INT32_MIN);
	DAMAGED(first, INT32_MAX);
	DAMAGED(first, INT32_MIN);
	DAMAGED(zero, VALUES + 1);
	DAMAGED(sum, NAN);
	DAMAGED(high, INFINITY);
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

static void what_came_since_is_what_was_added_since(void **state)
{
	static const double octaves[] = {1, 7, 20, 40};

	(void)state;
	for (size_t i = 0; i < sizeof(octaves) / sizeof(*octaves); i++) {
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

static void what_has_begun_anew_is_all_since(void **state)
{
	struct gw_sketch before = spread(100, 2), now = {0}, more;

	(void)state;
	gw_sketch_add(&now, 100, 7);
	gw_sketch_since(&now, &before, &more);
	assert_memory_equal(&more, &now, sizeof(now));
	gw_sketch_add(&now, 1e9, 2 * VALUES); /* as many, and none of those before */
	gw_sketch_since(&now, &before, &more);
	assert_memory_equal(&more, &now, sizeof(now));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_value_lies_within_its_bucket),
	        cmocka_unit_test(quantiles_are_within_the_schemas_error),
	        cmocka_unit_test(a_wider_span_costs_resolution_and_no_value),
	        cmocka_unit_test(sums_and_ends_are_exact),
	        cmocka_unit_test(an_empty_one_has_no_quantile),
	        cmocka_unit_test(parts_that_are_merged_are_the_whole),
	        cmocka_unit_test(damaged_ones_are_refused),
	        cmocka_unit_test(what_came_since_is_what_was_added_since),
	        cmocka_unit_test(what_has_begun_anew_is_all_since),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
