/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of an analysis: bounded, zeroed, given back at once. */
#include "predictor/core/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void pieces_are_zeroed_aligned_and_apart(void **state)
{
	struct gw_arena a;
	char *first, *second;

	(void)state;
	gw_arena_init(&a, 1 << 20);
	first = gw_arena_array(&a, 3, 7);
	second = gw_arena_array(&a, 1, 1);
	assert_non_null(first);
	assert_non_null(second);
	assert_int_equal((uintptr_t)second % _Alignof(max_align_t), 0);
	assert_true(second >= first + 21 || first >= second + 1);
	for (int i = 0; i < 21; i++)
		assert_int_equal(first[i], 0);
	gw_arena_free(&a);
	assert_int_equal(a.used, 0);
}

static void it_never_holds_more_than_its_limit(void **state)
{
	struct gw_arena a;
	size_t got = 0;

	(void)state;
	gw_arena_init(&a, 300 << 10);
	while (gw_arena_array(&a, 1000, 1))
		got += 1000;
	assert_true(a.refused);
	assert_true(a.used <= a.limit);
	assert_true(got > 250 << 10);
	gw_arena_free(&a);
	assert_non_null(gw_arena_array(&a, 1000, 1));
	gw_arena_free(&a);
}

static void an_extent_that_overflows_is_refused(void **state)
{
	struct gw_arena a;

	(void)state;
	gw_arena_init(&a, SIZE_MAX);
	assert_null(gw_arena_array(&a, SIZE_MAX / 2, 3));
	assert_true(a.refused);
	gw_arena_free(&a);
}

/* Large arrays have memory of their own, between which small ones go on where they were. */
static void room_is_bounded_and_apart_from_what_is_zeroed(void **state)
{
	struct gw_arena a;
	unsigned char *first, *large, *second, *little;

	(void)state;
	gw_arena_init(&a, 1 << 20);
	large = gw_arena_room(&a, 100 << 10, 1);
	first = gw_arena_array(&a, 64, 1);
	memset(large, 0xff, 100 << 10);
	little = gw_arena_room(&a, 100, 1);
	memset(gw_arena_room(&a, 200 << 10, 1), 0xff, 200 << 10);
	second = gw_arena_array(&a, 64, 1);
	assert_true(second > first && second - first < 1024);
	assert_true(little > first && little < second);
	for (int i = 0; i < 64; i++)
		assert_int_equal(first[i] | second[i], 0);
	assert_true(a.used > 300 << 10);
	assert_null(gw_arena_room(&a, 1, 1 << 20));
	assert_true(a.refused && a.used <= a.limit);
	assert_null(gw_arena_room(&a, SIZE_MAX / 2, 3));
	gw_arena_free(&a);
	assert_int_equal(a.used, 0);
}

static void text_is_copied_and_terminated(void **state)
{
	struct gw_arena a;
	char *text;

	(void)state;
	gw_arena_init(&a, 1 << 20);
	text = gw_arena_text(&a, "kernel_name", 6);
	assert_string_equal(text, "kernel");
	gw_arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
	        cmocka_unit_test(it_never_holds_more_than_its_limit),
	        cmocka_unit_test(an_extent_that_overflows_is_refused),
	        cmocka_unit_test(room_is_bounded_and_apart_from_what_is_zeroed),
	        cmocka_unit_test(text_is_copied_and_terminated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
