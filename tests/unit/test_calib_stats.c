/* Statistics of calibration against values worked out by hand, in exact fractions, or known. */

#include "calib/convolution.h"
#include "calib/stats.h"
#include "tests/test.h"

static void assert_near(double value, double wanted)
{
	if (!(fabs(value - wanted) <= 1e-12 * fmax(1, fabs(wanted))))
		fail_msg("%.17g is not %.17g", value, wanted);
}

TEST(median_is_the_middle_or_the_mean_of_the_two)
{
	static const double odd[] = {9, 1, 4}, even[] = {4, 1, 9, 2};

	assert_near(gw_median(odd, 3), 4);
	assert_near(gw_median(even, 4), 3);
	assert_near(gw_median(odd, 1), 9);
	assert_near(odd[0], 9); /* the input stays as it was */
}

/* Of 15 20 35 40 50, whose places are 0 to 4: 0.05 is at 0.2, 0.3 at 1.2, 0.4 at 1.6, 0.95 at 3.8.
 */
TEST(quantiles_are_linear_between_order_statistics)
{
	static const double x[] = {40, 15, 50, 35, 20};

	assert_near(gw_sample_quantile(x, 5, 0.05), 16);
	assert_near(gw_sample_quantile(x, 5, 0.3), 23);
	assert_near(gw_sample_quantile(x, 5, 0.4), 29);
	assert_near(gw_sample_quantile(x, 5, 0.95), 48);
	assert_near(gw_sample_quantile(x, 5, 0), 15);
	assert_near(gw_sample_quantile(x, 5, 1), 50);
}

/* Distances from the median 2 are 1 1 0 0 2 4 7: their median is 1. */
TEST(spread_is_the_scaled_median_distance)
{
	static const double x[] = {1, 1, 2, 2, 4, 6, 9};

	assert_near(gw_spread(x, 7), 1.4826);
	assert_near(gw_spread(x, 1), 0);
}

TEST(spread_is_blind_to_a_minority_of_outliers)
{
	static const double clean[] = {10, 11, 12, 13, 14}, dirty[] = {10, 11, 12, 13, 1e9};

	assert_near(gw_spread(clean, 5), gw_spread(dirty, 5));
}

TEST(what_cannot_be_had_is_unknown)
{
	static const double bad[] = {1, NAN, 3};

	assert_true(isnan(gw_median(NULL, 0)) && isnan(gw_median(bad, 3)));
	assert_true(isnan(gw_spread(NULL, 0)) && isnan(gw_spread(bad, 3)));
	assert_true(isnan(gw_sample_quantile(bad, 1, 1.5)));
}

TEST(distribution_counts_whole_cycles)
{
	static const double cycles[] = {7, 5, 7, 8, 7, 5, 7, 8};
	struct gw_dist d = gw_dist_of(cycles, COUNT(cycles));

	assert_true(d.first == 5 && d.count == 4);
	assert_near(d.mass[0], 0.25);
	assert_near(d.mass[1], 0);
	assert_near(d.mass[2], 0.5);
	assert_near(d.mass[3], 0.25);
	assert_near(gw_dist_mean(&d), 6.75);
	assert_near(gw_dist_deviation(&d), sqrt(1.1875));
	assert_near(gw_dist_mode(&d, INFINITY), 7);
	assert_near(gw_dist_mode(&d, 6), 5);
	assert_near(gw_dist_quantile(&d, 0.5), 7);
	assert_near(gw_dist_quantile(&d, 0.25), 5);
	assert_near(gw_dist_quantile(&d, 1), 8);
	gw_dist_free(&d);
}

/* Two dice: the number of ways to each sum is known to every player. */
TEST(sum_of_two_dice)
{
	static const double faces[] = {1, 2, 3, 4, 5, 6};
	struct gw_dist die = gw_dist_of(faces, 6), sum = gw_dist_sum(&die, &die);

	assert_true(sum.first == 2 && sum.count == 11);
	for (size_t i = 0; i < 11; i++)
		assert_near(sum.mass[i], (double)(i < 6 ? i + 1 : 11 - i) / 36);
	gw_dist_free(&die);
	gw_dist_free(&sum);
}

/* Z is 10 or 12, Y is 1 (3 times of 4) or 2: Z - Y is 8 9 10 11 with 1/8 3/8 1/8 3/8. */
TEST(difference_is_the_sum_with_the_reflected)
{
	static const double zs[] = {10, 12}, ys[] = {1, 1, 1, 2}, wanted[] = {1, 3, 1, 3};
	struct gw_dist z = gw_dist_of(zs, 2), y = gw_dist_of(ys, 4);
	struct gw_dist x = gw_dist_difference(&z, &y), reflected = gw_dist_reflected(&y);

	assert_true(reflected.first == -2 && reflected.count == 2);
	assert_near(reflected.mass[0], 0.25);
	assert_true(x.first == 8 && x.count == 4);
	for (size_t i = 0; i < 4; i++)
		assert_near(x.mass[i], wanted[i] / 8);
	assert_near(gw_dist_mean(&x), gw_dist_mean(&z) - gw_dist_mean(&y));
	/* The variance of the estimate is that of Z plus that of Y ... */
	assert_near(gw_dist_deviation(&x), sqrt(1 + 0.1875));
	/* ... while that of what was timed is the difference. */
	assert_near(gw_dist_narrow(&z, &y), sqrt(1 - 0.1875));
	assert_true(isnan(gw_dist_narrow(&y, &z)));
	gw_dist_free(&z);
	gw_dist_free(&y);
	gw_dist_free(&x);
	gw_dist_free(&reflected);
}

TEST(part_of_a_distribution)
{
	static const double cycles[] = {30, 31, 31, 32, 200, 210, 220, 600};
	struct gw_dist d = gw_dist_of(cycles, 8);
	struct gw_dist_part l2 = gw_dist_between(&d, 100, 300), none = gw_dist_between(&d, 1, 2);

	assert_near(l2.mass, 3.0 / 8);
	assert_near(l2.mean, 210);
	assert_near(none.mass, 0);
	assert_true(isnan(none.mean));
	gw_dist_free(&d);
}

/* The mode below 100 is 31; up to 40 it is 9 cycles, so 22 to 40: 5 of 8 values, 20 left out. */
TEST(interval_around_the_mode_is_as_wide_on_both_sides)
{
	static const double cycles[] = {20, 30, 31, 31, 32, 36, 210, 210};
	struct gw_dist d = gw_dist_of(cycles, 8);
	struct gw_dist_part part = gw_dist_around_mode(&d, 40);

	assert_near(part.low, 22);
	assert_near(part.high, 40);
	assert_near(part.mass, 5.0 / 8);
	assert_near(part.mean, 32);
	assert_true(isnan(gw_dist_around_mode(&d, 10).mean));
	gw_dist_free(&d);
}

TEST(distributions_that_cannot_be_had_are_empty)
{
	static const double wide[] = {0, GW_DIST_SPAN}, bad[] = {1, NAN}, one[] = {5};
	struct gw_dist empty = gw_dist_of(NULL, 0), d = gw_dist_of(one, 1);
	struct gw_dist sum = gw_dist_sum(&d, &empty);

	assert_int_equal(empty.count, 0);
	assert_int_equal(gw_dist_of(wide, 2).count, 0);
	assert_int_equal(gw_dist_of(bad, 2).count, 0);
	assert_int_equal(sum.count, 0);
	assert_true(isnan(gw_dist_mean(&empty)) && isnan(gw_dist_deviation(&empty)) &&
		    isnan(gw_dist_quantile(&empty, 0.5)) && isnan(gw_dist_mode(&empty, 9)));
	gw_dist_free(&d);
}

/* Anscombe's first set (The American Statistician 27, 1973): slope 0.5001, intercept 3.0001, R²
 * 0.6665, standard errors 0.1179 and 1.1247 in his table, here worked out in exact fractions. */
TEST(line_through_anscombes_first_set)
{
	static const double x[] = {10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5};
	static const double y[] = {8.04, 6.95, 7.58,  8.81, 8.33, 9.96,
				   7.24, 4.26, 10.84, 4.82, 5.68};
	struct gw_line l = gw_line_fit(x, y, 11);

	assert_true(fabs(l.slope - 0.50009090909090903) < 1e-14);
	assert_true(fabs(l.intercept - 3.0000909090909103) < 1e-13);
	assert_true(fabs(l.r2 - 0.6665424595087749) < 1e-14);
	assert_true(fabs(l.slope_error - 0.11790550059563408) < 1e-14);
	assert_true(fabs(l.intercept_error - 1.124746790808644) < 1e-12);
}

TEST(line_keeps_its_digits_far_from_zero)
{
	double x[100], y[100];

	for (int i = 0; i < 100; i++) {
		x[i] = 1e9 + i;
		y[i] = 1e6 + 0.25 * i;
	}
	assert_near(gw_line_fit(x, y, 100).slope, 0.25);
	assert_near(gw_line_fit(x, y, 100).r2, 1);
}

/* y = 2 x but for one point that is 8 times larger: weighed by shares it hardly counts. By hand:
 * weights 1/4, 1/16, 1/400 at (1, 2), (2, 4), (3, 20). */
TEST(relative_line_weighs_by_share)
{
	static const double x[] = {1, 2, 3}, y[] = {2, 4, 20};
	const double w[] = {1 / 4.0, 1 / 16.0, 1 / 400.0};
	const double sum = w[0] + w[1] + w[2];
	const double mx = (w[0] + 2 * w[1] + 3 * w[2]) / sum;
	const double my = (2 * w[0] + 4 * w[1] + 20 * w[2]) / sum;
	double sxy = 0, sxx = 0;
	struct gw_line l = gw_line_fit_relative(x, y, 3);

	for (int i = 0; i < 3; i++) {
		sxy += w[i] * (x[i] - mx) * (y[i] - my);
		sxx += w[i] * (x[i] - mx) * (x[i] - mx);
	}
	assert_near(l.slope, sxy / sxx);
	assert_near(l.intercept, my - sxy / sxx * mx);
	assert_true(isnan(gw_line_fit_relative(x, (const double[]){1, 0, 2}, 3).slope));
}

TEST(lines_that_cannot_be_had_are_unknown)
{
	static const double x[] = {2, 2, 2}, y[] = {1, 2, 3}, flat[] = {4, 4, 4};

	assert_true(isnan(gw_line_fit(x, y, 3).slope));
	assert_true(isnan(gw_line_fit(y, y, 1).slope));
	assert_near(gw_line_fit(y, flat, 3).slope, 0);
	assert_true(isnan(gw_line_fit(y, flat, 3).r2)); /* no variance to explain */
	assert_true(isnan(gw_line_fit(y, y, 2).slope_error));
}

TESTS_MAIN()
