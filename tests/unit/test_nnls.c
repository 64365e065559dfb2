/* SPDX-License-Identifier: Apache-2.0 */
/* Least squares that can't be negative. */
#include "predictor/counters/nnls.h"

#include <math.h>

/* cmocka wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void least_squares_stay_at_zero_rather_than_below(void **state)
{
	/* Unconstrained: x = (2, -1). With x >= 0 the best is (1.2, 0). */
	const double gram[] = {5, 4, 4, 5}, rhs[] = {6, 3};
	double x[2], inverse[2];

	(void)state;
	assert_true(gw_nnls(2, gram, rhs, x, inverse));
	assert_true(fabs(x[0] - 1.2) < 1e-6 && x[1] == 0);
	assert_true(fabs(inverse[0] - 0.2) < 1e-6 && inverse[1] == 0);
}

static void least_squares_find_the_positive_solution(void **state)
{
	const double gram[] = {2, 1, 0, 1, 3, 1, 0, 1, 4}, want[] = {1, 2, 3};
	double rhs[3] = {0}, x[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned j = 0; j < 3; j++)
			rhs[i] += gram[i * 3 + j] * want[j];
	assert_true(gw_nnls(3, gram, rhs, x, NULL));
	for (unsigned i = 0; i < 3; i++)
		assert_true(fabs(x[i] - want[i]) < 1e-6);
	assert_false(gw_nnls(GW_NNLS_MAX + 1, gram, rhs, x, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(least_squares_stay_at_zero_rather_than_below),
	        cmocka_unit_test(least_squares_find_the_positive_solution),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
