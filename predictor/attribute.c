/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/attribute.h"

#include "predictor/nnls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = GW_ATTRIBUTE_CONFIGS, ROW_MAX = 32 };
_Static_assert(GW_ATTRIBUTE_CONFIGS <= (int)GW_NNLS_MAX, "what is solved for must fit");

/* By how much the stamps of two kernels that follow each other may cross, ns. */
#define CROSSING 256
/* The share of a window's counts outside known kernels from which it is not ours to tell. */
#define FOREIGN_SHARE 0.05
/* After such a window, so many that give no chance to see it (no idle time) are set aside too. */
#define SUSPICION 8
/* How well a sample's ends are known in the kernels' clock, ns: a floor below every error. */
#define CLOCK_ERROR 1000.0
/* A count's error is judged against no less than this share of the highest rate seen: what a kernel
 * hardly does need not be known to the last part of it. */
#define SMALL_RATE 0.01

/* Windows of a group. What is older than all groups' together is forgotten: programs change. */
enum { GROUP_WINDOWS = 8 };

/* The normal equations of one part of the windows. */
struct group {
	double gram[N][N];
	double rhs[GW_SAMPLE_METRICS][N];
	double square[GW_SAMPLE_METRICS]; /* sum of the rows' squared counts */
	double rows[N];                   /* rows that tell of a configuration */
	double launches[N];               /* launches' worth of time in them */
	double total_rows;
};

struct slot {
	uint32_t config;
	uint32_t window;    /* the last that had it */
	double nanoseconds; /* of those launches' durations, weighted alike */
	double seen;        /* … and the sum of those weights */
};

struct gw_attribution {
	unsigned metrics;
	uint32_t guard;
	uint32_t windows;
	unsigned suspicion;
	struct slot slot[N];
	unsigned slots;
	double peak[GW_SAMPLE_METRICS]; /* highest rate of any sample, per ns */
	struct group group[GW_ATTRIBUTE_GROUPS];
	struct gw_counted solved[N];
	unsigned solved_count;
	/* While a window is taken in */
	struct gw_interval *runs; /* the caller's */
	size_t run_count;
	uint64_t longest; /* of the runs */
};

/* One equation: what was counted, and the launches it stands for. */
struct row {
	unsigned count;
	unsigned at[ROW_MAX];  /* slots */
	double share[ROW_MAX]; /* launches of each */
	double value[GW_SAMPLE_METRICS];
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

void gw_attribution_free(struct gw_attribution *a)
{
	free(a);
}

/* ---- which configurations are solved for ---------------------------------------------------- */

/*
 * Take a configuration out of the equations without losing what they say of the others: Gauss's
 * elimination of its column (Schur's complement).
 */
static void eliminate(struct gw_attribution *a, struct group *g, unsigned e)
{
	double pivot = g->gram[e][e];

	for (unsigned i = 0; pivot > 0 && i < a->slots; i++) {
		double f = g->gram[i][e] / pivot;

		if (i == e || f == 0)
			continue;
		for (unsigned j = 0; j < a->slots; j++)
			if (j != e)
				g->gram[i][j] -= f * g->gram[e][j];
		for (unsigned m = 0; m < a->metrics; m++)
			g->rhs[m][i] -= f * g->rhs[m][e];
	}
	for (unsigned m = 0; pivot > 0 && m < a->metrics; m++)
		g->square[m] -= g->rhs[m][e] * g->rhs[m][e] / pivot;
	for (unsigned i = 0; i < a->slots; i++)
		g->gram[i][e] = g->gram[e][i] = 0;
	for (unsigned m = 0; m < a->metrics; m++)
		g->rhs[m][e] = 0;
	g->rows[e] = g->launches[e] = 0;
}

static unsigned slot_of(struct gw_attribution *a, uint32_t config)
{
	unsigned oldest = 0;

	for (unsigned i = 0; i < a->slots; i++) {
		if (a->slot[i].config == config) {
			a->slot[i].window = a->windows;
			return i;
		}
		if (a->slot[i].window < a->slot[oldest].window)
			oldest = i;
	}
	if (a->slots < N) {
		oldest = a->slots++;
	} else {
		if (a->slot[oldest].window == a->windows) /* more than fit in this very window */
			return N;
		for (unsigned k = 0; k < GW_ATTRIBUTE_GROUPS; k++)
			eliminate(a, &a->group[k], oldest);
	}
	a->slot[oldest] = (struct slot){.config = config, .window = a->windows};
	return oldest;
}

/* ---- what ran ------------------------------------------------------------------------------- */

static int by_start(const void *x, const void *y)
{
	const struct gw_interval *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/* Kernels of different configurations that ran at the same time lose theirs: no one's to tell. */
static void mark_overlaps(struct gw_attribution *a)
{
	size_t last = 0; /* the run that ends last so far */

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

/* ---- equations ------------------------------------------------------------------------------ */

enum touched { NOTHING, KERNELS, UNTELLABLE };

static bool row_add(struct row *row, unsigned slot, double share)
{
	for (unsigned i = 0; i < row->count; i++)
		if (row->at[i] == slot) {
			row->share[i] += share;
			return true;
		}
	if (row->count == ROW_MAX)
		return false;
	row->at[row->count] = slot;
	row->share[row->count++] = share;
	return true;
}

static void note_rates(struct gw_attribution *a, const struct gw_sample *s)
{
	for (unsigned m = 0; m < a->metrics; m++)
		a->peak[m] = fmax(a->peak[m], s->value[m] / (double)(s->end - s->begin));
}

/* Whose time a sample is. */
static enum touched row_of(struct gw_attribution *a, const struct gw_sample *s, struct row *row)
{
	enum touched what = NOTHING;

	row->count = 0;
	memcpy(row->value, s->value, sizeof(row->value));
	note_rates(a, s);
	for (size_t i = first_run(a, s->begin); i < a->run_count && a->runs[i].start < s->end;
	     i++) {
		const struct gw_interval *r = &a->runs[i];
		double share = share_of(r, s->begin, s->end);
		unsigned slot;

		if (share <= 0)
			continue;
		slot = r->config ? slot_of(a, r->config) : N;
		if (slot == N || !row_add(row, slot, share))
			return UNTELLABLE;
		what = KERNELS;
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

	return (w < GROUP_WINDOWS ? w : w / GROUP_WINDOWS) % GW_ATTRIBUTE_GROUPS;
}

/* A window begins: where its group begins anew, the group's old windows go. */
static void group_begin(struct gw_attribution *a)
{
	unsigned w = a->windows++;

	if (w >= GROUP_WINDOWS && w % GROUP_WINDOWS == 0)
		memset(&a->group[group_of(a)], 0, sizeof(a->group[0]));
}

static double launches_of(const struct gw_attribution *a, unsigned slot)
{
	double sum = 0;

	for (unsigned k = 0; k < GW_ATTRIBUTE_GROUPS; k++)
		sum += a->group[k].launches[slot];
	return sum;
}

static void row_take(struct gw_attribution *a, const struct row *row)
{
	struct group *g = &a->group[group_of(a)];

	for (unsigned i = 0; i < row->count; i++) {
		unsigned at = row->at[i];

		for (unsigned j = 0; j < row->count; j++)
			g->gram[at][row->at[j]] += row->share[i] * row->share[j];
		for (unsigned m = 0; m < a->metrics; m++)
			g->rhs[m][at] += row->share[i] * row->value[m];
		g->rows[at]++;
		g->launches[at] += row->share[i];
	}
	for (unsigned m = 0; m < a->metrics; m++)
		g->square[m] += row->value[m] * row->value[m];
	g->total_rows++;
}

/* Rows that one and the same configuration fills, taken together. */
struct pending {
	struct row row;
	bool any;
};

static void flush(struct gw_attribution *a, struct pending *p)
{
	if (p->any && p->row.count)
		row_take(a, &p->row);
	p->any = false;
}

static void join(struct gw_attribution *a, struct pending *p, const struct row *row)
{
	if (p->any && p->row.count && row->count && p->row.at[0] != row->at[0])
		flush(a, p);
	if (!p->any) {
		p->row = *row;
		p->any = true;
		return;
	}
	for (unsigned i = 0; i < row->count; i++)
		row_add(&p->row, row->at[i], row->share[i]);
	for (unsigned m = 0; m < a->metrics; m++)
		p->row.value[m] += row->value[m];
}

static bool finite_sample(const struct gw_attribution *a, const struct gw_sample *s)
{
	for (unsigned m = 0; m < a->metrics; m++)
		if (!isfinite(s->value[m]) || s->value[m] < 0)
			return false;
	return s->end > s->begin;
}

/* Did something count where nothing known ran, or may it have, unseen? */
static bool foreign(struct gw_attribution *a, const struct gw_sample *samples, size_t n)
{
	double all[GW_SAMPLE_METRICS] = {0}, outside[GW_SAMPLE_METRICS] = {0};
	bool idle = false;

	for (size_t i = 1; i < n; i++) {
		const struct gw_sample *s = &samples[i];
		bool inside = false;

		for (size_t k = first_run(a, s->begin);
		     !inside && k < a->run_count && a->runs[k].start < s->end + CROSSING; k++)
			inside = a->runs[k].end + (uint64_t)CLOCK_ERROR > s->begin;
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
		double share = r->config ? share_of(r, begin, end) : 0;

		for (unsigned k = 0; share > 0 && k < a->slots; k++)
			if (a->slot[k].config == r->config) {
				a->slot[k].nanoseconds += share * (double)(r->end - r->start);
				a->slot[k].seen += share;
			}
	}
}

enum gw_window_fate gw_attribution_window(struct gw_attribution *a, const struct gw_sample *samples,
                                          size_t sample_count, struct gw_interval *runs,
                                          size_t run_count)
{
	struct pending alone = {.any = false};
	struct row row;
	bool used = false;

	if (sample_count < 2)
		return GW_WINDOW_EMPTY;
	qsort(runs, run_count, sizeof(*runs), by_start);
	a->runs = runs;
	a->run_count = run_count;
	a->longest = 0;
	mark_overlaps(a);
	if (foreign(a, samples, sample_count))
		return GW_WINDOW_FOREIGN;
	group_begin(a);
	for (size_t i = 1; i < sample_count; i++) {
		enum touched what =
		        finite_sample(a, &samples[i]) ? row_of(a, &samples[i], &row) : UNTELLABLE;

		if (i > 1 && samples[i].begin != samples[i - 1].end)
			flush(a, &alone); /* a gap: what was lost there is not known */
		if (what != UNTELLABLE && row.count <= 1) {
			join(a, &alone, &row);
			used |= row.count != 0;
			continue;
		}
		flush(a, &alone);
		if (what == KERNELS) {
			row_take(a, &row);
			used = true;
		}
	}
	flush(a, &alone);
	count_durations(a, samples[1].begin, samples[sample_count - 1].end);
	return used ? GW_WINDOW_USED : GW_WINDOW_EMPTY;
}

/* ---- solving -------------------------------------------------------------------------------- */

/* The equations of all groups but one, dense over the slots in use. */
struct sum {
	double gram[N * N], rhs[GW_SAMPLE_METRICS][N];
	double square[GW_SAMPLE_METRICS], rows;
};

static void sum_up(const struct gw_attribution *a, unsigned without, struct sum *s)
{
	unsigned n = a->slots;

	memset(s, 0, sizeof(*s));
	for (unsigned k = 0; k < GW_ATTRIBUTE_GROUPS; k++) {
		const struct group *g = &a->group[k];

		if (k == without)
			continue;
		for (unsigned i = 0; i < n; i++)
			for (unsigned j = 0; j < n; j++)
				s->gram[i * n + j] += g->gram[i][j];
		for (unsigned m = 0; m < a->metrics; m++) {
			for (unsigned i = 0; i < n; i++)
				s->rhs[m][i] += g->rhs[m][i];
			s->square[m] += g->square[m];
		}
		s->rows += g->total_rows;
	}
}

/* Standard errors from what the solution leaves unexplained. */
static void model_errors(const struct gw_attribution *a, const struct sum *s, unsigned m,
                         const double *x, const double *inverse, double *error)
{
	double left = s->square[m], freedom = s->rows - a->slots;

	for (unsigned i = 0; i < a->slots; i++)
		left -= x[i] * s->rhs[m][i];
	left = left > 0 && freedom >= 1 ? left / freedom : 0;
	for (unsigned i = 0; i < a->slots; i++)
		error[i] = sqrt(left * inverse[i]);
}

/* Jackknife: how much each configuration's value depends on which windows are left out. */
static void spread(const struct gw_attribution *a, struct sum *s, double (*out)[N])
{
	double mean[GW_SAMPLE_METRICS][N] = {{0}}, square[GW_SAMPLE_METRICS][N] = {{0}};
	double x[N];
	unsigned parts = 0;

	for (unsigned k = 0; k < GW_ATTRIBUTE_GROUPS; k++) {
		if (a->group[k].total_rows <= 0)
			continue;
		parts++;
		sum_up(a, k, s);
		for (unsigned m = 0; m < a->metrics; m++) {
			if (!gw_nnls(a->slots, s->gram, s->rhs[m], x, NULL))
				memset(x, 0, sizeof(x));
			for (unsigned i = 0; i < a->slots; i++) {
				mean[m][i] += x[i];
				square[m][i] += x[i] * x[i];
			}
		}
	}
	for (unsigned m = 0; m < a->metrics; m++)
		for (unsigned i = 0; i < a->slots; i++) {
			double average = parts ? mean[m][i] / parts : 0;
			double variance = parts ? square[m][i] / parts - average * average : 0;

			out[m][i] = parts > 1 && variance > 0 ? sqrt(variance * (parts - 1)) : 0;
		}
}

static unsigned parts_with(const struct gw_attribution *a, unsigned slot)
{
	unsigned n = 0;

	for (unsigned k = 0; k < GW_ATTRIBUTE_GROUPS; k++)
		n += a->group[k].rows[slot] > 0;
	return n;
}

/* A count that is too small to matter. */
static double small(const struct gw_attribution *a, unsigned i, unsigned m)
{
	const struct slot *s = &a->slot[i];

	return s->seen > 0 ? SMALL_RATE * a->peak[m] * s->nanoseconds / s->seen : 0;
}

/* The worse of what the windows' spread and what the residuals say, not below the clock's part. */
static double error_of(const struct gw_attribution *a, unsigned i, unsigned m, double x,
                       double by_windows, double by_rows)
{
	const struct slot *s = &a->slot[i];
	double duration = s->seen > 0 ? s->nanoseconds / s->seen : NAN;
	double scale = fmax(x, small(a, i, m));
	double floor = CLOCK_ERROR / duration / sqrt(fmax(launches_of(a, i), 1));
	double error = by_rows;

	if (parts_with(a, i) > 1)
		error = fmax(error, by_windows);
	else
		floor = 2 * CLOCK_ERROR / duration; /* one window: its ends don't average out */
	return scale > 0 ? fmax(error / scale, floor) : 0;
}

static void solve_metric(struct gw_attribution *a, const struct sum *s, unsigned m,
                         const double *by_windows)
{
	double x[N], inverse[N], by_rows[N];
	bool ok = gw_nnls(a->slots, s->gram, s->rhs[m], x, inverse);

	if (ok)
		model_errors(a, s, m, x, inverse, by_rows);
	for (unsigned i = 0; i < a->slots; i++) {
		struct gw_counted *c = &a->solved[i];
		double own = s->gram[i * a->slots + i], most = own > 0 ? s->rhs[m][i] / own : 0;
		bool told;

		c->launches = launches_of(a, i);
		told = ok && own > 0 && c->launches > 0.999;
		/* Nothing is believed only of one that hardly could be more, were all of its
		 * samples' counts its own: else the equations don't fit, as where its neighbours'
		 * work varies. */
		told = told && (x[i] > 0 || most <= small(a, i, m));
		c->value[m] = told ? x[i] : NAN;
		c->error[m] = told ? error_of(a, i, m, x[i], by_windows[i], by_rows[i]) : NAN;
	}
}

void gw_attribution_solve(struct gw_attribution *a)
{
	struct sum *s = malloc(sizeof(*s));
	double(*by_windows)[N] = calloc(GW_SAMPLE_METRICS, sizeof(*by_windows));

	a->solved_count = 0;
	if (s && by_windows && a->slots) {
		spread(a, s, by_windows);
		sum_up(a, GW_ATTRIBUTE_GROUPS, s);
		a->solved_count = a->slots;
		for (unsigned m = 0; m < a->metrics; m++)
			solve_metric(a, s, m, by_windows[m]);
	}
	free(s);
	free(by_windows);
}

uint32_t gw_attribution_get(const struct gw_attribution *a, unsigned index, struct gw_counted *out)
{
	if (index >= a->solved_count)
		return 0;
	*out = a->solved[index];
	return a->slot[index].config;
}

float gw_counted_confidence(double error)
{
	return error >= 0 ? (float)(1 / (1 + 10 * error)) : 0;
}
