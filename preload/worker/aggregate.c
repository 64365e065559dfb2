/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/worker/aggregate.h"

#include "preload/runtime/clock.h"
#include "preload/runtime/degrade.h"
#include "preload/maps/idmap.h"
#include "preload/live/log.h"
#include "preload/runtime/options.h"
#include "preload/maps/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	SUMS_MAX = 1 << 14, /* configurations summed apart; place 0 has all others */
	SPANS = 64,         /* a span is this part of the time since the first */
};
static const uint64_t SPAN_NS = UINT64_C(10000000000);
/* A record has 32 bits for it: then the sum goes on in another. */
static const uint32_t LAUNCHES_MAX = UINT32_MAX / 2;

static struct sum {
	struct gw_record_aggregate record;
	double error_sum; /* a float would stop growing */
} * sums;
static uint32_t count;
static struct gw_idmap map;         /* config -> index + 1 */
static uint64_t begin_ns, first_ns, /* of the span, and of all, by the steady clock … */
        begin_wall_ns;              /* … and as the log keeps it */

static void forget(void)
{
	count = 0;
	gw_idmap_clear(&map);
}

void gw_aggregate_start(void)
{
	/* A forked child begins with the parent's: left behind. */
	count = 0;
	map = (struct gw_idmap){.use = GW_MEMORY_log};
	sums = NULL;
	begin_ns = first_ns = 0;
}

static struct sum *add_sum(uint32_t config)
{
	sums[count] = (struct sum){.record = {.config = config, .min_ns = UINT64_MAX}};
	return &sums[count++];
}

static struct sum *sum_of(uint32_t config)
{
	uint64_t key = gw_idmap_key(config, 11);
	uint32_t at = gw_idmap_get(&map, key);

	if (at && sums[at - 1].record.launches < LAUNCHES_MAX)
		return &sums[at - 1];
	if (!sums)
		sums = gw_memory_new(GW_MEMORY_log, SUMS_MAX, sizeof(*sums));
	if (!sums)
		return NULL;
	if (!count)
		add_sum(0);
	if (count == SUMS_MAX)
		return sums;
	if (!gw_idmap_put(&map, key, count + 1))
		return sums;
	return add_sum(config);
}

void gw_aggregate_add(const struct gw_record_launch *r)
{
	struct sum *sum = sum_of(r->config);
	struct gw_record_aggregate *s;

	gw_degrade(GW_DEGRADED_LOG_FULL,
	           "the log has reached GPUWATCH_LOG_MAX (%llu bytes): from "
	           "there on it holds sums",
	           (unsigned long long)gw_options.log_max);
	gw_count(GW_COUNTER_aggregated, 1);
	if (!sum) {
		gw_count(GW_COUNTER_table_full, 1);
		return;
	}
	s = &sum->record;
	s->launches++;
	if (!(r->flags & GW_LAUNCH_MEASURED))
		return;
	s->measured++;
	s->total_ns += r->duration_ns;
	s->min_ns = r->duration_ns < s->min_ns ? r->duration_ns : s->min_ns;
	s->max_ns = r->duration_ns > s->max_ns ? r->duration_ns : s->max_ns;
	if (isfinite(r->predicted) && r->duration_ns) {
		float t = (float)r->duration_ns;

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

static void write(const struct sum *sum)
{
	struct gw_record_aggregate r = sum->record;

	if (!r.launches)
		return;
	r.start_ns = begin_wall_ns;
	r.error_sum = (float)sum->error_sum;
	if (!r.measured)
		r.min_ns = 0;
	gw_log_write(GW_RECORD_AGGREGATE, &r, sizeof(r), NULL, 0);
}

static void merge(struct sum *into, const struct sum *sum)
{
	const struct gw_record_aggregate *from = &sum->record;
	struct gw_record_aggregate *to = &into->record;

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
		write(others);
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
			write(s);
			left -= sizeof(s->record);
		} else {
			write_others(s, &others, &left);
		}
	}
	write(&others);
	gw_log_copy_end();
}

/* A span ends after ten seconds, or later the longer there have been any: a month has some 600. */
static bool span_over(uint64_t now_ns)
{
	uint64_t span = (begin_ns - first_ns) / SPANS;

	return now_ns - begin_ns >= (span > SPAN_NS ? span : SPAN_NS);
}

void gw_aggregate_tick(uint64_t now_ns, bool last)
{
	static uint64_t copied_ns;

	if (!first_ns) {
		first_ns = copied_ns = now_ns;
		begin(now_ns);
	}
	if (!last && !span_over(now_ns))
		return;
	if (gw_log_sums_fit(count * (sizeof(sums->record) + 1))) {
		for (uint32_t i = 0; i < count; i++)
			write(&sums[i]);
		forget();
		begin(now_ns);
	} else if (last || now_ns - copied_ns >= SPAN_NS) {
		gw_aggregate_copy();
		copied_ns = now_ns;
	}
}
