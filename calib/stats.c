/* SPDX-License-Identifier: Apache-2.0 */
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
