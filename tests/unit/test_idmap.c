/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/idmap.h"

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
static void colliding_keys_are_told_apart_around_the_end(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(an_empty_map_knows_nothing),
	        cmocka_unit_test(a_key_keeps_the_last_id_it_was_given),
	        cmocka_unit_test(every_id_survives_growth),
	        cmocka_unit_test(colliding_keys_are_told_apart_around_the_end),
	        cmocka_unit_test(a_mixed_key_is_never_0_and_tells_both_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
