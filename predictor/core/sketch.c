#include "predictor/core/sketch.h"

#include <math.h>
#include <string.h>

/* Powers of 2^(1/8) from 1/2 on: the upper ends of the buckets of an octave. */
static const double octave[] = {0.5,
				0.5452538663326288,
				0.5946035575013605,
				0.6484197773255048,
				0.7071067811865475,
				0.7711054127039704,
				0.8408964152537144,
				0.9170040432046711};

int32_t gw_sketch_index(double value)
{
	int exponent, at = 0;
	double fraction = frexp(value, &exponent);

	while (at < 8 && octave[at] < fraction)
		at++;
	return (exponent - 1) * 8 + at;
}

double gw_sketch_bound(int32_t schema, int32_t index)
{
	return schema >= 0 ? exp2((double)index / (double)(1 << schema))
			   : exp2((double)index * (double)(1 << -schema));
}

double gw_sketch_error(int32_t schema)
{
	return sqrt(gw_sketch_bound(schema, 1)) - 1;
}

/* The bucket at a schema coarser by @p by that holds bucket @p index. */
static int32_t coarser(int32_t index, int32_t by)
{
	const int32_t width = 1 << by;
	const int32_t up = index + width - 1;

	return up >= 0 ? up / width : -((-up + width - 1) / width);
}

/* First and last bucket in use; false: there is none. */
static bool used(const struct gw_sketch *s, int32_t *first, int32_t *last)
{
	int32_t low = 0, high = GW_SKETCH_BUCKETS - 1;

	while (low < GW_SKETCH_BUCKETS && !s->bucket[low])
		low++;
	if (low == GW_SKETCH_BUCKETS)
		return false;
	while (!s->bucket[high])
		high--;
	*first = s->first + low;
	*last = s->first + high;
	return true;
}

/* The same values by buckets that begin with @p first, at a schema coarser by @p by. */
static void rearrange(struct gw_sketch *s, int32_t by, int32_t first)
{
	uint64_t old[GW_SKETCH_BUCKETS];

	memcpy(old, s->bucket, sizeof(old));
	memset(s->bucket, 0, sizeof(s->bucket));
	for (int32_t i = 0; i < GW_SKETCH_BUCKETS; i++)
		if (old[i])
			s->bucket[coarser(s->first + i, by) - first] += old[i];
	s->schema -= by;
	s->first = first;
}

/* Have buckets from @p low to @p high, indices at the sketch's schema, beside those in use. */
static void make_room(struct gw_sketch *s, int32_t low, int32_t high)
{
	int32_t first, last, by = 0;

	if (!used(s, &first, &last)) {
		first = low;
		last = high;
	}
	first = low < first ? low : first;
	last = high > last ? high : last;
	while (coarser(last, by) - coarser(first, by) >= GW_SKETCH_BUCKETS)
		by++;
	if (!by && first >= s->first && last < s->first + GW_SKETCH_BUCKETS)
		return;
	/* As much room below as above: a longer time comes as often as a shorter one. */
	first = coarser(first, by);
	last = coarser(last, by);
	rearrange(s, by, first - (GW_SKETCH_BUCKETS - 1 - (last - first)) / 2);
}

static void put(struct gw_sketch *s, int32_t schema, int32_t index, uint64_t times)
{
	int32_t at = coarser(index, schema - s->schema);

	if (at < s->first || at >= s->first + GW_SKETCH_BUCKETS) {
		make_room(s, at, at);
		at = coarser(index, schema - s->schema);
	}
	s->bucket[at - s->first] += times;
}

/* The first value settles where the buckets begin. */
static void begin(struct gw_sketch *s, double value)
{
	if (s->count)
		return;
	s->low = s->high = value;
	s->schema = GW_SKETCH_SCHEMA;
}

void gw_sketch_add(struct gw_sketch *s, double value, uint64_t times)
{
	double counted = value < GW_SKETCH_LEAST  ? GW_SKETCH_LEAST
			 : value > GW_SKETCH_MOST ? GW_SKETCH_MOST
						  : value;

	if (!isfinite(value) || !times)
		return;
	begin(s, value);
	s->count += times;
	s->sum += value * (double)times;
	s->low = value < s->low ? value : s->low;
	s->high = value > s->high ? value : s->high;
	if (value > 0)
		put(s, GW_SKETCH_SCHEMA, gw_sketch_index(counted), times);
	else
		s->zero += times;
}

void gw_sketch_merge(struct gw_sketch *into, const struct gw_sketch *from)
{
	if (!from->count)
		return;
	begin(into, from->low);
	into->count += from->count;
	into->zero += from->zero;
	into->sum += from->sum;
	into->low = from->low < into->low ? from->low : into->low;
	into->high = from->high > into->high ? from->high : into->high;
	if (into->schema > from->schema) {
		const int32_t by = into->schema - from->schema;

		rearrange(into, by, coarser(into->first, by));
	}
	for (int32_t i = 0; i < GW_SKETCH_BUCKETS; i++)
		if (from->bucket[i])
			put(into, from->schema, from->first + i, from->bucket[i]);
}

void gw_sketch_since(const struct gw_sketch *now, const struct gw_sketch *before,
		     struct gw_sketch *more)
{
	*more = *now;
	if (before->count > now->count || before->zero > now->zero || before->schema < now->schema)
		return;
	for (int32_t i = 0; i < GW_SKETCH_BUCKETS; i++) {
		const uint64_t had = before->bucket[i];
		const int32_t at =
			coarser(before->first + i, before->schema - now->schema) - now->first;

		if (!had)
			continue;
		if (at < 0 || at >= GW_SKETCH_BUCKETS || more->bucket[at] < had) {
			*more = *now;
			return;
		}
		more->bucket[at] -= had;
	}
	more->count -= before->count;
	more->zero -= before->zero;
	more->sum -= before->sum;
}

double gw_sketch_quantile(const struct gw_sketch *s, double share)
{
	/* The rank of the value that is asked for, from 1. */
	double rank = ceil(share * (double)s->count), seen = (double)s->zero, value;

	if (!s->count)
		return NAN;
	rank = rank < 1 ? 1 : rank;
	if (seen >= rank)
		return s->low < 0 ? s->low : 0;
	for (int32_t i = 0; i < GW_SKETCH_BUCKETS; i++) {
		seen += (double)s->bucket[i];
		if (seen < rank)
			continue;
		/* The geometric middle, within what was seen. */
		value = gw_sketch_bound(s->schema, s->first + i) / (1 + gw_sketch_error(s->schema));
		value = value < s->low ? s->low : value;
		return value > s->high ? s->high : value;
	}
	return s->high;
}

bool gw_sketch_valid(const struct gw_sketch *s)
{
	const int32_t widest = GW_SKETCH_INDEX_MOST + GW_SKETCH_BUCKETS;
	int32_t first = 0, last = 0, by = GW_SKETCH_SCHEMA - s->schema;

	if (s->schema > GW_SKETCH_SCHEMA || s->schema < GW_SKETCH_SCHEMA_LEAST ||
	    s->first < -widest || s->first > widest)
		return false;
	used(s, &first, &last);
	/* Buckets beyond those of values that count would merge to a schema that there is not. */
	return first >= coarser(gw_sketch_index(GW_SKETCH_LEAST), by) &&
	       last <= coarser(GW_SKETCH_INDEX_MOST, by) && s->zero <= s->count &&
	       isfinite(s->sum) && isfinite(s->low) && isfinite(s->high);
}
