#include "calib/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool has_nan(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isnan(x[i]))
			return true;
	return false;
}

/* A sorted copy, to be freed; NULL without order statistics. */
static double *sorted(const double *x, size_t n)
{
	double *copy = n && !has_nan(x, n) ? malloc(n * sizeof(*copy)) : NULL;

	if (copy) {
		memcpy(copy, x, n * sizeof(*copy));
		qsort(copy, n, sizeof(*copy), ascending);
	}
	return copy;
}

/* a + share * (b - a), without the NaN that equal infinities would give. */
static double between(double a, double b, double share)
{
	return a == b || share == 0 ? a : a + share * (b - a);
}

double gw_sample_quantile(const double *x, size_t n, double share)
{
	double *order = share >= 0 && share <= 1 ? sorted(x, n) : NULL;
	double place, result;
	size_t low, high;

	if (!order)
		return NAN;
	place = share * (double)(n - 1);
	low = (size_t)place;
	high = low + 1 < n ? low + 1 : low;
	result = between(order[low], order[high], place - (double)low);
	free(order);
	return result;
}

double gw_median(const double *x, size_t n)
{
	return gw_sample_quantile(x, n, 0.5);
}

double gw_spread(const double *x, size_t n)
{
	double middle = gw_median(x, n), result;
	double *distance = isnan(middle) ? NULL : malloc(n * sizeof(*distance));

	if (!distance)
		return NAN;
	for (size_t i = 0; i < n; i++)
		distance[i] = fabs(x[i] - middle);
	result = 1.4826 * gw_median(distance, n);
	free(distance);
	return result;
}

static const struct gw_line unknown = {NAN, NAN, NAN, NAN, NAN};

/* Sums of the weighted points, about their means: one pass for the means, one for the rest, so
 * that large x lose no digits. */
struct sums {
	double weight, mean_x, mean_y, xx, xy, yy;
};

static double weight_of(const double *y, size_t i, int relative)
{
	return relative ? 1 / (y[i] * y[i]) : 1;
}

static struct sums add_up(const double *x, const double *y, size_t n, int relative)
{
	struct sums s = {0};

	for (size_t i = 0; i < n; i++) {
		double w = weight_of(y, i, relative);

		s.weight += w;
		s.mean_x += w * x[i];
		s.mean_y += w * y[i];
	}
	s.mean_x /= s.weight;
	s.mean_y /= s.weight;
	for (size_t i = 0; i < n; i++) {
		double w = weight_of(y, i, relative), dx = x[i] - s.mean_x, dy = y[i] - s.mean_y;

		s.xx += w * dx * dx;
		s.xy += w * dx * dy;
		s.yy += w * dy * dy;
	}
	return s;
}

static double residual_squares(const double *x, const double *y, size_t n, struct gw_line l,
			       int relative)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		double r = y[i] - l.intercept - l.slope * x[i];

		sum += weight_of(y, i, relative) * r * r;
	}
	return sum;
}

static struct gw_line fit(const double *x, const double *y, size_t n, int relative)
{
	struct gw_line l = unknown;
	struct sums s;
	double rest;

	if (n < 2)
		return l;
	s = add_up(x, y, n, relative);
	if (!(s.xx > 0))
		return l;
	l.slope = s.xy / s.xx;
	l.intercept = s.mean_y - l.slope * s.mean_x;
	rest = residual_squares(x, y, n, l, relative);
	l.r2 = s.yy > 0 ? 1 - rest / s.yy : NAN;
	if (n < 3)
		return l;
	l.slope_error = sqrt(rest / (double)(n - 2) / s.xx);
	l.intercept_error =
		sqrt(rest / (double)(n - 2) * (1 / s.weight + s.mean_x * s.mean_x / s.xx));
	return l;
}

struct gw_line gw_line_fit(const double *x, const double *y, size_t n)
{
	return fit(x, y, n, 0);
}

struct gw_line gw_line_fit_relative(const double *x, const double *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(y[i] > 0))
			return unknown;
	return fit(x, y, n, 1);
}
