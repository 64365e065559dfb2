/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/regression.h"

#include <math.h>

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
