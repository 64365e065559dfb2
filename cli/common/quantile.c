/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/common/quantile.h"

#include "cli/common/memory.h"

#include <math.h>
#include <stdlib.h>

/*
 * Bucket b >= 1 holds the values in (LOWEST * G^(b-1), LOWEST * G^b]; bucket 0 what is not above
 * LOWEST. G = 1.01 puts the geometric middle within 0.5%; LOWEST and BUCKETS reach from 1e-6
 * (an error of a millionth) to 1e20 (ns: three thousand years).
 */
enum { BUCKETS = 6020 };
static const double LOWEST = 1e-6, LOG_G = 0.00995033085316808285;

/* Values kept one by one in the whole process. */
static uint64_t kept;

static size_t bucket_of(double value)
{
	double b = value > LOWEST ? ceil(log(value / LOWEST) / LOG_G) : 0;

	return b >= BUCKETS ? BUCKETS - 1 : (size_t)b;
}

static double middle_of(size_t bucket)
{
	return bucket ? LOWEST * exp(LOG_G * ((double)bucket - 0.5)) : 0;
}

static void to_buckets(struct gw_quantile *q)
{
	q->buckets = gw_alloc(BUCKETS * sizeof(*q->buckets));
	for (uint64_t i = 0; i < q->count; i++)
		q->buckets[bucket_of(q->values[i])]++;
	free(q->values);
	q->values = NULL;
	kept -= q->count;
}

/* Whether another value would be one too many; below BUCKETS values the buckets save nothing. */
static bool full(const struct gw_quantile *q)
{
	return q->count >= GW_QUANTILE_EXACT || (kept >= GW_QUANTILE_TOTAL && q->count >= BUCKETS);
}

static void note_range(struct gw_quantile *q, double value)
{
	q->low = q->count ? fmin(q->low, value) : value;
	q->high = q->count ? fmax(q->high, value) : value;
}

void gw_quantile_add(struct gw_quantile *q, double value)
{
	if (isnan(value))
		return;
	if (value < 0)
		value = 0;
	note_range(q, value);
	if (!q->buckets && full(q))
		to_buckets(q);
	if (q->buckets) {
		q->buckets[bucket_of(value)]++;
	} else {
		q->values = gw_grow(q->values, &q->room, q->count + 1, sizeof(*q->values));
		q->values[q->count] = value;
		q->sorted = false;
		kept++;
	}
	q->count++;
}

void gw_quantile_add_times(struct gw_quantile *q, double value, uint64_t times)
{
	if (isnan(value) || !times)
		return;
	value = fmax(value, 0);
	note_range(q, value);
	if (!q->buckets)
		to_buckets(q);
	q->buckets[bucket_of(value)] += times;
	q->count += times;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value with @p rank others below it. */
static double ranked(struct gw_quantile *q, uint64_t rank)
{
	if (!q->buckets)
		return q->values[rank];
	for (size_t b = 0; b < BUCKETS; b++) {
		if (rank < q->buckets[b])
			return fmin(fmax(middle_of(b), q->low), q->high);
		rank -= q->buckets[b];
	}
	return NAN;
}

double gw_quantile(struct gw_quantile *q, double share)
{
	double position;
	uint64_t low;

	if (!q->count)
		return NAN;
	if (!q->buckets && !q->sorted) {
		qsort(q->values, q->count, sizeof(*q->values), by_value);
		q->sorted = true;
	}
	position = share * (double)(q->count - 1);
	low = (uint64_t)position;
	if (position == (double)low)
		return ranked(q, low);
	return ranked(q, low) + (position - (double)low) * (ranked(q, low + 1) - ranked(q, low));
}

bool gw_quantile_exact(const struct gw_quantile *q)
{
	return !q->buckets;
}

void gw_quantile_free(struct gw_quantile *q)
{
	if (!q->buckets)
		kept -= q->count;
	free(q->values);
	free(q->buckets);
	*q = (struct gw_quantile){0};
}
