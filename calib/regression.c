/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/regression.h"

#include <math.h>
#include <stdlib.h>

#include "calib/stats.h"

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

/* The slopes of all pairs with different x; their number in @p count. To be freed. */
static double *pair_slopes(const double *x, const double *y, size_t n, size_t *count)
{
	double *slopes = n > 1 && n < 1 << 16 ? malloc(n * (n - 1) / 2 * sizeof(*slopes)) : NULL;

	*count = 0;
	for (size_t i = 0; slopes && i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			if (x[i] != x[k])
				slopes[(*count)++] = (y[k] - y[i]) / (x[k] - x[i]);
	return slopes;
}

struct gw_line gw_line_robust(const double *x, const double *y, size_t n)
{
	struct gw_line l = unknown;
	size_t count;
	double *room = pair_slopes(x, y, n, &count), squares;
	struct sums s;

	l.slope = room ? gw_median(room, count) : NAN;
	free(room);
	if (isnan(l.slope))
		return l;
	room = malloc(n * sizeof(*room));
	for (size_t i = 0; room && i < n; i++)
		room[i] = y[i] - l.slope * x[i];
	l.intercept = room ? gw_median(room, n) : NAN;
	free(room);
	s = add_up(x, y, n, 0);
	squares = residual_squares(x, y, n, l, 0);
	l.r2 = s.yy > 0 ? 1 - squares / s.yy : NAN;
	return l;
}
