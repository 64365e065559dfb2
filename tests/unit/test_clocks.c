#include "predictor/counters/clocks.h"
#include "tests/test.h"

static const uint64_t MS = 1000000;

static void add(struct gw_clocks *c, uint64_t ms, uint32_t mhz)
{
	struct gw_clock_sample s = {
		.ns = ms * MS, .sm_khz = mhz * 1000, .mem_khz = 3201000, .others = UINT32_MAX};

	gw_clocks_add(c, &s);
}

static double sm_at(const struct gw_clocks *c, uint64_t from_ms, uint64_t to_ms)
{
	struct gw_clock_state s;

	gw_clocks_at(c, from_ms * MS, to_ms * MS, &s);
	return s.sm_hz / 1e6;
}

TEST(nothing_is_known_without_samples)
{
	struct gw_clocks c = {0};
	struct gw_clock_state s;

	gw_clocks_at(&c, 1, 2, &s);
	assert_true(isnan(s.sm_hz) && isnan(s.mem_hz) && isnan(s.others));
	assert_int_equal(s.reasons, 0);
}

TEST(samples_inside_the_time_are_averaged)
{
	struct gw_clocks c = {0};

	for (uint64_t ms = 1000; ms <= 2000; ms += 100)
		add(&c, ms, ms < 1500 ? 1980 : 1500);
	assert_float_equal(sm_at(&c, 1350, 1650), (1980 + 3 * 1500 - 1500) / 3.0, 1e-6);
}

TEST(neighbours_that_agree_tell_of_what_lies_between)
{
	struct gw_clocks c = {0};

	add(&c, 1000, 1900);
	add(&c, 1100, 1920);
	assert_float_equal(sm_at(&c, 1040, 1041), 1910, 1e-6);
}

TEST(a_clock_that_changed_meanwhile_is_unknown)
{
	struct gw_clocks c = {0};

	add(&c, 1000, 345);
	add(&c, 1100, 1980);
	assert_true(isnan(sm_at(&c, 1040, 1041)));
	assert_float_equal(sm_at(&c, 1100, 1110), 1980, 1e-6);
}

TEST(a_sample_far_away_says_nothing)
{
	struct gw_clocks c = {0};

	add(&c, 1000, 1980);
	assert_float_equal(sm_at(&c, 1299, 1300), 1980, 1e-6);
	assert_true(isnan(sm_at(&c, 1301, 1302)));
	assert_float_equal(sm_at(&c, 700, 701), 1980, 1e-6);
	assert_true(isnan(sm_at(&c, 698, 699)));
	/* The near one of two decides where the other is too far. */
	add(&c, 5000, 1000);
	assert_float_equal(sm_at(&c, 4900, 4910), 1000, 1e-6);
}

TEST(an_unknown_clock_stays_unknown)
{
	struct gw_clocks c = {0};
	struct gw_clock_state s;

	gw_clocks_add(&c, &(struct gw_clock_sample){.ns = MS, .mem_khz = 5, .others = 40});
	gw_clocks_at(&c, MS, MS, &s);
	assert_true(isnan(s.sm_hz));
	assert_float_equal(s.mem_hz, 5000, 1e-6);
	assert_float_equal(s.others, 0.4, 1e-9);
}

TEST(reasons_and_others_of_all_samples_count)
{
	struct gw_clocks c = {0};
	struct gw_clock_state s;

	for (uint64_t i = 0; i < 4; i++)
		gw_clocks_add(&c, &(struct gw_clock_sample){.ns = (10 + i) * MS,
							    .sm_khz = 1,
							    .reasons = UINT64_C(1) << i,
							    .others = i == 2 ? 70 : 10});
	gw_clocks_at(&c, 11 * MS, 12 * MS, &s);
	assert_int_equal(s.reasons, 2 | 4);
	assert_float_equal(s.others, 0.7, 1e-9);
}

TEST(only_the_last_samples_are_kept)
{
	struct gw_clocks c = {0};

	for (uint64_t i = 0; i < 3 * GW_CLOCKS_WINDOW; i++)
		add(&c, 1000 + 100 * i, 1000 + (uint32_t)i);
	assert_true(isnan(sm_at(&c, 1000, 1001)));
	assert_float_equal(sm_at(&c, 1000 + 100 * 150, 1000 + 100 * 150), 1150, 1e-6);
}

TEST(an_older_sample_is_left_out)
{
	struct gw_clocks c = {0};

	add(&c, 1000, 1500);
	add(&c, 900, 300);
	assert_int_equal(c.count, 1);
	assert_float_equal(sm_at(&c, 900, 901), 1500, 1e-6);
}

/* Else none would be taken until the clock is where it was, and of launches now nothing be known.
 */
TEST(one_older_by_far_begins_anew)
{
	struct gw_clocks c = {0};

	add(&c, 3600000, 1500);
	add(&c, 1000, 300);
	add(&c, 1100, 300);
	assert_int_equal(c.count, 2);
	assert_float_equal(sm_at(&c, 1020, 1030), 300, 1e-6);
	assert_true(isnan(sm_at(&c, 3600000, 3600001)));
}

TESTS_MAIN()
