/* SPDX-License-Identifier: Apache-2.0 */
/* How far intervals of few own times, of relatives and of lower limits reach. */
#include "tests/unit/learner_fixture.h"

#include "predictor/learner/coverage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static double either(double less, double more)
{
	return fixture_random(&seed) < 0.5 ? less : more;
}

/* Data decide whether a launch ends at once. Each configuration is launched twice. */
static void
times_that_differ_elsewhere_in_the_kernel_are_expected_of_a_new_configuration(void **state)
{
	enum { EACH = 40 };
	uint32_t held = 0, calm = 0;

	(void)state;
	for (uint32_t i = 0; i < EACH; i++) {
		uint32_t c = configure(1, 100 + i, 128), other = configure(2, 100 + i, 128);
		double next = either(3e-6, 45e-6);

		measure(c, either(3e-6, 45e-6));
		measure(other, 20e-6);
		calm += log(predict(other).high / 20e-6) < 0.8;
		held += holds(measure(c, next), next) && i >= EACH / 4;
		measure(other, 20e-6);
	}
	assert_true(held >= 0.86 * (EACH - EACH / 4));
	assert_int_equal(calm, EACH);
}

/* Launches whose repeated times agree, of a program whose kernels all do. */
static void few_times_are_held_narrowly_where_repeated_times_agree(void **state)
{
	enum { KERNELS = 60 };
	double first = 0, last = 0;
	uint32_t held = 0;

	(void)state;
	for (uint32_t k = 1; k <= KERNELS; k++) {
		uint32_t c = configure(k, 100, 128);
		double next = 20e-6 * exp(0.02 * normal());
		struct gw_prediction made;

		measure(c, 20e-6 * exp(0.02 * normal()));
		made = measure(c, next);
		held += holds(made, next);
		last = log(made.high / made.seconds);
		first = k == 1 ? last : first;
	}
	assert_true(held >= 0.86 * KERNELS);
	assert_true(first > 0.3 && last < 0.15);
}

/* Blocks that fill half of the GPU may share what all wait for: nothing is known of the work. */
static void a_grid_that_does_not_fill_the_gpu_takes_longer_when_it_is_larger(void **state)
{
	double small, large;

	(void)state;
	measure(configure(1, 4, 32), 10e-6);
	small = predict(configure(1, 2, 32)).seconds;
	large = predict(configure(1, 8, 32)).seconds;
	assert_true(small < 9e-6 && small > 5e-6);
	assert_true(large > 11e-6 && large < 20e-6);
}

/* An amount is known of one configuration, and hardly any of the other: averages do not help. */
static void relatives_of_which_more_is_known_do_not_make_little_certain(void **state)
{
	struct gw_prediction much, little;
	uint32_t c;

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		c = configure(1, 1000 + 100 * i, 128);
		tell(c, GW_SOURCE_STATIC, 1);
		measure(c, 3 * model());
	}
	c = configure(1, 3000, 128);
	tell(c, GW_SOURCE_STATIC, 1);
	much = predict(c);
	c = configure(1, 3000, 160);
	fixture_work(&f, GW_WORK_inst_executed, NAN);
	fixture_work(&f, GW_WORK_inst_issued, NAN);
	fixture_work(&f, GW_WORK_warp_longest_fixed_cycles, NAN);
	tell(c, GW_SOURCE_STATIC, 1);
	little = predict(c);
	assert_true(log(little.high / little.seconds) > 2 * log(much.high / much.seconds));
}

static struct gw_prediction limit(uint32_t kernel, double *least)
{
	uint32_t c = configure(kernel, 300, 256);

	*least = model();
	fixture_work(&f, GW_WORK_least_time, *least);
	tell(c, GW_SOURCE_STATIC, 1);
	return predict(c);
}

/* The model is not exact for what is surely done either. */
static void lower_limits_come_to_hold_nine_times_in_ten(void **state)
{
	enum { KERNELS = 400 };
	double least, first = 0, held = 0;

	(void)state;
	for (uint32_t k = 1; k <= KERNELS; k++) {
		struct gw_prediction made = limit(k, &least);
		double seconds = 0.5 * least * exp(0.3 * normal());

		assert_true(isnan(made.seconds) && made.low > 0 && made.low < least);
		if (k == 1)
			first = made.low / least;
		held += k > KERNELS / 2 && seconds >= made.low;
		measure(configs, seconds);
	}
	assert_true(limit(KERNELS + 1, &least).low < 0.8 * first * least);
	held /= KERNELS - KERNELS / 2;
	assert_true(held >= 0.86 && held <= 0.95);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(
	                times_that_differ_elsewhere_in_the_kernel_are_expected_of_a_new_configuration,
	                start, stop),
	        cmocka_unit_test_setup_teardown(
	                few_times_are_held_narrowly_where_repeated_times_agree, start, stop),
	        cmocka_unit_test_setup_teardown(
	                a_grid_that_does_not_fill_the_gpu_takes_longer_when_it_is_larger, start,
	                stop),
	        cmocka_unit_test_setup_teardown(
	                relatives_of_which_more_is_known_do_not_make_little_certain, start, stop),
	        cmocka_unit_test_setup_teardown(lower_limits_come_to_hold_nine_times_in_ten, start,
	                                        stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
