/* SPDX-License-Identifier: Apache-2.0 */
/* Times and spans as --since, --until and --last take them. */
#include "cli/common/span.h"
#include "cli/window/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#define S UINT64_C(1000000000)

/* 2026-11-26 10:00:00 UTC, and an hour later. */
static const uint64_t BEGIN = UINT64_C(1795687200) * S, END = UINT64_C(1795690800) * S;

static uint64_t read_time(const char *text)
{
	uint64_t ns;

	return log_time_read(text, BEGIN, END, &ns) ? ns : 1;
}

static void spans_are_numbers_with_units(void **state)
{
	uint64_t ns;

	(void)state;
	assert_true(gw_span_read("90s", &ns) && ns == 90 * S);
	assert_true(gw_span_read("10m", &ns) && ns == 600 * S);
	assert_true(gw_span_read("2h", &ns) && ns == 7200 * S);
	assert_true(gw_span_read("1d2h3m4s5ms", &ns) && ns == 93784 * S + 5000000);
}

static void what_is_no_span_is_refused(void **state)
{
	static const char *const bad[] = {"",
	                                  "0s",
	                                  "s",
	                                  "10",
	                                  "10x",
	                                  "-5s",
	                                  "1.5h",
	                                  "5s ",
	                                  "5m2h",
	                                  "1h1h",
	                                  "99999999999999999999s",
	                                  "10001d"};
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(gw_span_read(bad[i], &ns));
}

static void dates_are_those_of_rfc_3339(void **state)
{
	(void)state;
	assert_int_equal(read_time("2026-11-26T10:00:00Z"), BEGIN);
	assert_int_equal(read_time("2026-11-26T12:30:00+02:00"), BEGIN + 1800 * S);
	assert_int_equal(read_time("2026-11-26T05:00:00.25-05:00"), BEGIN + S / 4);
	assert_int_equal(read_time("2026-11-26 10:10"), BEGIN + 600 * S);
}

static void a_time_of_day_is_of_the_day_of_the_end(void **state)
{
	(void)state;
	assert_int_equal(read_time("10:30"), BEGIN + 1800 * S);
	assert_int_equal(read_time("10:30:05"), BEGIN + 1805 * S);
}

static void spans_are_before_the_end_and_numbers_after_the_begin(void **state)
{
	(void)state;
	assert_int_equal(read_time("10m"), END - 600 * S);
	assert_int_equal(read_time("2.5"), BEGIN + 5 * S / 2);
	assert_int_equal(read_time("9000d"), END - 9000 * 86400 * S);
}

static void what_is_no_time_is_refused(void **state)
{
	static const char *const bad[] = {"",
	                                  "now",
	                                  "25:00",
	                                  "10:60",
	                                  "10:00:",
	                                  "1:00",
	                                  "2026-13-01T00:00Z",
	                                  "2026-11-26",
	                                  "10:00x",
	                                  "2026-11-26T10:00:00+2",
	                                  "1e99",
	                                  "..",
	                                  "-1"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(read_time(bad[i]), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(spans_are_numbers_with_units),
	        cmocka_unit_test(what_is_no_span_is_refused),
	        cmocka_unit_test(dates_are_those_of_rfc_3339),
	        cmocka_unit_test(a_time_of_day_is_of_the_day_of_the_end),
	        cmocka_unit_test(spans_are_before_the_end_and_numbers_after_the_begin),
	        cmocka_unit_test(what_is_no_time_is_refused),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
