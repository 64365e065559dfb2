/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in exports are printf's, which is too slow for them. */
#include "cli/export/export.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct export_out out;

static void assert_real(double number)
{
	char want[40];
	int length = snprintf(want, sizeof(want), "%.9g", number);
	struct export_mark from;
	struct export_text have = {0};

	export_write(&out, "", 0);
	from = export_mark(&out);
	export_real(&out, number);
	export_keep(&out, from, &have);
	if (have.data && ((int)have.length != length || memcmp(have.data, want, have.length)))
		fail_msg("%.*s instead of %s", (int)have.length, have.data, want);
	free(have.data);
}

static void floats_are_as_printf_has_them(void **state)
{
	static const float edges[] = {
	        0,        1,         0.5F,      9.9999999F, 10,   99999.99F, 16777216,    16777218,
	        99999992, 100000000, 999999936, 1e9F,       1.5F, 2.5F,      1.00000012F, INFINITY};
	uint64_t random = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(edges) / sizeof(*edges); i++)
		assert_real((double)edges[i]);
	for (unsigned i = 0; i < 300000; i++) {
		uint32_t bits;
		float number;

		random = random * 6364136223846793005u + 1442695040888963407u;
		/* Exponents of 2^-3 to 2^32. */
		bits = (uint32_t)(124 + (random >> 40) % 36) << 23 |
		       (uint32_t)(random >> 20 & 0x7fffff);
		memcpy(&number, &bits, sizeof(number));
		assert_real((double)number);
	}
}

static void other_doubles_are_as_printf_has_them(void **state)
{
	static const double numbers[] = {1.1, 123456.789, 1.0000000005, 99999999.95, -3, 1e300};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		assert_real(numbers[i]);
}

static int setup(void **state)
{
	(void)state;
	return export_open(&out, "/dev/null") ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return export_close(&out, true) ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(floats_are_as_printf_has_them),
	        cmocka_unit_test(other_doubles_are_as_printf_has_them),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
