/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/common/nearest.h"

static const char *const words[] = {"fp32_inst", "fp64_inst", "ldst_inst", "grid", "M_tran-r"};
static char out[256];

static const char *nearest(const char *word, size_t all)
{
	return gw_nearest(out, sizeof(out), word, words, 5, all);
}

static void a_slip_finds_its_word(void **state)
{
	(void)state;
	assert_string_equal(nearest("gird", 0), "\"grid\"");
	assert_string_equal(nearest("GRID", 0), "\"grid\"");
	assert_string_equal(nearest("m_tran_r", 0), "\"M_tran-r\"");
	assert_string_equal(nearest("gridsize", 0), "\"grid\"");
}

static void the_nearest_stands_first(void **state)
{
	(void)state;
	assert_string_equal(nearest("fp64_ins", 0), "\"fp64_inst\" or \"fp32_inst\"");
}

static void a_stranger_gets_all_words_or_none(void **state)
{
	(void)state;
	assert_string_equal(nearest("zzzzzzzzzzzz", 4), "");
	assert_string_equal(
	        nearest("zzzzzzzzzzzz", 5),
	        "\"fp32_inst\", \"fp64_inst\", \"ldst_inst\", \"grid\" or \"M_tran-r\"");
}

static void a_list_joins_with_and(void **state)
{
	(void)state;
	assert_string_equal(gw_words_join(out, sizeof(out), words, 2),
	                    "\"fp32_inst\" and \"fp64_inst\"");
	assert_string_equal(gw_words_join(out, sizeof(out), words, 0), "");
}

static void a_small_buffer_is_not_overrun(void **state)
{
	char small[12];

	(void)state;
	assert_string_equal(gw_words_join(small, sizeof(small), words, 5), "\"fp32_inst\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_slip_finds_its_word),
	        cmocka_unit_test(the_nearest_stands_first),
	        cmocka_unit_test(a_stranger_gets_all_words_or_none),
	        cmocka_unit_test(a_list_joins_with_and),
	        cmocka_unit_test(a_small_buffer_is_not_overrun),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
