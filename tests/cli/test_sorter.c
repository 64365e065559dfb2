/* SPDX-License-Identifier: Apache-2.0 */
/* Launches come out by their start, as long as no more are late than there is room for. */
#include "cli/common/sorter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static uint64_t start_of[GW_SORTER_ROOM];

static uint64_t random_below(uint64_t *state, uint64_t most)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % most;
}

static void add(struct gw_sorter *s, uint64_t start)
{
	start_of[gw_sorter_add(s, start)] = start;
}

static uint64_t take(struct gw_sorter *s)
{
	return start_of[gw_sorter_take(s)];
}

static void launches_out_of_order_come_out_in_order(void **state)
{
	struct gw_sorter s = {0};
	uint64_t random = 1, last = 0, taken = 0;

	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		/* Later by less than what is held. */
		if (gw_sorter_full(&s)) {
			uint64_t start = take(&s);

			assert_true(start >= last);
			last = start;
			taken++;
		}
		add(&s, 10 * i + 10000 - random_below(&random, 10000));
	}
	while (gw_sorter_count(&s)) {
		uint64_t start = take(&s);

		assert_true(start >= last);
		last = start;
		taken++;
	}
	assert_int_equal(taken, 100000);
	gw_sorter_free(&s);
}

static void launches_of_one_start_come_out_as_they_came(void **state)
{
	struct gw_sorter s = {0};
	uint32_t first = gw_sorter_add(&s, 7), second = gw_sorter_add(&s, 7);

	(void)state;
	assert_int_equal(gw_sorter_take(&s), first);
	assert_int_equal(gw_sorter_take(&s), second);
	gw_sorter_free(&s);
}

static void room_is_what_the_header_says(void **state)
{
	struct gw_sorter s = {0};

	(void)state;
	for (unsigned i = 0; i < GW_SORTER_ROOM; i++) {
		assert_false(gw_sorter_full(&s));
		add(&s, GW_SORTER_ROOM - i);
	}
	assert_true(gw_sorter_full(&s));
	assert_int_equal(take(&s), 1);
	assert_false(gw_sorter_full(&s));
	gw_sorter_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(launches_out_of_order_come_out_in_order),
	        cmocka_unit_test(launches_of_one_start_come_out_as_they_came),
	        cmocka_unit_test(room_is_what_the_header_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
