/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels may wait, on compiled code (waits/waits.cu): their names say it. */
#include "predictor/code/timing/waits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static unsigned char file[1 << 20];

static struct gw_cubin opened(struct gw_arena *arena, const char *path)
{
	FILE *f = fopen(path, "rb");
	struct gw_cubin cubin;
	struct gw_fault fault;
	size_t n;

	assert_non_null(f);
	n = fread(file, 1, sizeof(file), f);
	fclose(f);
	gw_arena_init(arena, 16 << 20);
	assert_true(gw_cubin_open((struct gw_bytes){file, n}, arena, &cubin, &fault));
	return cubin;
}

static void the_code_tells_who_may_wait(void **state)
{
	static const char *const paths[] = {WAITS "/sm_75.cubin", WAITS "/sm_80.cubin",
	                                    WAITS "/sm_90.cubin", WAITS "/sm_100.cubin"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct gw_arena arena;
		struct gw_cubin cubin = opened(&arena, paths[i]);

		assert_int_equal(cubin.count, 16);
		for (uint32_t k = 0; k < cubin.count; k++) {
			struct gw_code_kernel kernel;
			struct gw_fault fault;
			const char *why;

			assert_true(gw_cubin_kernel(&cubin, k, &arena, &kernel, &fault));
			why = gw_code_waits(&kernel, &arena);
			if ((strncmp(kernel.name, "waits_", 6) == 0) != (why != NULL))
				fail_msg("%s: %s: %s", paths[i], kernel.name,
				         why ? why : "can't wait");
		}
		gw_arena_free(&arena);
	}
}

static void code_that_can_not_be_read_may_wait(void **state)
{
	static const uint8_t unknown[32] = {0xff, 0xff};
	struct gw_code_kernel kernel = {.arch = {.number = 90}};
	struct gw_arena arena;

	(void)state;
	gw_arena_init(&arena, 1 << 20);
	assert_non_null(gw_code_waits(&kernel, &arena));
	kernel.code = (struct gw_bytes){unknown, sizeof(unknown)};
	assert_non_null(gw_code_waits(&kernel, &arena));
	gw_arena_free(&arena);
}

static void without_memory_it_may_wait(void **state)
{
	struct gw_arena arena, small;
	struct gw_cubin cubin = opened(&arena, WAITS "/sm_90.cubin");
	struct gw_code_kernel kernel;
	struct gw_fault fault;

	(void)state;
	assert_true(gw_cubin_kernel(&cubin, gw_cubin_find(&cubin, "runs_loop"), &arena, &kernel,
	                            &fault));
	gw_arena_init(&small, 64);
	assert_non_null(gw_code_waits(&kernel, &small));
	gw_arena_free(&small);
	gw_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_code_tells_who_may_wait),
	        cmocka_unit_test(code_that_can_not_be_read_may_wait),
	        cmocka_unit_test(without_memory_it_may_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
