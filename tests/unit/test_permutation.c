/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the pointer chases, compiled for the host: one cycle over all links, and random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "kernels/permutation.h"

enum { MOST = 70000 };

static void each_place_is_taken_once(void **unused)
{
	static const unsigned counts[] = {1, 2, 3, 4, 5, 64, 1000, 4096, 4097, 65536, MOST};
	static unsigned char taken[MOST];

	(void)unused;
	for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		memset(taken, 0, sizeof(taken));
		for (unsigned i = 0; i < counts[c]; i++) {
			unsigned place = gw_permute(i, counts[c], 7);

			assert_true(place < counts[c]);
			assert_false(taken[place]);
			taken[place] = 1;
		}
	}
}

/* Steps of a line that a prefetcher or an open row would like: about as many as chance gives. */
static void neighbours_do_not_follow_each_other(void **unused)
{
	unsigned near = 0;

	(void)unused;
	for (unsigned i = 0; i + 1 < 65536; i++) {
		unsigned a = gw_permute(i, 65536, 1), b = gw_permute(i + 1, 65536, 1);

		near += a - b + 8 <= 16; /* 8 either way: 16 in 65536 by chance */
	}
	assert_true(near < 64);
}

static void another_seed_is_another_order(void **unused)
{
	unsigned same = 0;

	(void)unused;
	for (unsigned i = 0; i < 4096; i++)
		same += gw_permute(i, 4096, 1) == gw_permute(i, 4096, 2);
	assert_true(same < 16);
}

static void large_counts_stay_inside(void **unused)
{
	const unsigned count = 4294967295u;

	(void)unused;
	for (unsigned i = 0; i < 1000; i++)
		assert_true(gw_permute(count - 1 - i, count, 3) < count);
}

/* Links lie in strides of their own, at lines of them, and not always at the same. */
static void links_lie_on_lines_of_their_strides(void **unused)
{
	static unsigned char taken[512];
	unsigned moved = 0;

	(void)unused;
	for (unsigned i = 0; i < 512; i++) {
		unsigned long long at = gw_link_offset(i, 512, 4096, 9);

		assert_int_equal(at % 128, 0);
		assert_true(at / 4096 < 512);
		assert_false(taken[at / 4096]);
		taken[at / 4096] = 1;
		moved += at % 4096 != 0;
	}
	assert_true(moved > 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(each_place_is_taken_once),
	        cmocka_unit_test(neighbours_do_not_follow_each_other),
	        cmocka_unit_test(another_seed_is_another_order),
	        cmocka_unit_test(large_counts_stay_inside),
	        cmocka_unit_test(links_lie_on_lines_of_their_strides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
