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

/* What is once a span or a round is small before fast. */
#define GW_COLD __attribute__((cold))

enum {
	SUMS_MAX = 1 << 14, /* configurations summed apart; place 0 has all others … */
	OTHERS = 64,        /* … and where it was full, it goes on there, in so many */
	GRAPHS = 256,       /* graphs whose launches are summed whole … */
	PARTS = 768,        /* … and their configurations, each of a graph */
	PLACES = GW_LIVE_SUMS / 2 - GRAPHS - PARTS,
	SPANS = 64,     /* a span is this part of the time since the first … */
	SPANS_RING = 8, /* … and in a ring this, a minute at most */
	/* Sums that may have histograms. A span ends when there are so many: no more outlive a
	   kill. */
	SKETCHED = PLACES,
};
static const uint64_t SPAN_NS = GW_SPAN_S * UINT64_C(1000000000),
		      LONG_NS = 6 * GW_SPAN_S * UINT64_C(1000000000);
/* A record has 32 bits for it: then the sum goes on in another. */
static const uint32_t LAUNCHES_MAX = UINT32_MAX / 2;

static struct sum {
	struct gw_record_aggregate record;
	double error_sum, ratio_sum; /* a float would stop growing */
	uint32_t part;               /* the latest of its parts, from 1 */
} * sums, without_memory[1 + OTHERS];
static uint32_t most; /* of them there is room for: without memory for those of all others alone */
/* A graph's launches in this span. */
static struct graph {
	uint32_t slot, launches;
	uint32_t folded, shown; /* of these: those that are in sums; that were shown */
	uint32_t first, parts;  /* parts: 0: there is no room for them */
} * graphs;
static struct part {
	uint32_t graph, config, each; /* kernels of this configuration in a launch */
	uint32_t sum, before;         /* the part of that sum before this one, from 1 */
} * parts;
static uint32_t graph_count, part_count;
static uint32_t *graph_at; /* [GW_GRAPHS_MAX]: the graph in a slot, from 1 */
static struct sketches {
	struct gw_sketch time, ratio;
} * sketches; /* of the first SKETCHED sums, while the log is a ring */
static uint32_t count;
static uint32_t half;   /* of the places of the live segment that this span has, 0 or 1 */
static bool full;       /* so many that the span is to end */
static bool news;       /* in a ring the span is to be a short one */
static uint32_t *place; /* [GW_CONFIGS_MAX]: the sum of each, where that is the one there */
static uint64_t begin_ns, first_ns, /* of the span, and of all, by the steady clock … */
	begin_wall_ns;              /* … and as the log keeps it */

static void forget(void)
{
	for (uint32_t i = 0; i < graph_count; i++)
		gw_aggregate_graph_gone(graphs[i].slot);
	graph_count = part_count = count = 0;
	full = false;
}

void gw_aggregate_start(void)
{
	/* A forked child begins with the parent's: left behind. */
	count = most = 0;
	sums = NULL;
	place = NULL;
	sketches = NULL;
	graphs = NULL;
	parts = NULL;
	graph_at = NULL;
	graph_count = part_count = 0;
	full = false;
	begin_ns = first_ns = 0;
}

/* In the live segment; UINT32_MAX: none. */
static uint32_t place_of(const struct sum *sum)
{
	return sum - sums < PLACES ? half * (GW_LIVE_SUMS / 2) + (uint32_t)(sum - sums)
				   : UINT32_MAX;
}

GW_COLD static struct sum *add_sum(uint32_t config)
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

/* The sum of all others: what it has when it is full is kept behind the sums. */
static struct sum *others(void)
{
	if (sums->record.launches >= LAUNCHES_MAX && count < most) {
		sums[count++] = *sums;
		*sums = (struct sum){.record = {.min_ns = UINT64_MAX}, .part = sums->part};
	}
	return sums;
}

/* A span begins: with memory for the sums where there is some by now. */
static void have_sums(void)
{
	if (most < SUMS_MAX) {
		sums = gw_memory_new(GW_MEMORY_log, SUMS_MAX, sizeof(*sums));
		most = sums ? SUMS_MAX : 1 + OTHERS;
		sums = sums ? sums : without_memory;
	}
	add_sum(0);
}

static struct sum *sum_of(uint32_t config)
{
	const uint32_t at = place && config < GW_CONFIGS_MAX ? place[config] : 0;

	if (at && at < count && sums[at].record.config == config &&
	    sums[at].record.launches < LAUNCHES_MAX)
		return &sums[at];
	if (!count)
		have_sums();
	if (!place)
		place = gw_memory_new(GW_MEMORY_log, GW_CONFIGS_MAX, sizeof(*place));
	if (!place || count >= most - OTHERS || config >= GW_CONFIGS_MAX)
		return others();
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

	gw_bump(&gw_counters[GW_COUNTER_aggregated], 1);
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

/* ---- graphs whose launches are added whole ---- */

/* In the live segment, behind those of sums: graphs' first, then those of parts. */
static uint32_t place_behind(uint32_t number)
{
	return half * (GW_LIVE_SUMS / 2) + PLACES + number;
}

static bool have_graphs(void)
{
	if (!graphs)
		graphs = gw_memory_new(GW_MEMORY_log, GRAPHS, sizeof(*graphs));
	if (!parts)
		parts = gw_memory_new(GW_MEMORY_log, PARTS, sizeof(*parts));
	if (!graph_at)
		graph_at = gw_memory_new(GW_MEMORY_log, GW_GRAPHS_MAX, sizeof(*graph_at));
	return graphs && parts && graph_at;
}

/* A kernel of graph @p number; false: no room. */
static bool add_part(uint32_t number, uint32_t config)
{
	struct sum *sum;
	struct part *p;

	if (!config)
		return false;
	sum = sum_of(config);
	p = sum->part ? &parts[sum->part - 1] : NULL;
	if (p && p->graph == number) {
		p->each++;
		return true;
	}
	if (part_count == PARTS)
		return false;
	parts[part_count] = (struct part){.graph = number,
					  .config = sum->record.config,
					  .each = 1,
					  .sum = (uint32_t)(sum - sums),
					  .before = sum->part};
	sum->part = ++part_count;
	return true;
}

/* Its launches are what a reader multiplies each part by: all of them change at once. */
static void show_parts(const struct graph *g)
{
	const uint32_t counter = place_behind((uint32_t)(g - graphs));

	gw_live_sum_counter(counter, begin_wall_ns);
	for (uint32_t i = g->first; i < g->first + g->parts; i++)
		gw_live_sum_part(place_behind(GRAPHS + i), parts[i].config, begin_wall_ns,
				 parts[i].each, counter);
}

GW_COLD static void add_graph(uint32_t slot)
{
	const struct gw_graph_slot *as = &gw_hot.shared->graph_slots[slot];
	struct graph *g = &graphs[graph_count];
	bool room = true;

	*g = (struct graph){.slot = slot, .first = part_count};
	for (uint32_t i = 0; room && i < as->count; i++)
		room = !as->nodes[i].enabled || add_part(graph_count, as->nodes[i].config_id);
	while (!room && part_count > g->first) {
		part_count--;
		sums[parts[part_count].sum].part = parts[part_count].before;
	}
	g->parts = part_count - g->first;
	graph_at[slot] = ++graph_count;
	if (g->parts)
		show_parts(g);
}

static struct graph *graph_of(uint32_t slot)
{
	const uint32_t at = graph_at ? graph_at[slot] : 0;

	return at ? &graphs[at - 1] : NULL;
}

bool gw_aggregate_graph_room(uint32_t slot)
{
	const struct graph *g = graph_of(slot);

	if (!g && have_graphs() && graph_count < GRAPHS) {
		add_graph(slot);
		g = graph_of(slot);
	}
	/* There may be room again in the next span. */
	if (g && g->parts && g->launches < LAUNCHES_MAX)
		return true;
	news = true;
	return false;
}

void gw_aggregate_graph(uint32_t slot, const struct gw_record_launch *r)
{
	struct graph *g = graph_of(slot);

	gw_live_summed(place_behind((uint32_t)(g - graphs)), r);
	g->launches++;
}

void gw_aggregate_graph_gone(uint32_t slot)
{
	if (graph_at)
		graph_at[slot] = 0;
}

GW_COLD void gw_aggregate_graphs(void (*take)(uint32_t config, uint64_t launches))
{
	for (uint32_t i = 0; i < part_count; i++) {
		const struct graph *g = &graphs[parts[i].graph];

		if (parts[i].config && g->launches != g->shown)
			take(parts[i].config, (uint64_t)parts[i].each * (g->launches - g->shown));
	}
	for (uint32_t i = 0; i < graph_count; i++)
		graphs[i].shown = graphs[i].launches;
}

/* What was added whole goes into the sums; the live segment has it apart. */
GW_COLD static void fold(void)
{
	for (uint32_t i = 0; i < part_count; i++) {
		const struct part *p = &parts[i];
		uint64_t more =
			(uint64_t)p->each * (graphs[p->graph].launches - graphs[p->graph].folded);

		gw_count(GW_COUNTER_aggregated, more);
		while (more) {
			const uint32_t some = more < LAUNCHES_MAX ? (uint32_t)more : LAUNCHES_MAX;

			sum_of(p->config)->record.launches += some;
			more -= some;
		}
	}
	for (uint32_t i = 0; i < graph_count; i++)
		graphs[i].folded = graphs[i].launches;
}

static void logged(const struct sum *sum)
{
	gw_live_sum_logged(place_of(sum), gw_log_block());
	for (uint32_t i = sum->part; i; i = parts[i - 1].before)
		gw_live_sum_logged(place_behind(GRAPHS + i - 1), gw_log_block());
}

static void begin(uint64_t now_ns)
{
	begin_ns = now_ns;
	begin_wall_ns = gw_wall_ns();
	news = false;
}

GW_COLD static void write(const struct sum *sum, const struct sketches *k)
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

GW_COLD void gw_aggregate_copy(void)
{
	static uint32_t order[SUMS_MAX];
	struct sum others = {.record = {.min_ns = UINT64_MAX}};
	size_t left = 0;

	fold();
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

/*
 * A span ends after ten seconds, or later the longer there have been any: a month has some 600. In
 * a ring after a minute at most, and after ten seconds where a graph has no room or the log has
 * other news: what changed with them is in a sum of its own.
 */
static bool span_over(uint64_t now_ns)
{
	const bool ring = gw_log_ring();
	uint64_t span = (begin_ns - first_ns) / (ring ? SPANS_RING : SPANS);

	news |= gw_log_urgent();
	if (ring && (news || span > LONG_NS))
		span = news ? 0 : LONG_NS;
	if (gw_sheds(GW_SHED_SUMS) && span < LONG_NS)
		span = LONG_NS;
	return full || now_ns - begin_ns >= (span > SPAN_NS ? span : SPAN_NS);
}

bool gw_aggregate_due(uint64_t now_ns, bool last)
{
	return last || span_over(now_ns);
}

GW_COLD bool gw_aggregate_tick(uint64_t now_ns, bool last)
{
	static uint64_t copied_ns;

	if (!first_ns) {
		first_ns = copied_ns = now_ns;
		begin(now_ns);
	}
	if (!gw_aggregate_due(now_ns, last))
		return false;
	fold();
	if (gw_log_sums_fit(count * (sizeof(sums->record) + 1))) {
		for (uint32_t i = 0; i < count; i++) {
			write(&sums[i], sketches_of(&sums[i]));
			logged(&sums[i]);
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
