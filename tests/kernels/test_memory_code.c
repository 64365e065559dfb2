/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory microbenchmarks, disassembled: each accesses memory as kernels/memory_code.def says,
 * as often as it says, and not otherwise (Sanchez Gil 2017, 4.1.7).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tests/kernels/accesses.h"
#include "tests/kernels/embedded.h"

static unsigned failures;

static const struct sass_kernel *kernel(const char *name)
{
	const struct sass_kernel *k = sass_find(embedded_code(), name);

	if (!k)
		fail_msg("no embedded module has %s", name);
	return k;
}

static void report(const char *name, bool good, const char *why)
{
	if (good)
		return;
	failures++;
	print_error("%s: %s\n", name, why);
}

static void check_loop(const char *name, const char *claimed)
{
	char why[ACCESSES_WHY];

	report(name, accesses_loop(kernel(name), claimed, why), why);
}

static void check_timed(const char *name, unsigned reading, const char *claimed)
{
	char why[ACCESSES_WHY];

	report(name, accesses_timed(kernel(name), reading, claimed, why), why);
}

static void kernels_access_memory_as_they_claim(void **state)
{
	(void)state;
	failures = 0;
#define LOOP(kernel, accesses)           check_loop(#kernel, accesses);
#define TIMED(kernel, reading, accesses) check_timed(#kernel, reading, accesses);
#include "kernels/memory_code.def"
#undef LOOP
#undef TIMED
	assert_int_equal(failures, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(kernels_access_memory_as_they_claim),
	};
	int failed;

	if (embedded_skip())
		return 77;
	failed = cmocka_run_group_tests_name("our decoder", tests, embedded_decode,
	                                     embedded_forget);
	if (embedded_tools())
		failed += cmocka_run_group_tests_name("nvdisasm", tests, embedded_disassemble,
		                                      embedded_forget);
	return failed;
}
