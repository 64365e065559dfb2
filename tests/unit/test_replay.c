/* SPDX-License-Identifier: Apache-2.0 */
/* Loads of a block through a cache, against a cache that is a plain list in order of use. */
#include "predictor/code/memory/replay.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct gw_arena arena;
static struct gw_replay replay;

static void begin(void)
{
	gw_arena_init(&arena, 64 << 20);
	assert_true(gw_replay_init(&replay, &arena));
}

/* One lane of warp @p warp loads 4 bytes at @p address, in up to two loops. */
static void load(uint32_t warp, uint64_t address, uint64_t outer, int64_t outer_step,
                 uint64_t inner, int64_t inner_step)
{
	struct gw_request r = {.active = 1, .bytes = 4, .address = {address}};
	struct gw_eval_access a = {
	        .warp = warp,
	        .repeats = inner   ? 2
	                   : outer ? 1
	                           : 0,
	        .repeat = {{outer, outer_step, true}, {inner, inner_step, true}}};

	gw_replay_add(&replay, &a, &r);
}

static void expect(double capacity, double hits)
{
	assert_true(fabs(gw_replay_hits(&replay, capacity) - hits) < 1e-9);
	gw_arena_free(&arena);
}

static void a_table_that_fits_hits_from_its_second_round_on(void **state)
{
	(void)state;
	begin();
	load(0, 0, 10, 0, 64, 32);
	expect(2048, 0.9);
}

static void a_table_one_line_too_long_never_hits_in_order_of_use(void **state)
{
	(void)state;
	begin();
	load(0, 0, 10, 0, 17, 128);
	expect(16 * 128, 0);
}

static void neighbours_in_a_line_are_sectors_of_their_own(void **state)
{
	(void)state;
	begin();
	/* 16 words of 4 bytes in two sectors. */
	load(0, 0, 16, 4, 0, 0);
	expect(1 << 16, 14.0 / 16);
}

static void iterations_of_a_loop_s_loads_alternate(void **state)
{
	(void)state;
	begin();
	/* Two streams of 100 words through a cache of two lines: each has its own line. */
	load(0, 0, 128, 4, 0, 0);
	load(0, 1 << 20, 128, 4, 0, 0);
	expect(2 * 128, 7.0 / 8);
}

static void warps_go_in_step(void **state)
{
	(void)state;
	begin();
	/* Both walk the same 64 lines; alone either would throw out what the other comes for. */
	load(0, 0, 64, 128, 0, 0);
	load(1, 0, 64, 128, 0, 0);
	expect(4 * 128, 0.5);
}

enum { LOADS = 3000, LINES = 24 };

/* The cache as a list, newest first. */
static double by_list(const uint64_t *address, unsigned count)
{
	uint64_t line[LINES];
	uint32_t sectors[LINES], used = 0;
	unsigned hits = 0;

	for (unsigned i = 0; i < count; i++) {
		uint64_t number = address[i] / 128;
		uint32_t bit = 1U << address[i] / 32 % 4, have = 0, at = 0;

		while (at < used && line[at] != number)
			at++;
		if (at < used)
			have = sectors[at];
		else if (used < LINES)
			at = used++;
		else
			at = LINES - 1;
		memmove(line + 1, line, at * sizeof(*line));
		memmove(sectors + 1, sectors, at * sizeof(*sectors));
		hits += (have & bit) != 0;
		line[0] = number;
		sectors[0] = have | bit;
	}
	return (double)hits / count;
}

static void any_loads_hit_as_in_a_plain_list(void **state)
{
	static uint64_t address[LOADS];
	uint64_t x = 88172645463325252;

	(void)state;
	begin();
	for (unsigned i = 0; i < LOADS; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		address[i] = x % (i % 3 ? 16 << 7 : 64 << 7) / 4 * 4;
		load(0, address[i], 0, 0, 0, 0);
	}
	expect(LINES * 128, by_list(address, LOADS));
}

static void a_record_that_is_not_whole_tells_nothing(void **state)
{
	(void)state;
	begin();
	assert_true(isnan(gw_replay_hits(&replay, 1024)));
	for (unsigned i = 0; i <= GW_REPLAY_EVENTS; i++)
		load(0, i * 4, 0, 0, 0, 0);
	assert_true(isnan(gw_replay_hits(&replay, 1024)));
	gw_arena_free(&arena);
}

static void an_endless_loop_is_cut(void **state)
{
	(void)state;
	begin();
	load(0, 0, UINT64_MAX, 0, UINT64_MAX, 128);
	assert_true(gw_replay_hits(&replay, 1024) == 0);
	gw_arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_table_that_fits_hits_from_its_second_round_on),
	        cmocka_unit_test(a_table_one_line_too_long_never_hits_in_order_of_use),
	        cmocka_unit_test(neighbours_in_a_line_are_sectors_of_their_own),
	        cmocka_unit_test(iterations_of_a_loop_s_loads_alternate),
	        cmocka_unit_test(warps_go_in_step),
	        cmocka_unit_test(any_loads_hit_as_in_a_plain_list),
	        cmocka_unit_test(a_record_that_is_not_whole_tells_nothing),
	        cmocka_unit_test(an_endless_loop_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
