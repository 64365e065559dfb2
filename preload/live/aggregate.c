/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/live/aggregate.h"

#include "preload/runtime/clock.h"
#include "preload/maps/configs.h"
#include "preload/maps/memory.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/maps/own_use.h"
#include "preload/maps/state.h"
#include "predictor/log/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	SUMS_MAX = 1 << 14, /* configurations summed apart; place 0 has all others */
	PLACES = GW_LIVE_SUMS / 2,
	SPANS = 64,         /* a span is this part of the time since the first */
	SKETCHED = 1 << 12, /* sums that may have histograms: a span ends when there are so many */
};
static const uint64_t SPAN_NS = UINT64_C(10000000000);
/* A record has 32 bits for it: then the sum goes on in another. */
static const uint32_t LAUNCHES_MAX = UINT32_MAX / 2;

static struct sum {
	struct gw_record_aggregate record;
	double error_sum, ratio_sum; /* a float would stop growing */
} * sums;
static struct sketches {
	struct gw_sketch time, ratio;
} * sketches; /* of the first SKETCHED sums, while the log is a ring */
static uint32_t count;
static uint32_t half;   /* of the places of the live segment that this span has, 0 or 1 */
static bool full;       /* so many that the span is to end */
static uint32_t *place; /* [GW_CONFIGS_MAX]: the sum of each, where that is the one there */
static uint64_t begin_ns, first_ns, /* of the span, and of all, by the steady clock … */
        begin_wall_ns;              /* … and as the log keeps it */

static void forget(void)
{
	count = 0;
	full = false;
}

void gw_aggregate_start(void)
{
	/* A forked child begins with the parent's: left behind. */
	count = 0;
	sums = NULL;
	place = NULL;
	sketches = NULL;
	full = false;
	begin_ns = first_ns = 0;
}

/* In the live segment; UINT32_MAX: none. */
static uint32_t place_of(const struct sum *sum)
{
	return sum - sums < PLACES ? half * PLACES + (uint32_t)(sum - sums) : UINT32_MAX;
}

static struct sum *add_sum(uint32_t config)
{
	if (!sketches && gw_log_ring())
		sketches = gw_memory_new(GW_MEMORY_log, SKETCHED, sizeof(*sketches));
	if (sketches && count < SKETCHED)
		sketches[count] = (struct sketches){0};
	full |= gw_log_ring() && count + 1 >= SKETCHED;
	sums[count] = (struct sum){.record = {.config = config, .min_ns = UINT64_MAX}};
	gw_live_sum(place_of(&sums[count]), config, begin_wall_ns);
	return &sums[count++];
}

static struct sum *sum_of(uint32_t config)
{
	const uint32_t at = place && config < GW_CONFIGS_MAX ? place[config] : 0;

	if (at && at < count && sums[at].record.config == config &&
	    sums[at].record.launches < LAUNCHES_MAX)
		return &sums[at];
	if (!sums)
		sums = gw_memory_new(GW_MEMORY_log, SUMS_MAX, sizeof(*sums));
	if (!sums)
		return NULL;
	if (!count)
		add_sum(0);
	if (!place)
		place = gw_memory_new(GW_MEMORY_log, GW_CONFIGS_MAX, sizeof(*place));
	if (!place || count == SUMS_MAX || config >= GW_CONFIGS_MAX)
		return sums;
	place[config] = count;
	return add_sum(config);
}

/* Those of @p sum; NULL: it has none. */
static struct sketches *sketches_of(const struct sum *sum)
{
	return sketches && sum - sums < SKETCHED ? &sketches[sum - sums] : NULL;
}

static void add_ratio(struct sum *sum, struct sketches *k, float ratio)
{
	struct gw_record_aggregate *s = &sum->record;

	s->ratio_min = s->scored ? fminf(s->ratio_min, ratio) : ratio;
	s->ratio_max = s->scored ? fmaxf(s->ratio_max, ratio) : ratio;
	sum->ratio_sum += ratio;
	if (k)
		gw_sketch_add(&k->ratio, ratio, 1);
}

void gw_aggregate_add(const struct gw_record_launch *r)
{
	struct sum *sum = sum_of(r->config);
	struct gw_record_aggregate *s;
	struct sketches *k;

	gw_count(GW_COUNTER_aggregated, 1);
	if (!sum) {
		gw_count(GW_COUNTER_table_full, 1);
		gw_live_summed(UINT32_MAX, r);
		return;
	}
	s = &sum->record;
	k = sketches_of(sum);
	gw_live_summed(place_of(sum), r);
	s->launches++;
	if (!(r->flags & GW_LAUNCH_MEASURED))
		return;
	s->measured++;
	s->total_ns += r->duration_ns;
	s->min_ns = r->duration_ns < s->min_ns ? r->duration_ns : s->min_ns;
	s->max_ns = r->duration_ns > s->max_ns ? r->duration_ns : s->max_ns;
	if (k)
		gw_sketch_add(&k->time, (double)r->duration_ns, 1);
	if (isfinite(r->predicted) && r->duration_ns) {
		float t = (float)r->duration_ns;

		if (r->predicted > 0)
			add_ratio(sum, k, t / r->predicted);
		s->scored++;
		sum->error_sum += fabsf(r->predicted - t) / t;
		s->covered += t >= r->low && t <= r->high;
	}
}

static void begin(uint64_t now_ns)
{
	begin_ns = now_ns;
	begin_wall_ns = gw_wall_ns();
}

static void write(const struct sum *sum, const struct sketches *k)
{
	struct gw_record_aggregate r = sum->record;
	unsigned char tail[2 * GW_HISTOGRAM_MOST];

	if (!r.launches)
		return;
	r.start_ns = begin_wall_ns;
	r.end_ns = gw_wall_ns();
	r.error_sum = (float)sum->error_sum;
	r.ratio_sum = (float)sum->ratio_sum;
	if (!r.measured)
		r.min_ns = 0;
	if (k && r.measured) {
		r.histograms = (uint32_t)gw_histogram_pack(&k->time, tail);
		r.histograms += (uint32_t)gw_histogram_pack(&k->ratio, tail + r.histograms);
	}
	gw_log_write(GW_RECORD_AGGREGATE, &r, sizeof(r), r.histograms ? tail : NULL, r.histograms);
}

static void merge(struct sum *into, const struct sum *sum)
{
	const struct gw_record_aggregate *from = &sum->record;
	struct gw_record_aggregate *to = &into->record;

	if (from->scored) {
		to->ratio_min =
		        to->scored ? fminf(to->ratio_min, from->ratio_min) : from->ratio_min;
		to->ratio_max =
		        to->scored ? fmaxf(to->ratio_max, from->ratio_max) : from->ratio_max;
	}
	into->ratio_sum += sum->ratio_sum;
	to->launches += from->launches;
	to->measured += from->measured;
	to->scored += from->scored;
	to->covered += from->covered;
	to->total_ns += from->total_ns;
	to->min_ns = from->min_ns < to->min_ns ? from->min_ns : to->min_ns;
	to->max_ns = from->max_ns > to->max_ns ? from->max_ns : to->max_ns;
	into->error_sum += sum->error_sum;
}

/* Sums by the time they stand for, the longest first. */
static int by_time(const void *a, const void *b)
{
	const struct sum *x = &sums[*(const uint32_t *)a], *y = &sums[*(const uint32_t *)b];

	if (x->record.total_ns != y->record.total_ns)
		return x->record.total_ns < y->record.total_ns ? 1 : -1;
	return x->record.launches < y->record.launches   ? 1
	       : x->record.launches > y->record.launches ? -1
	                                                 : 0;
}

/* What has no room, or no name in the file, is in the sums of all others, each full or the last. */
static void write_others(const struct sum *sum, struct sum *others, size_t *left)
{
	if (others->record.launches > LAUNCHES_MAX && *left >= 2 * sizeof(sum->record)) {
		write(others, NULL);
		*left -= sizeof(sum->record);
		*others = (struct sum){.record = {.min_ns = UINT64_MAX}};
	}
	merge(others, sum);
}

void gw_aggregate_copy(void)
{
	static uint32_t order[SUMS_MAX];
	struct sum others = {.record = {.min_ns = UINT64_MAX}};
	size_t left = 0;

	if (!count || gw_log_sums_fit(0) || !gw_log_copy_begin(&left))
		return;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort(order, count, sizeof(*order), by_time);
	for (uint32_t i = 0; i < count; i++) {
		const struct sum *s = &sums[order[i]];

		/* The others need a place, and may need more. */
		if (s->record.config && gw_log_names(s->record.config) &&
		    left >= 16 * sizeof(s->record)) {
			write(s, NULL);
			left -= sizeof(s->record);
		} else {
			write_others(s, &others, &left);
		}
	}
	write(&others, NULL);
	gw_log_copy_end();
}

/* A span ends after ten seconds, or later the longer there have been any: a month has some 600. */
static bool span_over(uint64_t now_ns)
{
	uint64_t span = gw_log_ring() ? 0 : (begin_ns - first_ns) / SPANS;

	if (gw_sheds(GW_SHED_SUMS) && span < GW_SHED_SPAN_OF * SPAN_NS)
		span = GW_SHED_SPAN_OF * SPAN_NS;
	return full || now_ns - begin_ns >= (span > SPAN_NS ? span : SPAN_NS);
}

bool gw_aggregate_tick(uint64_t now_ns, bool last)
{
	static uint64_t copied_ns;

	if (!first_ns) {
		first_ns = copied_ns = now_ns;
		begin(now_ns);
	}
	if (!last && !span_over(now_ns))
		return false;
	if (gw_log_sums_fit(count * (sizeof(sums->record) + 1))) {
		for (uint32_t i = 0; i < count; i++) {
			write(&sums[i], sketches_of(&sums[i]));
			gw_live_sum_logged(place_of(&sums[i]), gw_log_block());
		}
		forget();
		half ^= 1;
		begin(now_ns);
	} else if (last || now_ns - copied_ns >= SPAN_NS) {
		gw_aggregate_copy();
		copied_ns = now_ns;
	}
	return true;
}
