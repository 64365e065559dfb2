#include "cli/common/quantile.h"

#include "cli/common/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Bucket b >= 1 holds the values in (LOWEST * G^(b-1), LOWEST * G^b]; bucket 0 what is not above
 * LOWEST. G = 1.01 puts the geometric middle within 0.5%; LOWEST and BUCKETS reach from 1e-6
 * (an error of a millionth) to 1e20 (ns: three thousand years).
 */
enum { BUCKETS = 6020 };
static const double LOWEST = 1e-6, LOG_G = 0.00995033085316808285;

/* Values kept one by one in the whole process. */
static uint64_t kept;

static size_t computed_bucket(double value)
{
	double b = value > LOWEST ? ceil(log(value / LOWEST) / LOG_G) : 0;

	return b >= BUCKETS ? BUCKETS - 1 : (size_t)b;
}

/*
 * The same without a logarithm, by the value's leading bits: a step of theirs is less than 1%, so
 * it holds the end of one bucket at most.
 */
enum { STEP_BITS = 7, STEPS = 1 << (11 + STEP_BITS) };
static uint16_t *first_bucket; /* by step: of the least value of it */
static double *bucket_end;     /* by bucket: the largest value of it */

static double of_bits(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/* The largest value whose bucket is @p bucket or one below it; doubles are in the order of their
 * bits. */
static double end_of(size_t bucket)
{
	double about = LOWEST * exp(LOG_G * (double)bucket);
	uint64_t in = bits_of(about * (1 - 1e-9)), out = bits_of(about * (1 + 1e-9));

	while (out - in > 1) {
		uint64_t middle = in + (out - in) / 2;

		*(computed_bucket(of_bits(middle)) <= bucket ? &in : &out) = middle;
	}
	return of_bits(in);
}

static void make_buckets(void)
{
	first_bucket = gw_alloc(STEPS * sizeof(*first_bucket));
	bucket_end = gw_alloc(BUCKETS * sizeof(*bucket_end));
	for (size_t b = 0; b + 1 < BUCKETS; b++)
		bucket_end[b] = end_of(b);
	bucket_end[BUCKETS - 1] = INFINITY;
	for (uint64_t step = 0, b = 0; step < STEPS; step++) {
		while (of_bits(step << (52 - STEP_BITS)) > bucket_end[b])
			b++;
		first_bucket[step] = (uint16_t)b;
	}
}

static size_t bucket_of(double value)
{
	size_t bucket = first_bucket[bits_of(value) >> (52 - STEP_BITS)];

	return bucket + (value > bucket_end[bucket]);
}

static double middle_of(size_t bucket)
{
	return bucket ? LOWEST * exp(LOG_G * ((double)bucket - 0.5)) : 0;
}

static void to_buckets(struct gw_quantile *q)
{
	if (!first_bucket)
		make_buckets();
	q->buckets = gw_alloc(BUCKETS * sizeof(*q->buckets));
	for (uint64_t i = 0; i < q->count; i++)
		q->buckets[bucket_of(q->values[i])]++;
	free(q->values);
	q->values = NULL;
	q->sorted = false;
	kept -= q->count;
}

/* Whether another value would be one too many; below BUCKETS values the buckets save nothing. */
static bool full(const struct gw_quantile *q)
{
	return q->count >= GW_QUANTILE_EXACT || (kept >= GW_QUANTILE_TOTAL && q->count >= BUCKETS);
}

static void note_range(struct gw_quantile *q, double value)
{
	if (!q->count || value < q->low)
		q->low = value;
	if (!q->count || value > q->high)
		q->high = value;
}

void gw_quantile_add(struct gw_quantile *q, double value)
{
	if (isnan(value))
		return;
	if (!(value > 0))
		value = 0; /* of a negative zero, too */
	note_range(q, value);
	if (!q->buckets && full(q))
		to_buckets(q);
	if (q->buckets) {
		q->buckets[bucket_of(value)]++;
	} else {
		if (q->count == q->room)
			GW_GROW(q->values, &q->room, q->count + 1);
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

enum { DIGIT = 11, DIGITS = 1 << DIGIT, FEW = 1 << 10 };

/* Bits that values up to @p span apart have beyond the first DIGIT ones. */
static unsigned beyond_digit(uint64_t span)
{
	unsigned bits = 0;

	while (span >> bits >= DIGITS)
		bits++;
	return bits;
}

/*
 * The value with @p rank others below it, of many between @p low and @p high: those whose leading
 * bits are its own, again and again until they are few. None is negative, so their bits are in
 * their order.
 */
static double of_rank(const double *values, size_t count, double low, double high, size_t rank)
{
	const uint64_t base = bits_of(low);
	const unsigned beyond = beyond_digit(bits_of(high) - base);
	uint32_t counts[DIGITS] = {0};
	size_t digit = 0, kept_count = 0;
	double *same, value;

	if (low == high)
		return low;
	for (size_t i = 0; i < count; i++)
		counts[(bits_of(values[i]) - base) >> beyond]++;
	while (rank >= counts[digit])
		rank -= counts[digit++];
	if (!beyond)
		return of_bits(base + digit);
	same = gw_alloc(counts[digit] * sizeof(*same));
	low = INFINITY;
	high = 0;
	for (size_t i = 0; i < count; i++) {
		if ((bits_of(values[i]) - base) >> beyond != digit)
			continue;
		same[kept_count++] = values[i];
		low = values[i] < low ? values[i] : low;
		high = values[i] > high ? values[i] : high;
	}
	if (kept_count <= FEW) {
		qsort(same, kept_count, sizeof(*same), by_value);
		value = same[rank];
	} else {
		value = of_rank(same, kept_count, low, high, rank);
	}
	free(same);
	return value;
}

/* The value after @p value, which has @p rank others below it. */
static double after(const struct gw_quantile *q, double value, uint64_t rank)
{
	double next = INFINITY;
	uint64_t up_to = 0;

	for (uint64_t i = 0; i < q->count; i++) {
		up_to += q->values[i] <= value;
		if (q->values[i] > value && q->values[i] < next)
			next = q->values[i];
	}
	return up_to > rank + 1 ? value : next;
}

/* The value with @p rank others below it. */
static double ranked(const struct gw_quantile *q, uint64_t rank)
{
	if (q->sorted)
		return q->values[rank];
	if (!q->buckets)
		return of_rank(q->values, q->count, q->low, q->high, rank);
	for (size_t b = 0; b < BUCKETS; b++) {
		if (rank < q->buckets[b])
			return fmin(fmax(middle_of(b), q->low), q->high);
		rank -= q->buckets[b];
	}
	return NAN;
}

double gw_quantile(struct gw_quantile *q, double share)
{
	double position, value;
	uint64_t low;

	if (!q->count)
		return NAN;
	if (!q->buckets && !q->sorted && q->count <= FEW) {
		qsort(q->values, q->count, sizeof(*q->values), by_value);
		q->sorted = true;
	}
	position = share * (double)(q->count - 1);
	low = (uint64_t)position;
	value = ranked(q, low);
	if (position == (double)low)
		return value;
	return value +
	       (position - (double)low) *
		       ((q->buckets || q->sorted ? ranked(q, low + 1) : after(q, value, low)) -
			value);
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
