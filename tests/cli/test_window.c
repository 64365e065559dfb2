/* Times as --since, --until and --last take them; launches come out by their start. */
#include "cli/common/sorter.h"
#include "cli/common/span.h"
#include "cli/window/window.h"
#include "tests/random.h"
#include "tests/test.h"

#include <time.h>

#define S UINT64_C(1000000000)

/* 2026-11-26 10:00:00 UTC, and an hour later. */
static const uint64_t BEGIN = UINT64_C(1795687200) * S, END = UINT64_C(1795690800) * S;

static uint64_t read_time(const char *text)
{
	uint64_t ns;

	return log_time_read(text, BEGIN, END, &ns) ? ns : 1;
}

TEST(spans_are_numbers_with_units)
{
	uint64_t ns;

	assert_true(gw_span_read("90s", &ns) && ns == 90 * S);
	assert_true(gw_span_read("10m", &ns) && ns == 600 * S);
	assert_true(gw_span_read("2h", &ns) && ns == 7200 * S);
	assert_true(gw_span_read("1d2h3m4s5ms", &ns) && ns == 93784 * S + 5000000);
}

TEST(what_is_no_span_is_refused)
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

	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(gw_span_read(bad[i], &ns));
}

TEST(dates_are_those_of_rfc_3339)
{
	assert_int_equal(read_time("2026-11-26T10:00:00Z"), BEGIN);
	assert_int_equal(read_time("2026-11-26T12:30:00+02:00"), BEGIN + 1800 * S);
	assert_int_equal(read_time("2026-11-26T05:00:00.25-05:00"), BEGIN + S / 4);
	assert_int_equal(read_time("2026-11-26 10:10"), BEGIN + 600 * S);
}

TEST(a_time_of_day_is_of_the_day_of_the_end)
{
	assert_int_equal(read_time("10:30"), BEGIN + 1800 * S);
	assert_int_equal(read_time("10:30:05"), BEGIN + 1805 * S);
}

TEST(spans_are_before_the_end_and_numbers_after_the_begin)
{
	assert_int_equal(read_time("10m"), END - 600 * S);
	assert_int_equal(read_time("2.5"), BEGIN + 5 * S / 2);
	assert_int_equal(read_time("9000d"), END - 9000 * 86400 * S);
}

TEST(what_is_no_time_is_refused)
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

	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(read_time(bad[i]), 1);
}

/* Launches come out by their start, as long as no more are late than there is room for. */
static uint64_t start_of[GW_SORTER_ROOM];

static uint64_t random_below(uint64_t *state, uint64_t most)
{
	return (next_random(state) >> 33) % most;
}

static void add(struct gw_sorter *s, uint64_t start)
{
	start_of[gw_sorter_add(s, start)] = start;
}

static uint64_t take(struct gw_sorter *s)
{
	return start_of[gw_sorter_take(s)];
}

TEST(launches_out_of_order_come_out_in_order)
{
	struct gw_sorter s = {0};
	uint64_t random = 1, last = 0, taken = 0;

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

TEST(launches_of_one_start_come_out_as_they_came)
{
	struct gw_sorter s = {0};
	uint32_t first = gw_sorter_add(&s, 7), second = gw_sorter_add(&s, 7);

	assert_int_equal(gw_sorter_take(&s), first);
	assert_int_equal(gw_sorter_take(&s), second);
	gw_sorter_free(&s);
}

TEST(room_is_what_the_header_says)
{
	struct gw_sorter s = {0};

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
	setenv("TZ", "UTC", 1);
	tzset();
	return tests_run(NULL, NULL);
}
