#include "cli/html/series.h"

#include "cli/common/memory.h"
#include "cli/log/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NARROWEST = 10 }; /* shift of the first bins: a microsecond */

/* From an axis to another: bin `from + i` becomes bin (from + i) >> wider, counted from `to`. */
struct move {
	uint64_t from, to;
	unsigned wider;
};

static size_t moved(const struct move *m, size_t i)
{
	return (size_t)(((m->from + i) >> m->wider) - m->to);
}

static void move_bins(struct html_bin *bins, const struct move *m)
{
	struct html_bin *old = gw_alloc(HTML_BINS * sizeof(*old));

	memcpy(old, bins, HTML_BINS * sizeof(*old));
	memset(bins, 0, HTML_BINS * sizeof(*bins));
	for (size_t i = 0; i < HTML_BINS; i++)
		for (unsigned s = 0; s < HTML_STATES; s++)
			if (old[i].ns[s] > 0)
				bins[moved(m, i)].ns[s] += old[i].ns[s];
	free(old);
}

static void add_point(struct html_point *to, const struct html_point *p)
{
	if (!p->count)
		return;
	to->low = to->count && to->low < p->low ? to->low : p->low;
	to->high = to->count && to->high > p->high ? to->high : p->high;
	to->count += p->count;
	to->sum += p->sum;
}

static void move_points(struct html_point *points, const struct move *m)
{
	struct html_point *old = gw_alloc(HTML_POINTS * sizeof(*old));

	memcpy(old, points, HTML_POINTS * sizeof(*old));
	memset(points, 0, HTML_POINTS * sizeof(*points));
	for (size_t i = 0; i < HTML_POINTS; i++)
		if (old[i].count)
			add_point(&points[moved(m, i)], &old[i]);
	free(old);
}

static bool sampled(const struct html_sample *s)
{
	return s->sm || s->mem || s->warm || s->power || s->reasons;
}

static void add_sample(struct html_sample *to, const struct html_sample *s)
{
	to->sm_khz += s->sm_khz;
	to->mem_khz += s->mem_khz;
	to->temperature += s->temperature;
	to->power_mw += s->power_mw;
	to->sm += s->sm;
	to->mem += s->mem;
	to->warm += s->warm;
	to->power += s->power;
	to->reasons |= s->reasons;
}

static void move_samples(struct html_sample *samples, const struct move *m)
{
	struct html_sample *old = gw_alloc(HTML_POINTS * sizeof(*old));

	memcpy(old, samples, HTML_POINTS * sizeof(*old));
	memset(samples, 0, HTML_POINTS * sizeof(*samples));
	for (size_t i = 0; i < HTML_POINTS; i++)
		if (sampled(&old[i]))
			add_sample(&samples[moved(m, i)], &old[i]);
	free(old);
}

static uint64_t aligned(uint64_t bin)
{
	return bin / HTML_COARSE * HTML_COARSE;
}

/* Make bins twice as wide (@p wider 1) or as wide as they are, from @p base on. */
static void move_all(struct html_series *s, uint64_t base, unsigned wider)
{
	struct move bins = {s->base, base, wider};
	struct move points = {s->base / HTML_COARSE, base / HTML_COARSE, wider};

	for (size_t i = 0; i < s->gpu_count; i++) {
		if (s->gpus[i].bins)
			move_bins(s->gpus[i].bins, &bins);
		if (s->gpus[i].samples)
			move_samples(s->gpus[i].samples, &points);
	}
	for (size_t i = 0; i < s->row_count; i++)
		if (s->points[i])
			move_points(s->points[i], &points);
	s->base = base;
	s->shift += wider;
	s->first >>= wider;
	s->last >>= wider;
}

/* Make the axis reach @p ns. Returns its bin, from 0. */
static size_t reach(struct html_series *s, uint64_t ns)
{
	uint64_t bin = ns >> s->shift, low, high;

	if (!s->used) {
		s->used = true;
		s->first = s->last = bin;
		s->base = aligned(bin);
	}
	while (low = bin < s->first ? bin : s->first, high = bin > s->last ? bin : s->last,
	       high - aligned(low) >= HTML_BINS) {
		move_all(s, aligned(s->first >> 1), 1);
		bin = ns >> s->shift;
	}
	if (low < s->base || high - s->base >= HTML_BINS)
		move_all(s, aligned(low), 0);
	s->first = low;
	s->last = high;
	return (size_t)(bin - s->base);
}

static struct html_gpu *gpu_of(struct html_series *s, uint32_t gpu)
{
	if (gpu >= s->gpu_count) {
		GW_GROW(s->gpus, &s->gpu_room, gpu + 1u);
		s->gpu_count = gpu + 1u;
	}
	return &s->gpus[gpu];
}

static void take_span(void *arg, uint32_t gpu, enum gw_gap what, uint64_t from, uint64_t until)
{
	struct html_series *s = arg;
	struct html_gpu *g = gpu_of(s, gpu);
	size_t last;

	if (!g->bins)
		g->bins = gw_alloc(HTML_BINS * sizeof(*g->bins));
	reach(s, from);
	last = reach(s, until);
	for (size_t bin = reach(s, from); bin <= last; bin++) {
		uint64_t end = (s->base + bin + 1) << s->shift;
		uint64_t stop = bin == last ? until : end;

		g->bins[bin].ns[what] += (double)(stop - from);
		from = stop;
	}
}

static struct html_point *points_of(struct html_series *s, uint32_t row)
{
	if (row >= s->row_count) {
		GW_GROW(s->points, &s->row_room, row + 1u);
		s->row_count = row + 1u;
	}
	if (!s->points[row] && s->tracked < HTML_TRACKED) {
		s->points[row] = gw_alloc(HTML_POINTS * sizeof(**s->points));
		s->tracked++;
	}
	return s->points[row];
}

static void take_basis(struct html_series *s, const struct gw_record_launch *l, enum gw_tier tier)
{
	unsigned source = l->work <= GW_SOURCE_COUNTED ? l->work : GW_SOURCE_NONE;

	if (!isfinite(l->predicted))
		return;
	gw_row_sum(&s->tiers[tier], l, tier);
	gw_row_sum(&s->sources[source], l, tier);
}

static void take_launch(void *arg, uint32_t row, uint32_t gpu, const struct gw_record_launch *l,
			enum gw_tier tier)
{
	struct html_series *s = arg;
	struct html_point *points;
	float time = (float)l->duration_ns;

	(void)gpu;
	if (!gw_launch_measured(l))
		return;
	take_basis(s, l, tier);
	if (!l->start_ns)
		return;
	points = points_of(s, row);
	if (points)
		add_point(&points[reach(s, l->start_ns) / HTML_COARSE],
			  &(struct html_point){(double)l->duration_ns, 1, time, time});
}

static void take_clock(void *arg, uint32_t gpu, const struct gw_record_clock *c)
{
	struct html_series *s = arg;
	struct html_gpu *g = gpu_of(s, gpu);
	bool warm = c->temperature != UINT32_MAX, power = c->power_mw != UINT32_MAX;
	struct html_sample sample = {
		.sm_khz = c->sm_khz,
		.sm = c->sm_khz != 0,
		.mem_khz = c->mem_khz,
		.mem = c->mem_khz != 0,
		.temperature = warm ? c->temperature : 0,
		.warm = warm,
		.power_mw = power ? c->power_mw : 0,
		.power = power,
		.reasons = c->reasons,
	};

	if (!c->ns)
		return;
	if (!g->samples)
		g->samples = gw_alloc(HTML_POINTS * sizeof(*g->samples));
	add_sample(&g->samples[reach(s, c->ns) / HTML_COARSE], &sample);
}

void html_series_begin(struct html_series *s, struct gw_log_model *model)
{
	*s = (struct html_series){
		.shift = NARROWEST,
		.watch = {.arg = s, .launch = take_launch, .clock = take_clock, .span = take_span},
	};
	for (unsigned t = 0; t <= GW_TIER_STEADY; t++)
		gw_row_clear(&s->tiers[t]);
	for (unsigned w = 0; w <= GW_SOURCE_COUNTED; w++)
		gw_row_clear(&s->sources[w]);
	model->watch = &s->watch;
	model->tallied = true;
}

void html_series_free(struct html_series *s)
{
	for (size_t i = 0; i < s->gpu_count; i++) {
		free(s->gpus[i].bins);
		free(s->gpus[i].samples);
	}
	for (size_t i = 0; i < s->row_count; i++)
		free(s->points[i]);
	for (unsigned t = 0; t <= GW_TIER_STEADY; t++)
		gw_row_free(&s->tiers[t]);
	for (unsigned w = 0; w <= GW_SOURCE_COUNTED; w++)
		gw_row_free(&s->sources[w]);
	free(s->gpus);
	free(s->points);
}

const struct html_point *html_series_points(const struct html_series *s, size_t row)
{
	return row < s->row_count ? s->points[row] : NULL;
}
