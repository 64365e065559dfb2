/* Bins that grow wider: nothing is lost, and everything stays in its place. */
#include "cli/html/series.h"
#include "tests/test.h"

static void launch(struct html_series *s, uint32_t row, uint64_t start, uint64_t duration)
{
	const struct gw_record_launch l = {.flags = GW_LAUNCH_MEASURED,
					   .predicted = 10,
					   .start_ns = start,
					   .duration_ns = duration};

	s->watch.launch(s, row, 0, &l, GW_TIER_STEADY);
}

static uint64_t point_of(const struct html_series *s, uint64_t ns)
{
	return (ns >> s->shift) / HTML_COARSE - s->base / HTML_COARSE;
}

static void check_sums(const struct html_series *s, size_t row, uint64_t count, double sum)
{
	const struct html_point *points = html_series_points(s, row);

	for (size_t i = 0; i < HTML_POINTS; i++) {
		count -= points[i].count;
		sum -= points[i].sum;
	}
	assert_int_equal(count, 0);
	assert_true(sum > -1e-6 && sum < 1e-6);
}

TEST(launches_stay_in_their_place_as_bins_grow)
{
	const uint64_t start = 1700000000000000000u;
	struct gw_log_model model = {0};
	struct html_series s;

	html_series_begin(&s, &model);
	assert_ptr_equal(model.watch, &s.watch);
	launch(&s, 2, start, 7);
	for (uint64_t i = 1; i < 1000; i++)
		launch(&s, 0, start + i * i * i * 1000, i);
	check_sums(&s, 0, 999, 999 * 1000 / 2.0);
	check_sums(&s, 2, 1, 7);
	assert_null(html_series_points(&s, 1));
	assert_null(html_series_points(&s, 3));
	assert_int_equal(html_series_points(&s, 2)[point_of(&s, start)].count, 1);
	assert_true(
		html_series_points(&s, 0)[point_of(&s, start + 999ull * 999 * 999 * 1000)].high ==
		999);
	html_series_free(&s);
}

TEST(time_may_go_backwards_and_reach_far)
{
	struct gw_log_model model = {0};
	struct html_series s;

	html_series_begin(&s, &model);
	for (uint64_t i = 0; i < 5000; i++)
		launch(&s, 0, 1000000000 - i * 1000, 1);
	check_sums(&s, 0, 5000, 5000);
	launch(&s, 0, UINT64_MAX, 1);
	launch(&s, 0, 1, 1);
	check_sums(&s, 0, 5002, 5002);
	assert_int_equal(html_series_points(&s, 0)[point_of(&s, UINT64_MAX)].count, 1);
	html_series_free(&s);
}

TEST(pieces_of_time_are_split_over_bins)
{
	struct gw_log_model model = {0};
	struct html_series s;
	double busy = 0, paused = 0;

	html_series_begin(&s, &model);
	for (uint64_t i = 0; i < 100; i++) {
		s.watch.span(&s, 1, GW_GAPS, i * 10000000, i * 10000000 + 3000000);
		s.watch.span(&s, 1, GW_GAP_PAUSED, i * 10000000 + 3000000, (i + 1) * 10000000);
	}
	assert_int_equal(s.gpu_count, 2);
	assert_null(s.gpus[0].bins);
	for (size_t i = 0; i < HTML_BINS; i++) {
		const double *ns = s.gpus[1].bins[i].ns;

		assert_true(ns[GW_GAPS] + ns[GW_GAP_PAUSED] <= (double)(1ull << s.shift) + 1e-6);
		busy += ns[GW_GAPS];
		paused += ns[GW_GAP_PAUSED];
	}
	assert_true(busy == 100 * 3e6 && paused == 100 * 7e6);
	html_series_free(&s);
}

TEST(rows_beyond_the_limit_are_not_kept)
{
	struct gw_log_model model = {0};
	struct html_series s;

	html_series_begin(&s, &model);
	for (uint32_t row = 0; row < HTML_TRACKED + 10; row++)
		launch(&s, row, 1000, 1);
	assert_non_null(html_series_points(&s, HTML_TRACKED - 1));
	assert_null(html_series_points(&s, HTML_TRACKED));
	assert_int_equal(s.tiers[GW_TIER_STEADY].scored, HTML_TRACKED + 10);
	html_series_free(&s);
}

TESTS_MAIN()
