#include "predictor/counters/attribute_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = GW_ATTRIBUTE_CONFIGS };

/* By how much the stamps of two kernels that follow each other may cross, ns. */
#define CROSSING 256
/*
 * Share of a window's counts outside known kernels above which the window belongs to another
 * process.
 */
#define FOREIGN_SHARE 0.05
/* After such a window, discard this many without idle time, which could not show it. */
#define SUSPICION 8

/*
 * Weights of equations: 1 / (WHOLE + what launches are cut), where a launch that is cut in two
 * halves counts 1 and one that is whole 0; more where a launch counts more than most do by what is
 * known so far, for then so does the part that is not known; a sample alone has SAMPLE_WEIGHT of
 * that. On recordings of the development set (H200) anything from a third to thrice of either does
 * as well.
 */
#define WHOLE         0.002
#define SAMPLE_WEIGHT 0.1

#define SHORTEST 100 /* ns: shortest time in which a launch counts, whatever its lags */

static const struct {
	uint64_t before, after;
} lags[] = {
#define LAG(before, after) {before, after},
	GW_ATTRIBUTE_LAGS(LAG)
#undef LAG
};

enum {
	PLACED_ERROR = 2000, /* ns that a placed run may be off */
	STRETCH_MOST =
		64,       /* samples that are taken together, if no moment without a kernel comes */
	SPILL = 2,        /* idle samples behind a kernel that are taken with it */
	REACHES_BACK = 4, /* times the shortest sample: it began before the window */
};

/* One equation: a count, and its launches. */
struct row {
	unsigned count;
	unsigned at[N];                  /* slots */
	double share[N];                 /* launches of each */
	double cut[N];                   /* how far launches of each are cut */
	double value[GW_SAMPLE_METRICS]; /* NaN: what others counted in it is not known */
	double known_cut;                /* how far those are cut whose counts were taken off */
};

struct gw_attribution *gw_attribution_new(unsigned metrics, uint32_t guard)
{
	struct gw_attribution *a = calloc(1, sizeof(*a));

	if (a) {
		a->metrics = metrics < GW_SAMPLE_METRICS ? metrics : GW_SAMPLE_METRICS;
		a->guard = guard;
	}
	return a;
}

void gw_attribution_placed(struct gw_attribution *a)
{
	a->placed = true;
}

size_t gw_attribution_bytes(void)
{
	return sizeof(struct gw_attribution) + gw_attribution_solve_bytes();
}

void gw_attribution_free(struct gw_attribution *a)
{
	free(a);
}

/* ---- what ran ---- */

static int by_start(const void *x, const void *y)
{
	const struct gw_interval *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/* Overlapping kernels of different configurations cannot be attributed; drop both. */
static void mark_overlaps(struct gw_attribution *a)
{
	size_t last = 0; /* the latest end so far */

	for (size_t i = 0; i < a->run_count; i++) {
		struct gw_interval *r = &a->runs[i], *before = &a->runs[last];
		uint64_t length = r->end > r->start ? r->end - r->start : 0;

		if (length > a->longest)
			a->longest = length;
		if (i && r->start + CROSSING < before->end && r->config != before->config)
			r->config = before->config = 0;
		if (r->end > before->end)
			last = i;
	}
}

/* The first run that may reach past @p from. */
static size_t first_run(const struct gw_attribution *a, uint64_t from)
{
	uint64_t earliest = from > a->longest ? from - a->longest : 0;
	size_t low = 0, high = a->run_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (a->runs[middle].start < earliest)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The part of a run's time that lies between two times, 0 to 1. */
static double share_of(const struct gw_interval *r, uint64_t begin, uint64_t end)
{
	uint64_t from = r->start > begin ? r->start : begin;
	uint64_t to = r->end < end ? r->end : end;

	return to > from ? (double)(to - from) / (double)(r->end - r->start) : 0;
}

/* What runs may be off. */
static uint64_t off_by(const struct gw_attribution *a)
{
	return a->placed ? PLACED_ERROR : 0;
}

/* Where it may have run: a moment near an end of a placed run may cut it. */
static struct gw_interval possible(const struct gw_attribution *a, const struct gw_interval *r)
{
	return (struct gw_interval){r->start - off_by(a), r->end + off_by(a), r->config};
}

/* The part of its time in which it counts, with the lag at hand. */
static struct gw_interval counting(const struct gw_attribution *a, const struct gw_interval *r)
{
	uint64_t length = r->end - r->start, before = lags[a->lag].before,
		 after = lags[a->lag].after;
	struct gw_interval c = *r;

	c.start += 2 * before < length ? before : length / 2;
	c.end = r->end > c.start + after + SHORTEST ? r->end - after : c.start + SHORTEST;
	c.end = c.end < r->end ? c.end : r->end;
	return c;
}

/* ---- equations ---- */

enum touched { NOTHING, KERNELS, UNTELLABLE };

/* How far a launch is cut of which @p share belongs to an equation: 0 not at all, 1 in halves. */
static double cut_of(double share)
{
	return 4 * share * (1 - share);
}

static void row_add(struct row *row, unsigned slot, double share, double cut)
{
	unsigned i = 0;

	while (i < row->count && row->at[i] != slot)
		i++;
	if (i == row->count) {
		row->at[row->count] = slot;
		row->cut[row->count] = 0;
		row->share[row->count++] = 0;
	}
	row->share[i] += share;
	row->cut[i] += cut;
}

static void note_rates(struct gw_attribution *a, const struct gw_sample *s)
{
	for (unsigned m = 0; m < a->metrics; m++)
		a->peak[m] = fmax(a->peak[m], s->value[m] / (double)(s->end - s->begin));
}

/* Whose time it is from sample @p s to before @p end. */
static enum touched row_of(struct gw_attribution *a, const struct gw_sample *s,
			   const struct gw_sample *end, struct row *row)
{
	uint64_t from = s->begin, to = end[-1].end;
	enum touched what = NOTHING;

	row->count = 0;
	row->known_cut = 0;
	memcpy(row->value, s->value, sizeof(row->value));
	while (++s < end)
		for (unsigned m = 0; m < a->metrics; m++)
			row->value[m] += s->value[m];
	for (size_t i = first_run(a, from); i < a->run_count && a->runs[i].start < to; i++) {
		const struct gw_interval *r = &a->runs[i], counts = counting(a, r),
					 may = possible(a, r);
		double share = share_of(&counts, from, to), cut;
		const struct gw_attribution_ran *ran;

		if (share_of(r, from, to) <= 0)
			continue;
		/*
		 * A launch inside the record's stretch is whole with any lag; otherwise the least
		 * certain lag counts.
		 */
		cut = fmax(cut_of(share), cut_of(share_of(&may, from, to)));
		ran = r->config ? gw_attribution_ran_of(a, r->config) : NULL;
		if (!ran || ran->place == GW_ATTRIBUTE_NOWHERE)
			return UNTELLABLE;
		what = KERNELS;
		if (ran->place < N) {
			row_add(row, ran->place, share, cut);
			continue;
		}
		row->known_cut += cut;
		for (unsigned m = 0; m < a->metrics; m++)
			row->value[m] -= share * a->known[ran->place - N].value[m];
	}
	return what;
}

/*
 * The group of the window at hand. Groups are stretches of time, so that what changes with time
 * shows as a spread between them; but the first windows are dealt out, as there is no other spread
 * yet.
 */
static unsigned group_of(const struct gw_attribution *a)
{
	unsigned w = a->windows - 1;

	return (w < GW_ATTRIBUTE_GROUP_WINDOWS ? w : w / GW_ATTRIBUTE_GROUP_WINDOWS) %
	       GW_ATTRIBUTE_GROUPS;
}

static void group_clear(const struct gw_attribution *a, struct gw_attribution_group *g)
{
	for (unsigned m = 0; m < a->metrics; m++) { /* memory of others was never touched */
		memset(g->gram[m], 0, sizeof(g->gram[m]));
		memset(g->rhs[m], 0, sizeof(g->rhs[m]));
		memset(g->beside[m], 0, sizeof(g->beside[m]));
		g->square[m] = 0;
	}
	memset(g->rows, 0, sizeof(g->rows));
	memset(g->launches, 0, sizeof(g->launches));
	memset(g->touched, 0, sizeof(g->touched));
	g->total_rows = 0;
}

/* As much is forgotten of it as of the groups. */
static void fade(const struct gw_attribution *a, struct gw_attribution_group *g)
{
	const double kept = 1 - 1.0 / GW_ATTRIBUTE_GROUPS;

	for (unsigned m = 0; m < a->metrics; m++) {
		for (unsigned i = 0; i < a->slots; i++) {
			for (unsigned j = 0; j <= i; j++)
				g->gram[m][gw_attribution_pair(i, j)] *= kept;
			g->rhs[m][i] *= kept;
		}
		g->square[m] *= kept;
	}
}

/* A window starts: where its group restarts, the group's old windows are dropped. */
static void group_begin(struct gw_attribution *a)
{
	unsigned w = a->windows++;

	if (w < GW_ATTRIBUTE_GROUP_WINDOWS || w % GW_ATTRIBUTE_GROUP_WINDOWS)
		return;
	for (unsigned l = 0; l < GW_ATTRIBUTE_LAG_COUNT; l++) {
		group_clear(a, &a->group[l][group_of(a)]);
		fade(a, &a->group[l][GW_ATTRIBUTE_PLAIN]);
	}
}

static double weight_of(const struct gw_attribution *a, const struct row *row, unsigned m)
{
	double cut = row->known_cut;

	for (unsigned i = 0; i < row->count; i++)
		cut += row->cut[i] * a->slot[row->at[i]].cost[m];
	return 1 / (WHOLE + cut);
}

/* @p importance: of a row that cuts no launch; 0: all rows equal. */
static void row_take(struct gw_attribution *a, struct gw_attribution_group *g,
		     const struct row *row, double importance)
{
	for (unsigned m = 0; m < a->metrics; m++) {
		double weight = importance > 0 ? importance * weight_of(a, row, m) : 1;
		const double value = row->value[m];

		if (isnan(value))
			continue;
		for (unsigned i = 0; i < row->count; i++) {
			double share = weight * row->share[i];

			for (unsigned j = 0; j <= i; j++)
				g->gram[m][gw_attribution_pair(row->at[i], row->at[j])] +=
					share * row->share[j];
			g->rhs[m][row->at[i]] += share * value;
		}
		g->square[m] += weight * value * value;
	}
	for (unsigned i = 0; i < row->count; i++)
		g->rows[row->at[i]]++;
	g->total_rows++;
}

/* A sample alone. */
static void sample_take(struct gw_attribution *a, const struct gw_sample *s, const struct row *row)
{
	struct gw_attribution_group *g = &a->group[a->lag][group_of(a)];

	note_rates(a, s);
	if (!row->count)
		return;
	row_take(a, g, row, SAMPLE_WEIGHT);
	row_take(a, &a->group[a->lag][GW_ATTRIBUTE_PLAIN], row, 0);
	for (unsigned i = 0; i < row->count; i++) {
		g->touched[row->at[i]] += row->share[i] * row->share[i];
		for (unsigned m = 0; m < a->metrics; m++)
			g->beside[m][row->at[i]] += row->share[i] * s->value[m];
		g->launches[row->at[i]] += row->share[i];
	}
}

/* How far launches are cut at time @p t. */
static double cut_at(const struct gw_attribution *a, uint64_t t)
{
	const uint64_t off = off_by(a);
	double cut = 0;

	for (size_t i = first_run(a, t - off); i < a->run_count && a->runs[i].start < t + off;
	     i++) {
		const struct gw_interval may = possible(a, &a->runs[i]);

		cut += cut_of(share_of(&may, 0, t));
	}
	return cut;
}

static bool idle(const struct gw_attribution *a, const struct gw_sample *s)
{
	for (size_t i = first_run(a, s->begin); i < a->run_count && a->runs[i].start < s->end; i++)
		if (share_of(&a->runs[i], s->begin, s->end) > 0)
			return false;
	return true;
}

/*
 * The end of the stretch that begins with @p s: the first moment at which nothing runs; where that
 * is far, the one that cuts least.
 */
static const struct gw_sample *stretch_end(const struct gw_attribution *a,
					   const struct gw_sample *s, const struct gw_sample *end)
{
	const struct gw_sample *best = s + 1;
	double least = INFINITY;

	for (const struct gw_sample *at = s + 1; at <= end && at - s <= STRETCH_MOST; at++) {
		double cut = cut_at(a, at[-1].end);

		if (cut <= 0) {
			for (int i = 0; i < SPILL && at < end && idle(a, at); i++)
				at++;
			return at;
		}
		if (at - s > STRETCH_MOST / 4 && cut < least) {
			least = cut;
			best = at;
		}
	}
	return end - s <= STRETCH_MOST ? end : best;
}

/* Complete samples, one after the other. */
static void stretches(struct gw_attribution *a, const struct gw_sample *s,
		      const struct gw_sample *end)
{
	while (s < end) {
		const struct gw_sample *next = stretch_end(a, s, end);
		struct row row;

		if (row_of(a, s, next, &row) == KERNELS && row.count)
			row_take(a, &a->group[a->lag][group_of(a)], &row, 1);
		s = next;
	}
}

static bool finite_sample(const struct gw_attribution *a, const struct gw_sample *s)
{
	for (unsigned m = 0; m < a->metrics; m++)
		if (!isfinite(s->value[m]) || s->value[m] < 0)
			return false;
	return s->end > s->begin;
}

size_t gw_samples_own(const struct gw_sample *samples, size_t count)
{
	uint64_t shortest = UINT64_MAX;
	size_t own = 0;

	for (size_t i = 0; i < count; i++) {
		const struct gw_sample *s = &samples[i];

		if (s->end > s->begin && s->end - s->begin < shortest)
			shortest = s->end - s->begin;
	}
	for (size_t i = 0; i < count; i++) {
		const struct gw_sample *s = &samples[i];

		if (s->end <= s->begin)
			own = i + 2; /* itself and the one that reaches back */
		else if (!i || (s->end - s->begin) / REACHES_BACK > shortest)
			own = own > i + 1 ? own : i + 1;
	}
	return own < count ? own : count;
}

/* Did something count where nothing known ran, or may it have, unseen? */
static bool foreign(struct gw_attribution *a, const struct gw_sample *samples, size_t n)
{
	double all[GW_SAMPLE_METRICS] = {0}, outside[GW_SAMPLE_METRICS] = {0};
	bool idle = false;

	for (size_t i = 0; i < n; i++) {
		const struct gw_sample *s = &samples[i];
		bool inside = false;

		for (size_t k = first_run(a, s->begin);
		     !inside && k < a->run_count && a->runs[k].start < s->end + CROSSING; k++)
			inside = a->runs[k].end + (uint64_t)GW_ATTRIBUTE_CLOCK_ERROR > s->begin;
		idle |= !inside;
		for (unsigned m = 0; m < a->metrics && finite_sample(a, s); m++) {
			all[m] += s->value[m];
			outside[m] += inside ? 0 : s->value[m];
		}
	}
	for (unsigned m = 0; m < a->metrics; m++)
		if (a->guard >> m & 1 && outside[m] > FOREIGN_SHARE * all[m]) {
			a->suspicion = SUSPICION;
			return true;
		}
	if (!a->suspicion)
		return false;
	a->suspicion--;
	return !idle;
}

/* How long the launches of each configuration take. */
static void count_durations(struct gw_attribution *a, uint64_t begin, uint64_t end)
{
	for (size_t i = 0; i < a->run_count; i++) {
		const struct gw_interval *r = &a->runs[i];
		const struct gw_attribution_ran *ran =
			r->config ? gw_attribution_ran_of(a, r->config) : NULL;
		double share = share_of(r, begin, end);

		if (ran && ran->place < N) {
			a->slot[ran->place].nanoseconds += share * (double)(r->end - r->start);
			a->slot[ran->place].seen += share;
		}
	}
}

/* The window's samples, with the lag at hand; true where a kernel was in them. */
static bool take_in(struct gw_attribution *a, const struct gw_sample *from,
		    const struct gw_sample *end)
{
	const struct gw_sample *first = from;
	struct row row;
	bool used = false;

	for (const struct gw_sample *s = from; s < end; s++) {
		enum touched what = finite_sample(a, s) ? row_of(a, s, s + 1, &row) : UNTELLABLE;

		/* What was lost is not known. */
		if (what == UNTELLABLE || (s > first && s->begin != s[-1].end)) {
			stretches(a, from, s);
			from = what == UNTELLABLE ? s + 1 : s;
		}
		if (what != UNTELLABLE)
			sample_take(a, s, &row);
		used |= what == KERNELS;
	}
	stretches(a, from, end);
	return used;
}

enum gw_window_fate gw_attribution_window(struct gw_attribution *a, const struct gw_sample *samples,
					  size_t sample_count, struct gw_interval *runs,
					  size_t run_count)
{
	size_t own = gw_samples_own(samples, sample_count);
	const struct gw_sample *from = samples + own, *end = samples + sample_count;
	bool used = false;

	if (from == end)
		return GW_WINDOW_EMPTY;
	qsort(runs, run_count, sizeof(*runs), by_start);
	a->runs = runs;
	a->run_count = run_count;
	a->longest = 0;
	mark_overlaps(a);
	if (foreign(a, from, sample_count - own))
		return GW_WINDOW_FOREIGN;
	group_begin(a);
	gw_attribution_place(a);
	for (a->lag = GW_ATTRIBUTE_LAG_COUNT; a->lag--;)
		used |= take_in(a, from, end);
	a->lag = 0;
	count_durations(a, samples[own].begin, end[-1].end);
	return used ? GW_WINDOW_USED : GW_WINDOW_EMPTY;
}
