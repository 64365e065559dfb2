/* SPDX-License-Identifier: Apache-2.0 */
/* The check of memory accesses, on code written here: it must see what is too many or too few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tests/kernels/accesses.h"

#define NOWHERE SIZE_MAX

/* Two loads in a loop, a store behind it; one load between two readings of the clock. */
static struct sass_instruction code[] = {
        {"LDC", "R1, c[0x0][0x28]", NOWHERE},
        {"CS2R", "R2, SR_CLOCKLO", NOWHERE},
        {"LDG.E", "R4, [R6]", NOWHERE},
        {"CS2R", "R8, SR_CLOCKLO", NOWHERE},
        {"LDS.128", "R4, [R6]", NOWHERE},
        {"IADD3", "R1, R1, 0x1, RZ", NOWHERE},
        {"LDS.128", "R8, [R6]", NOWHERE},
        {"LDC", "R9, c[0x0][0x210]", NOWHERE},
        {"BRA", "`(.L_x_1)", 4},
        {"STG.E", "[R2], R4", NOWHERE},
};
static const struct sass_kernel kernel = {"k", code, sizeof(code) / sizeof(*code)};
static char why[ACCESSES_WHY];

static void the_claimed_accesses_are_found(void **state)
{
	(void)state;
	assert_true(accesses_loop(&kernel, "LDS.128*2", why));
	assert_true(accesses_timed(&kernel, 0, "LDG.E", why));
}

static void too_few_or_too_many_are_refused(void **state)
{
	(void)state;
	assert_false(accesses_loop(&kernel, "LDS.128", why));
	assert_non_null(strstr(why, "LDS.128*2"));
	assert_false(accesses_loop(&kernel, "LDS.128*3", why));
	assert_false(accesses_timed(&kernel, 0, "LDG.E*2", why));
}

static void another_width_is_refused(void **state)
{
	(void)state;
	assert_false(accesses_loop(&kernel, "LDS.64*2", why));
	assert_false(accesses_timed(&kernel, 0, "LDG.E.128", why));
	assert_false(accesses_timed(&kernel, 0, "LDG", why));
}

static void an_access_that_is_not_claimed_is_refused(void **state)
{
	(void)state;
	assert_false(accesses_timed(&kernel, 0, "", why));
	code[5] = (struct sass_instruction){"ATOMG.E.ADD", "R1, [R2], R3", NOWHERE};
	assert_false(accesses_loop(&kernel, "LDS.128*2", why));
	code[5] = (struct sass_instruction){"LDC", "R1, c[0x3][R2]", NOWHERE};
	assert_false(accesses_loop(&kernel, "LDS.128*2", why));
	code[5] = (struct sass_instruction){"IADD3", "R1, R1, 0x1, RZ", NOWHERE};
}

static void readings_that_are_not_there_are_refused(void **state)
{
	(void)state;
	assert_false(accesses_timed(&kernel, 1, "", why));
	assert_non_null(strstr(why, "no clock readings"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_claimed_accesses_are_found),
	        cmocka_unit_test(too_few_or_too_many_are_refused),
	        cmocka_unit_test(another_width_is_refused),
	        cmocka_unit_test(an_access_that_is_not_claimed_is_refused),
	        cmocka_unit_test(readings_that_are_not_there_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
