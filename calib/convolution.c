#include "calib/convolution.h"

#include <math.h>
#include <stdlib.h>

static struct gw_dist blank(int64_t first, size_t count)
{
	struct gw_dist d = {.first = first, .count = count};

	if (count && count <= GW_DIST_SPAN)
		d.mass = calloc(count, sizeof(*d.mass));
	if (!d.mass)
		d = (struct gw_dist){0};
	return d;
}

/* Least and greatest whole cycle of samples; false when there is none or one can't be a count of
 * cycles. */
static bool range(const double *samples, size_t n, double *low, double *high)
{
	*low = INFINITY;
	*high = -INFINITY;
	for (size_t i = 0; i < n; i++) {
		if (!(fabs(samples[i]) < 0x1p53))
			return false;
		*low = fmin(*low, nearbyint(samples[i]));
		*high = fmax(*high, nearbyint(samples[i]));
	}
	return n && *high - *low < GW_DIST_SPAN;
}

struct gw_dist gw_dist_of(const double *samples, size_t n)
{
	struct gw_dist d = {0};
	double low, high;

	if (!range(samples, n, &low, &high))
		return d;
	d = blank((int64_t)low, (size_t)(high - low) + 1);
	for (size_t i = 0; d.count && i < n; i++)
		d.mass[(size_t)(nearbyint(samples[i]) - low)] += 1 / (double)n;
	return d;
}

struct gw_dist gw_dist_sum(const struct gw_dist *a, const struct gw_dist *b)
{
	struct gw_dist d = {0};

	if (!a->count || !b->count)
		return d;
	d = blank(a->first + b->first, a->count + b->count - 1);
	for (size_t i = 0; d.count && i < a->count; i++)
		/* Distributions are mostly gaps: a few values, far apart. */
		for (size_t k = 0; a->mass[i] > 0 && k < b->count; k++)
			d.mass[i + k] += a->mass[i] * b->mass[k];
	return d;
}

struct gw_dist gw_dist_reflected(const struct gw_dist *a)
{
	struct gw_dist d = blank(-(a->first + (int64_t)a->count - 1), a->count);

	for (size_t i = 0; i < d.count; i++)
		d.mass[i] = a->mass[a->count - 1 - i];
	return d;
}

struct gw_dist gw_dist_difference(const struct gw_dist *z, const struct gw_dist *y)
{
	struct gw_dist reflected = gw_dist_reflected(y), d = gw_dist_sum(z, &reflected);

	gw_dist_free(&reflected);
	return d;
}

void gw_dist_free(struct gw_dist *d)
{
	free(d->mass);
	*d = (struct gw_dist){0};
}

static double value_at(const struct gw_dist *d, size_t i)
{
	return (double)(d->first + (int64_t)i);
}

double gw_dist_mean(const struct gw_dist *d)
{
	return gw_dist_between(d, -INFINITY, INFINITY).mean;
}

static double variance(const struct gw_dist *d)
{
	double mean = gw_dist_mean(d), sum = d->count ? 0 : NAN;

	for (size_t i = 0; i < d->count; i++)
		sum += d->mass[i] * (value_at(d, i) - mean) * (value_at(d, i) - mean);
	return sum;
}

double gw_dist_deviation(const struct gw_dist *d)
{
	return sqrt(variance(d));
}

double gw_dist_quantile(const struct gw_dist *d, double share)
{
	double sum = 0;

	for (size_t i = 0; i < d->count; i++) {
		sum += d->mass[i];
		/* Masses are rounded, so their sum may fall slightly short of a share. */
		if (d->mass[i] > 0 && sum >= share - 1e-12)
			return value_at(d, i);
	}
	return d->count ? value_at(d, d->count - 1) : NAN;
}

double gw_dist_mode(const struct gw_dist *d, double high)
{
	double best = NAN, most = 0;

	for (size_t i = 0; i < d->count && value_at(d, i) <= high; i++)
		if (d->mass[i] > most) {
			most = d->mass[i];
			best = value_at(d, i);
		}
	return best;
}

double gw_dist_narrow(const struct gw_dist *z, const struct gw_dist *y)
{
	double left = variance(z) - variance(y);

	return left >= 0 ? sqrt(left) : NAN;
}

struct gw_dist_part gw_dist_between(const struct gw_dist *d, double low, double high)
{
	struct gw_dist_part part = {.low = low, .high = high};
	double sum = 0;

	for (size_t i = 0; i < d->count; i++) {
		double v = value_at(d, i);

		if (v < low || v > high)
			continue;
		part.mass += d->mass[i];
		sum += d->mass[i] * v;
	}
	part.mean = part.mass > 0 ? sum / part.mass : NAN;
	return part;
}

struct gw_dist_part gw_dist_around_mode(const struct gw_dist *d, double high)
{
	double mode = gw_dist_mode(d, high);

	if (isnan(mode))
		return (struct gw_dist_part){.low = NAN, .high = NAN, .mass = NAN, .mean = NAN};
	return gw_dist_between(d, 2 * mode - high, high);
}
