/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/maps/idmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

static void empty(struct gw_idmap *map)
{
	free(map->keys);
	free(map->ids);
}

static void an_empty_map_knows_nothing(void **state)
{
	struct gw_idmap map = {0};

	(void)state;
	assert_int_equal(gw_idmap_get(&map, 1), 0);
	assert_int_equal(gw_idmap_get(&map, UINT64_MAX), 0);
}

static void a_key_keeps_the_last_id_it_was_given(void **state)
{
	struct gw_idmap map = {0};

	(void)state;
	assert_true(gw_idmap_put(&map, 5, 1));
	assert_true(gw_idmap_put(&map, 5, 2));
	assert_int_equal(gw_idmap_get(&map, 5), 2);
	assert_int_equal(map.used, 1);
	assert_int_equal(gw_idmap_get(&map, 6), 0);
	empty(&map);
}

static void every_id_survives_growth(void **state)
{
	struct gw_idmap map = {0};

	(void)state;
	for (uint32_t i = 1; i <= 50000; i++)
		assert_true(gw_idmap_put(&map, gw_idmap_key(i, 3), i));
	for (uint32_t i = 1; i <= 50000; i++)
		assert_int_equal(gw_idmap_get(&map, gw_idmap_key(i, 3)), i);
	assert_int_equal(gw_idmap_get(&map, gw_idmap_key(50001, 3)), 0);
	assert_int_equal(map.used, 50000);
	empty(&map);
}

/* All keys of a chain begin at one slot; the last slot's chain goes on at the first. */
static void colliding_keys_are_reported_apart_around_the_end(void **state)
{
	struct gw_idmap map = {0};

	(void)state;
	for (uint32_t i = 1; i <= 150; i++)
		gw_idmap_put(&map, (uint64_t)255 << 32 | i, i);
	for (uint32_t i = 1; i <= 150; i++)
		assert_int_equal(gw_idmap_get(&map, (uint64_t)255 << 32 | i), i);
	assert_int_equal(gw_idmap_get(&map, (uint64_t)255 << 32 | 151), 0);
	empty(&map);
}

static void a_mixed_key_is_never_0_and_tells_both_words(void **state)
{
	(void)state;
	assert_true(gw_idmap_key(0, 0) != 0);
	assert_true(gw_idmap_key(1, 2) != gw_idmap_key(2, 1));
	assert_true(gw_idmap_key(1, 2) != gw_idmap_key(1, 3));
}

/* Keys that begin at the same place, and such that go round the end. */
static uint64_t crowded_key(uint32_t i)
{
	return (uint64_t)(250 + i % 8) << 32 | (i + 1);
}

static void what_is_removed_is_gone_and_nothing_else(void **state)
{
	enum { KEYS = 150 };

	(void)state;
	for (uint32_t gap = 2; gap < 7; gap++) {
		struct gw_idmap map = {0};

		for (uint32_t i = 0; i < KEYS; i++)
			assert_true(gw_idmap_put(&map, crowded_key(i), i + 1));
		for (uint32_t i = 0; i < KEYS; i += gap)
			gw_idmap_remove(&map, crowded_key(i));
		gw_idmap_remove(&map, UINT64_MAX);
		for (uint32_t i = 0; i < KEYS; i++)
			assert_int_equal(gw_idmap_get(&map, crowded_key(i)), i % gap ? i + 1 : 0);
		assert_int_equal(map.used, KEYS - (KEYS + gap - 1) / gap);
		gw_idmap_clear(&map);
		assert_int_equal(gw_idmap_get(&map, crowded_key(1)), 0);
	}
}

static void keys_that_come_and_go_do_not_make_it_grow(void **state)
{
	struct gw_idmap map = {0};

	(void)state;
	for (uint64_t i = 1; i < 100000; i++) {
		assert_true(gw_idmap_put(&map, gw_idmap_key(i, 3), 1));
		if (i > 50)
			gw_idmap_remove(&map, gw_idmap_key(i - 50, 3));
	}
	assert_int_equal(map.size, 256);
	gw_idmap_clear(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(an_empty_map_knows_nothing),
	        cmocka_unit_test(a_key_keeps_the_last_id_it_was_given),
	        cmocka_unit_test(every_id_survives_growth),
	        cmocka_unit_test(colliding_keys_are_reported_apart_around_the_end),
	        cmocka_unit_test(a_mixed_key_is_never_0_and_tells_both_words),
	        cmocka_unit_test(what_is_removed_is_gone_and_nothing_else),
	        cmocka_unit_test(keys_that_come_and_go_do_not_make_it_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
