#include "predictor/learner/history.h"
#include "tests/random.h"
#include "tests/test.h"

static struct gw_history_summary of(const double *times, uint32_t n)
{
	struct gw_history h = {0};
	struct gw_history_summary s;

	for (uint32_t i = 0; i < n; i++)
		gw_history_add(&h, times[i]);
	assert_true(gw_history_summary(&h, &s));
	return s;
}
#define OF(...) of((const double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double))

static void near(double value, double expected)
{
	assert_true(fabs(value - expected) <= 1e-6 * expected);
}

static double scatter;

static bool agree(const double *times, uint32_t n)
{
	struct gw_history h = {0};

	for (uint32_t i = 0; i < n; i++)
		gw_history_add(&h, times[i]);
	return gw_history_agrees(&h, &scatter);
}
#define AGREE(...) \
	agree((const double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double))

TEST(times_agree_that_are_of_one_length)
{
	assert_true(AGREE(3));
	assert_true(AGREE(3, 3.2, 2.9));
	assert_true(AGREE(9, 3, 3, 3)); /* the first is often the odd one */
	assert_false(AGREE(9, 3, 3));
	assert_false(AGREE(2, 8));
	assert_false(AGREE(3, 3, 3, 9, 3, 3, 9, 3, 3));
	assert_false(AGREE(3, 3, 3, 3, 3, 3, 9, 9, 9, 9, 9, 9, 9, 9, 9));
	assert_false(agree(NULL, 0));
}

/* Of a hundredth, and of two lengths, one after the other or in turn. */
TEST(they_scatter_whatever_their_order)
{
	double times[32];

	for (unsigned i = 0; i < 32; i++)
		times[i] = 3 + 0.01 * (i % 7);
	agree(times, 32);
	assert_true(scatter > 0.001 && scatter < 0.02);
	for (unsigned i = 0; i < 32; i++)
		times[i] = i < 16 ? 3 : 12;
	agree(times, 32);
	near(scatter, log(4) / 2.563);
	for (unsigned i = 0; i < 32; i++)
		times[i] = i % 2 ? 3 : 12;
	agree(times, 32);
	near(scatter, log(4) / 2.563);
}

TEST(an_empty_history_says_nothing)
{
	struct gw_history h = {0};
	struct gw_history_summary s;

	assert_false(gw_history_summary(&h, &s));
	assert_int_equal(gw_history_size(&h), 0);
}

TEST(a_single_time_is_its_own_median)
{
	struct gw_history_summary s = OF(3e-6);

	near(s.median, 3e-6);
	near(s.low, 3e-6);
	near(s.high, 3e-6);
	assert_true(s.sigma == 0);
	assert_false(s.multimodal);
}

TEST(the_median_is_the_middle_or_between_the_middles)
{
	near(OF(5, 1, 3).median, 3);
	near(OF(4, 1, 3, 2).median, 2.5);
	near(OF(2, 1).median, 1.5);
}

TEST(low_and_high_are_the_extremes)
{
	struct gw_history_summary s = OF(5, 1, 3, 9, 4);

	near(s.low, 1);
	near(s.high, 9);
}

/* 1.4826 times the median absolute deviation of the logarithms, here of 1/e, 1, e. */
TEST(the_spread_is_that_of_a_normal_and_shrugs_off_outliers)
{
	double e = exp(0.01);

	assert_true(fabs(OF(1 / e, 1, e).sigma - 0.014826) < 1e-5);
	assert_true(fabs(OF(1 / e, 1e6, 1 / e, 1, e, e, 1).sigma - 0.014826) < 1e-5);
	assert_true(OF(2, 2, 2, 2).sigma == 0);
}

TEST(two_groups_are_reported_and_the_latest_time_chooses)
{
	struct gw_history_summary s = OF(1, 2, 1, 2, 1, 2, 1, 2, 1);

	assert_true(s.multimodal);
	near(s.median, 1);
	assert_true(s.sigma == 0);
	near(s.high, 2);
	s = OF(1, 2, 1, 2, 1, 2, 1, 2);
	assert_true(s.multimodal);
	near(s.median, 2);
}

TEST(a_few_outliers_or_a_small_gap_make_no_group)
{
	assert_false(OF(1, 1, 1, 1, 1, 1, 1, 1, 1, 2).multimodal);
	assert_false(OF(1, 1, 1, 1, 1, 2).multimodal);
	assert_false(OF(1, 1.09, 1, 1.09, 1, 1.09).multimodal);
	assert_true(OF(1, 1.11, 1, 1.11, 1, 1.11).multimodal);
	assert_false(OF(1, 2, 1, 2).multimodal); /* too few to tell */
}

/* Thirty times, the last ten of them 5% longer: too little for groups, enough for a new level. */
TEST(a_new_level_is_seen_from_the_newest_times)
{
	double t[30];

	for (int i = 0; i < 30; i++)
		t[i] = (i < 20 ? 1 : 1.05) + 0.002 * (i % 3);
	assert_true(fabs(of(t, 30).median - 1.052) < 0.003);
	assert_true(fabs(of(t, 20).median - 1.002) < 0.003);
	assert_true(of(t, 30).sigma < 0.01);
}

TEST(a_drift_is_followed)
{
	double t[32];
	struct gw_history_summary s;

	for (int i = 0; i < 32; i++)
		t[i] = 1 + 0.01 * i + 0.003 * (i % 3);
	s = of(t, 32);
	assert_true(s.median > 1.24 && s.median < 1.32); /* of all 32 it is 1.16 */
	assert_true(s.sigma < 0.05);
}

/* One after the other they are two levels, in turn they are two modes. */
TEST(a_step_is_no_group)
{
	struct gw_history_summary s = OF(1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2);

	assert_false(s.multimodal);
	near(s.median, 2);
	near(s.low, 1);
	s = OF(1, 1, 1, 1, 1, 1, 1, 2, 2, 2); /* not yet sure of it */
	assert_true(s.multimodal);
	s = OF(1, 1, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2);
	assert_true(s.multimodal);
}

/* Long ones now and then neither move the middle nor pass for a new level. */
TEST(noise_makes_no_new_level)
{
	double t[32];

	for (int i = 0; i < 32; i++)
		t[i] = 1 + 0.01 * (i * 7 % 11) / 11 + (i % 9 == 0 ? 0.5 : 0);
	assert_true(fabs(of(t, 32).median - 1.005) < 0.002);
	assert_false(of(t, 32).multimodal);
}

/* Twenty times lie around 1, twelve came later by more and more. */
TEST(most_times_decide_where_some_are_delayed)
{
	double t[32];

	for (int i = 0; i < 32; i++)
		t[i * 7 % 32] = 0.999 + (i < 20 ? 0.0001 * i : 0.002 * (i - 17));
	assert_true(fabs(of(t, 32).median - 1) < 2e-4);
}

TEST(a_level_is_the_mean_of_those_that_agree)
{
	struct gw_history h = {0};
	struct gw_history_summary s;
	uint64_t chance = 7;
	double off = 0;

	for (int i = 0; i < 512; i++) {
		gw_history_add(&h, (i < 500 ? 1 : 1.05) * exp(0.01 * next_normal(&chance)));
		assert_true(gw_history_summary(&h, &s));
		gw_history_follow(&h, &s);
		off += i < 250 || i >= 500 ? 0 : fabs(s.median - 1) / 250;
	}
	assert_true(off < 0.001); /* of the windows alone 0.0021 */
	assert_true(fabs(s.median - 1.05) < 0.01);
}

TEST(only_the_last_window_counts)
{
	struct gw_history h = {0};
	struct gw_history_summary s;

	for (int i = 0; i < 100; i++)
		gw_history_add(&h, 1000);
	for (int i = 1; i <= GW_HISTORY_WINDOW; i++)
		gw_history_add(&h, i);
	assert_int_equal(gw_history_size(&h), GW_HISTORY_WINDOW);
	assert_true(gw_history_summary(&h, &s));
	near(s.low, 2);
	near(s.high, GW_HISTORY_WINDOW - 1);
}

TEST(the_count_may_wrap)
{
	struct gw_history h = {.count = UINT32_MAX - 1};
	struct gw_history_summary s;

	for (int i = 0; i < GW_HISTORY_WINDOW; i++)
		h.times[i] = 5;
	for (int i = 1; i <= GW_HISTORY_WINDOW; i++)
		gw_history_add(&h, i);
	assert_int_equal(gw_history_size(&h), GW_HISTORY_WINDOW);
	assert_true(gw_history_summary(&h, &s));
	near(s.high, GW_HISTORY_WINDOW - 1);
	near(s.low, 2);
}

/* The next of times in no order lies among those drawn nine times in ten, however many there were.
 */
TEST(the_times_drawn_stand_for_all)
{
	struct gw_history h = {0};
	uint64_t chance = 99;
	double low, high, held = 0;

	for (int i = 0; i < 20000; i++) {
		double next;

		next = 1 + (double)(next_random(&chance) >> 40);
		assert_int_equal(gw_history_range(&h, &low, &high), i >= GW_RANGE_TIMES);
		held += i >= GW_RANGE_TIMES && next >= low && next <= high;
		gw_history_add(&h, next);
	}
	held /= 20000 - GW_RANGE_TIMES;
	assert_true(held > 0.86 && held < 0.94);
}

/* A first half long ago is not forgotten. */
TEST(the_times_drawn_are_of_the_whole_run)
{
	struct gw_history h = {0};
	double low, high;

	for (int i = 0; i < 10000; i++)
		gw_history_add(&h, i < 5000 ? 1 : 2);
	assert_true(gw_history_range(&h, &low, &high));
	assert_true(low == 1 && high == 2);
}

TESTS_MAIN()
