#include "calib/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib/stats.h"

/* A part below this share of the samples is outliers, not a population. */
static const double LEAST_SHARE = 0.05;
/* Clarity that one population never reaches: see gw_split_is_two. */
static const double LEAST_CLARITY = 0.8;
/* Blocks that take this many times as long as one of one warp: warps set the pace. */
static const double WARPS_COUNT = 1.5;

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Divide the sorted samples x[0] .. x[n - 1]; returns the size of the lower part, 0 for none. */
static size_t divide(const double *x, size_t n, double *clarity)
{
	double sum = 0, squares = 0, below = 0, best = 0;
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		sum += x[i];
	for (size_t i = 0; i < n; i++)
		squares += (x[i] - sum / (double)n) * (x[i] - sum / (double)n);
	for (size_t i = 1; i < n; i++) {
		double low, high, between;

		below += x[i - 1];
		if (x[i] <= x[i - 1])
			continue;
		low = below / (double)i;
		high = (sum - below) / (double)(n - i);
		between = (double)i * (double)(n - i) / (double)n * (high - low) * (high - low);
		if (between > best)
			best = between, at = i;
	}
	*clarity = squares > 0 ? best / squares : NAN;
	return at;
}

struct gw_split gw_split_of(const double *x, size_t n, double low_quantile, double high_quantile)
{
	struct gw_split split = {NAN, NAN, NAN, NAN, NAN};
	size_t first = (size_t)(low_quantile * (double)n);
	size_t end = n - (size_t)((1 - high_quantile) * (double)n), at;
	double *sorted;

	if (n < GW_SPLIT_LEAST || end <= first + 1)
		return split;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return split;
	memcpy(sorted, x, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), ascending);
	at = divide(sorted + first, end - first, &split.clarity);
	if (at) {
		at += first;
		split.boundary = (sorted[at - 1] + sorted[at]) / 2;
		split.low = gw_median(sorted, at);
		split.high = gw_median(sorted + at, n - at);
		split.share = (double)at / (double)n;
	}
	free(sorted);
	return split;
}

bool gw_split_is_two(const struct gw_split *split, double apart)
{
	return split->clarity > LEAST_CLARITY && split->share >= LEAST_SHARE &&
	       split->share <= 1 - LEAST_SHARE && split->high - split->low > apart;
}

double gw_mean_within(const double *x, size_t n, double low, double share)
{
	double most = gw_sample_quantile(x, n, share), sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		if (x[i] > low && x[i] <= most)
			sum += x[i], count++;
	return count ? sum / (double)count : NAN;
}

struct gw_step gw_step_of(const double *x, const double *y, size_t n, double apart)
{
	struct gw_split split = gw_split_of(y, n, 0, 1);
	struct gw_step none = {NAN, NAN, NAN};
	double middle = (split.low + split.high) / 2, share;
	size_t up = 0;

	if (!gw_split_is_two(&split, apart * split.low))
		return none;
	while (up < n && y[up] < middle)
		up++;
	if (!up || up == n)
		return none;
	share = (middle - y[up - 1]) / (y[up] - y[up - 1]);
	return (struct gw_step){split.low, split.high, x[up - 1] * pow(x[up] / x[up - 1], share)};
}

struct point {
	double x, y;
};

static int by_x(const void *a, const void *b)
{
	return ascending(&((const struct point *)a)->x, &((const struct point *)b)->x);
}

size_t gw_curve_tidy(double *x, double *y, size_t n, double merge)
{
	struct point *points = calloc(n ? n : 1, sizeof(*points));
	size_t kept = 0;

	if (!points)
		return 0;
	for (size_t i = 0; i < n; i++)
		points[i] = (struct point){x[i], y[i]};
	qsort(points, n, sizeof(*points), by_x);
	for (size_t i = 0, end; i < n; i = end) {
		double sum_x = 0, sum_y = 0;

		for (end = i; end < n && points[end].x <= points[i].x * (1 + merge); end++)
			sum_x += points[end].x, sum_y += points[end].y;
		x[kept] = sum_x / (double)(end - i);
		y[kept++] = sum_y / (double)(end - i);
	}
	free(points);
	return kept;
}

void gw_curve_rising(double *y, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		double sum = y[i];
		size_t first = i;

		/* The pool grows leftwards while its mean is below the point before it. */
		while (first && y[first - 1] > sum / (double)(i - first + 1))
			sum += y[--first];
		for (size_t j = first; j <= i; j++)
			y[j] = sum / (double)(i - first + 1);
	}
}

struct gw_launch_rates gw_launch_rates_of(const double *warps, const double *slope, size_t n)
{
	struct gw_launch_rates rates = {NAN, NAN, 0};
	double *each = n ? malloc(n * sizeof(*each)) : NULL;
	size_t count = 0;

	if (!each || warps[0] != 1) {
		free(each);
		return rates;
	}
	rates.per_block = slope[0];
	for (size_t i = 0; i < n; i++) {
		if (!(slope[i] >= WARPS_COUNT * slope[0]))
			continue;
		if (!count)
			rates.warps = (size_t)warps[i];
		each[count++] = slope[i] / warps[i];
	}
	if (count)
		rates.per_warp = gw_median(each, count);
	free(each);
	return rates;
}
