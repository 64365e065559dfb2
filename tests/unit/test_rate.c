/* SPDX-License-Identifier: Apache-2.0 */
/* Rates of calibration on scripted samples: what a rate is taken to be while it still changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "calib/groups/rate.h"
#include "calib/stats.h"

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

static void what_rises_at_first_is_taken_once_it_has_settled(void **state)
{
	size_t n;

	(void)state;
	assert_true(settled(reading, 9, SIZE_MAX, &n) == 1 / (1 / 4628197650416.2));
	assert_int_equal(n, GW_RATE_SAMPLES);
	assert_int_equal(taken, 3 * GW_RATE_SAMPLES);
}

static void what_is_steady_is_measured_twice(void **state)
{
	double twice[18];
	size_t n;

	(void)state;
	for (size_t i = 0; i < 18; i++)
		twice[i] = writing[i % 9];
	assert_true(fabs(settled(twice, 18, SIZE_MAX, &n) / gw_median(writing, 9) - 1) < 1e-12);
	assert_int_equal(taken, 2 * GW_RATE_SAMPLES);
}

/* A slow beginning that fills more than a batch. */
static void two_batches_that_differ_are_not_settled(void **state)
{
	double samples[20];
	size_t n;

	(void)state;
	for (size_t i = 0; i < 20; i++)
		samples[i] = i < 9 ? 4 : 5;
	assert_true(fabs(settled(samples, 20, SIZE_MAX, &n) - 5) < 1e-12);
	assert_int_equal(taken, 3 * GW_RATE_SAMPLES);
}

static void what_never_settles_ends(void **state)
{
	double samples[999];
	size_t n;

	(void)state;
	for (size_t i = 0; i < 999; i++)
		samples[i] = 1 + (double)i;
	settled(samples, 999, SIZE_MAX, &n);
	assert_int_equal(n, GW_RATE_SAMPLES);
	assert_true(taken < 200);
}

static void a_bench_that_stops_gives_what_it_has(void **state)
{
	size_t n;

	(void)state;
	settled(writing, 9, 4, &n);
	assert_int_equal(n, 4);
	assert_true(isnan(settled(writing, 9, 0, &n)));
	assert_int_equal(n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(what_rises_at_first_is_taken_once_it_has_settled),
	        cmocka_unit_test(what_is_steady_is_measured_twice),
	        cmocka_unit_test(two_batches_that_differ_are_not_settled),
	        cmocka_unit_test(what_never_settles_ends),
	        cmocka_unit_test(a_bench_that_stops_gives_what_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
