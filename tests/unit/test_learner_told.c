/* SPDX-License-Identifier: Apache-2.0 */
/* The learner where of some kernels' work less is known than of others'. */
#include "tests/unit/learner_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { KERNELS = 40 };

/* What is known of a kernel's course. */
enum told { ALL, GUESSED, LITTLE };

static void by_code(enum gw_work_field field, double value)
{
	fixture_work(&f, field, value);
	f.work.q[field].source = GW_SOURCE_STATIC;
}

/* A configuration whose work is told as far as @p told; returns what the model makes of that. */
static double tell_as(uint32_t config, enum told told)
{
	const struct gw_work whole = f.work;
	double seconds;

	by_code(GW_WORK_warp_insts, 50);
	by_code(GW_WORK_warp_fixed_cycles, 200);
	by_code(GW_WORK_warp_fixed_chain, 1);
	if (told == ALL)
		by_code(GW_WORK_warp_longest_fixed_cycles, 200);
	if (told == LITTLE) {
		fixture_work(&f, GW_WORK_inst_executed, NAN);
		fixture_work(&f, GW_WORK_inst_issued, NAN);
	}
	seconds = model();
	gw_predictor_work(p, config, &f.work);
	f.work = whole;
	return seconds;
}

/* Kernels in turn, those of each kind off by a factor of their own, @p first their first number. */
static void measure_kernels(uint32_t first, const double factor[LITTLE + 1])
{
	for (uint32_t k = 0; k < KERNELS; k++)
		for (enum told told = ALL; told <= LITTLE; told++) {
			uint32_t c = configure(first + 3 * k + told, 200 + 17 * k, 256);

			measure(c, factor[told] * exp(0.05 * normal()) * tell_as(c, told));
		}
}

/* The model is right where all is known, and far too short where loops are not: each is learnt. */
static void what_is_known_of_the_course_has_a_level_of_its_own(void **state)
{
	static const double factor[] = {1, 1.6, 5};

	(void)state;
	measure_kernels(1, factor);
	for (enum told told = ALL; told <= LITTLE; told++) {
		uint32_t c = configure(1000 + told, 555, 256);
		double seconds = factor[told] * tell_as(c, told);

		assert_true(off(predict(c), seconds) < 0.12);
		assert_true(holds(predict(c), seconds));
	}
}

/* What the model lacks where it knows little is not what it lacks where it knows all. */
static void a_relative_of_which_less_is_known_tells_less(void **state)
{
	static const double factor[] = {1, 1.6, 5};
	struct gw_prediction alike, less;
	uint32_t c, kernel = 2000;
	double seconds;

	(void)state;
	measure_kernels(1, factor);
	/* Twice as long as kernels of its kind; its relative is of the same, then of the other
	 * kind. */
	c = configure(kernel, 300, 256);
	measure(c, 2 * tell_as(c, ALL));
	c = configure(kernel, 330, 256);
	seconds = 2 * tell_as(c, ALL);
	alike = predict(c);
	assert_true(off(alike, seconds) < 0.1);
	c = configure(kernel + 1, 300, 256);
	measure(c, 2 * factor[GUESSED] * tell_as(c, GUESSED));
	c = configure(kernel + 1, 330, 256);
	tell_as(c, ALL);
	less = predict(c);
	assert_true(less.seconds < alike.seconds);
	assert_true(less.high / less.low > 1.2 * alike.high / alike.low);
}

/* All of f's amounts times @p factor, as of @p source, as sure as @p confidence; the model's time
 * for them. */
static double tell_sure(uint32_t config, enum gw_source source, double factor, float confidence)
{
	const struct gw_work whole = f.work;
	double seconds;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		f.work.q[i].source = source;
		f.work.q[i].confidence = confidence;
		if (i < GW_WORK_l1_hit_rate)
			f.work.q[i].value *= factor;
	}
	gw_predictor_work(p, config, &f.work);
	seconds = model();
	f.work = whole;
	return seconds;
}

/* Other arguments, ten times the work: what was counted elsewhere does not say otherwise. */
static void what_code_settles_is_not_scaled_from_elsewhere(void **state)
{
	uint32_t c = configure(1, 200, 256);
	double seconds;

	(void)state;
	tell_sure(c, GW_SOURCE_COUNTED, 1, 1);
	c = configure(1, 220, 256);
	seconds = tell_sure(c, GW_SOURCE_STATIC, 10, 1);
	assert_true(off(predict(c), seconds) < 0.01);
	/* What it guesses gives way. */
	seconds = tell_sure(c, GW_SOURCE_STATIC, 1, 1);
	tell_sure(c, GW_SOURCE_STATIC, 10, 0.3F);
	assert_true(off(predict(c), seconds) < 0.2);
}

/* Counted before arguments were told apart: of whatever ran then. */
static void what_was_counted_of_several_arguments_scales_none(void **state)
{
	uint32_t c = configure(1, 200, 256);
	double seconds;

	(void)state;
	tell_sure(c, GW_SOURCE_COUNTED, 10, 1);
	f.launch.config.digest = 77;
	c = configure(1, 220, 256);
	seconds = tell_sure(c, GW_SOURCE_STATIC, 1, 0.3F);
	assert_true(off(predict(c), seconds) < 0.01);
}

/* A count sampled of few launches may be far off; code that is settled is not. */
static void what_code_settles_stands_against_a_poor_sample(void **state)
{
	uint32_t c = configure(1, 200, 256);
	double told, counted;

	(void)state;
	told = tell_sure(c, GW_SOURCE_STATIC, 1, 1);
	tell_sure(c, GW_SOURCE_COUNTED, 50, 0.4F);
	assert_true(off(predict(c), told) < 0.01);
	assert_int_equal(predict(c).work, GW_SOURCE_COUNTED);
	counted = tell_sure(c, GW_SOURCE_COUNTED, 50, 0.95F);
	assert_true(off(predict(c), counted) < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(what_is_known_of_the_course_has_a_level_of_its_own,
	                                        start, stop),
	        cmocka_unit_test_setup_teardown(what_code_settles_is_not_scaled_from_elsewhere,
	                                        start, stop),
	        cmocka_unit_test_setup_teardown(what_was_counted_of_several_arguments_scales_none,
	                                        start, stop),
	        cmocka_unit_test_setup_teardown(what_code_settles_stands_against_a_poor_sample,
	                                        start, stop),
	        cmocka_unit_test_setup_teardown(a_relative_of_which_less_is_known_tells_less, start,
	                                        stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
