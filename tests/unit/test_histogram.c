/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms as an AGGREGATE has them. */
#include "predictor/log/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static unsigned char bytes[GW_HISTOGRAM_MOST];

static void what_is_read_is_what_was_written(void **state)
{
	struct gw_sketch in = {0}, out;
	size_t size;

	(void)state;
	for (int i = 1; i < 5000; i++)
		gw_sketch_add(&in, i * 1.7, (uint64_t)(i * i));
	size = gw_histogram_pack(&in, bytes);
	assert_int_equal(gw_histogram_unpack(bytes, size, &out), size);
	assert_int_equal(out.count, in.count);
	assert_int_equal(out.schema, in.schema);
	for (int32_t i = 0; i < GW_SKETCH_BUCKETS; i++)
		if (in.bucket[i]) {
			assert_in_range(in.first + i - out.first, 0, GW_SKETCH_BUCKETS - 1);
			assert_int_equal(out.bucket[in.first + i - out.first], in.bucket[i]);
		}
}

static void an_empty_one_takes_four_bytes(void **state)
{
	const struct gw_sketch none = {0};
	struct gw_sketch out;

	(void)state;
	assert_int_equal(gw_histogram_pack(&none, bytes), 4);
	assert_int_equal(gw_histogram_unpack(bytes, 4, &out), 4);
	assert_int_equal(out.count, 0);
}

static void one_that_is_cut_off_is_none(void **state)
{
	struct gw_sketch in = {0}, out;
	size_t size;

	(void)state;
	for (int i = 1; i < 100; i++)
		gw_sketch_add(&in, i, 1000);
	size = gw_histogram_pack(&in, bytes);
	for (size_t n = 0; n < size; n++) {
		assert_int_equal(gw_histogram_unpack(bytes, n, &out), 0);
		assert_int_equal(out.count, 0);
	}
}

static void nonsense_is_refused(void **state)
{
	static const unsigned char bad[][16] = {
	        {0, 0, 3, 65},                                                  /* buckets */
	        {0, 0, 4, 1, 1},                                                /* schema */
	        {0, 0, 0xfe, 1, 1},                                             /* schema */
	        {0xff, 0x7f, 3, 1, 1},                                          /* index */
	        {0, 0, 3, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2},   /* bits */
	        {0, 0, 3, 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, /* no end */
	};
	struct gw_sketch out;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(gw_histogram_unpack(bad[i], sizeof(bad[i]), &out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(what_is_read_is_what_was_written),
	        cmocka_unit_test(an_empty_one_takes_four_bytes),
	        cmocka_unit_test(one_that_is_cut_off_is_none),
	        cmocka_unit_test(nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
