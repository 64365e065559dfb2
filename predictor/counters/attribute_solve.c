/* From windows to the counts of configurations, with their errors. */
#include "predictor/counters/attribute_state.h"
#include "predictor/counters/nnls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = GW_ATTRIBUTE_CONFIGS };
_Static_assert(GW_ATTRIBUTE_CONFIGS <= (int)GW_NNLS_MAX, "what is solved for must fit");

/*
 * A count's error is relative to at least this share of the highest rate seen: small counts need no
 * full precision.
 */
#define SMALL_RATE 0.01

/* Variance inflation above which the solver separates neighbours. */
#define ALIKE 1e8
#define SURE  2 /* standard errors above a count that one in forty is beyond */

/* The equations of all groups but one, with one lag, over the slots in use: the lower half. */
struct sum {
	double gram[GW_SAMPLE_METRICS][N * N], rhs[GW_SAMPLE_METRICS][N];
	double square[GW_SAMPLE_METRICS], rows;
};

static void add_group(const struct gw_attribution *a, const struct gw_attribution_group *g,
		      struct sum *s)
{
	unsigned n = a->slots;

	for (unsigned m = 0; m < a->metrics; m++) {
		for (unsigned i = 0; i < n; i++) {
			const double *row = g->gram[m] + gw_attribution_pair(i, 0);

			for (unsigned j = 0; j <= i; j++)
				s->gram[m][i * n + j] += row[j];
			s->rhs[m][i] += g->rhs[m][i];
		}
		s->square[m] += g->square[m];
	}
	s->rows += g->total_rows;
}

static void sum_up(const struct gw_attribution *a, unsigned lag, unsigned without, struct sum *s)
{
	memset(s, 0, sizeof(*s));
	for (unsigned k = 0; k < GW_ATTRIBUTE_GROUPS; k++)
		if (k != without)
			add_group(a, &a->group[lag][k], s);
}

/* What the solution @p x leaves unexplained, squared. */
static double unexplained(const struct gw_attribution *a, const struct sum *s, unsigned m,
			  const double *x)
{
	double left = s->square[m];

	for (unsigned i = 0; i < a->slots; i++)
		left -= x[i] * s->rhs[m][i];
	return left;
}

/* Standard errors from what the solution leaves unexplained. */
static void model_errors(const struct gw_attribution *a, const struct sum *s, unsigned m,
			 const double *x, const double *inverse, double *error)
{
	double left = unexplained(a, s, m, x), freedom = s->rows - a->slots;

	left = left > 0 && freedom >= 1 ? left / freedom : 0;
	for (unsigned i = 0; i < a->slots; i++)
		error[i] = sqrt(left * inverse[i]);
}

/* What each metric comes to with each lag, and which lag is taken. */
struct lags {
	double x[GW_ATTRIBUTE_LAG_COUNT][GW_SAMPLE_METRICS][N];
	double left[GW_ATTRIBUTE_LAG_COUNT][GW_SAMPLE_METRICS]; /* unexplained, of all */
	unsigned best[GW_SAMPLE_METRICS], second[GW_SAMPLE_METRICS];
};

static void try_lags(const struct gw_attribution *a, struct sum *s, struct lags *l)
{
	for (unsigned lag = 0; lag < GW_ATTRIBUTE_LAG_COUNT; lag++) {
		memset(s, 0, sizeof(*s));
		add_group(a, &a->group[lag][GW_ATTRIBUTE_PLAIN], s);
		for (unsigned m = 0; m < a->metrics; m++) {
			double *x = l->x[lag][m], all = s->square[m];

			if (!gw_nnls(a->slots, s->gram[m], s->rhs[m], x, NULL) || !(all > 0))
				l->left[lag][m] = INFINITY;
			else
				l->left[lag][m] = fmax(unexplained(a, s, m, x) / all, 1e-12);
		}
	}
	for (unsigned m = 0; m < a->metrics; m++) {
		unsigned best = 0, second;

		for (unsigned lag = 1; lag < GW_ATTRIBUTE_LAG_COUNT; lag++)
			best = l->left[lag][m] < l->left[best][m] ? lag : best;
		second = !best;
		for (unsigned lag = 0; lag < GW_ATTRIBUTE_LAG_COUNT; lag++)
			second = lag != best && l->left[lag][m] < l->left[second][m] ? lag : second;
		l->best[m] = best;
		l->second[m] = second;
	}
	for (unsigned lag = 0, summed = 0; lag < GW_ATTRIBUTE_LAG_COUNT; lag++, summed = 0)
		for (unsigned m = 0; m < a->metrics; m++) {
			if (l->best[m] != lag && l->second[m] != lag)
				continue;
			if (!summed++)
				sum_up(a, lag, GW_ATTRIBUTE_GROUPS, s);
			if (!gw_nnls(a->slots, s->gram[m], s->rhs[m], l->x[lag][m], NULL))
				l->left[lag][m] = INFINITY;
		}
}

/* Sensitivity of a count to the chosen lag: difference to the runner-up, weighted by its fit. */
static double by_lag(const struct lags *l, unsigned m, unsigned i)
{
	double less = l->left[l->best[m]][m], more = l->left[l->second[m]][m];

	return isfinite(more)
		       ? fabs(l->x[l->best[m]][m][i] - l->x[l->second[m]][m][i]) * less / more
		       : 0;
}

/* Sum of two independent errors. hypot@GLIBC_2.35 exceeds the floor of glibc 2.34. */
static double both(double x, double y)
{
	return sqrt(x * x + y * y);
}

/* Jackknife: how much each configuration's value depends on which windows are left out. */
static void spread(const struct gw_attribution *a, const struct lags *l, struct sum *s,
		   double (*out)[N])
{
	double mean[GW_SAMPLE_METRICS][N] = {{0}}, square[GW_SAMPLE_METRICS][N] = {{0}};
	double x[N];
	unsigned parts = 0;

	for (unsigned k = 0; k < GW_ATTRIBUTE_GROUPS; k++) {
		if (a->group[0][k].total_rows <= 0)
			continue;
		parts++;
		for (unsigned lag = 0, summed = 0; lag < GW_ATTRIBUTE_LAG_COUNT; lag++, summed = 0)
			for (unsigned m = 0; m < a->metrics; m++) {
				if (l->best[m] != lag)
					continue;
				if (!summed++)
					sum_up(a, lag, k, s);
				if (!gw_nnls(a->slots, s->gram[m], s->rhs[m], x, NULL))
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

static double launches_of(const struct gw_attribution *a, unsigned slot)
{
	double sum = 0;

	for (unsigned k = 0; k < GW_ATTRIBUTE_GROUPS; k++)
		sum += a->group[0][k].launches[slot];
	return sum;
}

static unsigned parts_with(const struct gw_attribution *a, unsigned slot)
{
	unsigned n = 0;

	for (unsigned k = 0; k < GW_ATTRIBUTE_GROUPS; k++)
		n += a->group[0][k].rows[slot] > 0;
	return n;
}

/* A count that is too small to matter. */
static double small(const struct gw_attribution *a, unsigned i, unsigned m)
{
	const struct gw_attribution_slot *s = &a->slot[i];

	return s->seen > 0 ? SMALL_RATE * a->peak[m] * s->nanoseconds / s->seen : 0;
}

/* The clock's part of an error where all launches of a window are off alike. */
static double placed_clock(const struct gw_attribution *a, unsigned i)
{
	const struct gw_attribution_slot *s = &a->slot[i];
	double windows = fmin(a->windows, GW_ATTRIBUTE_GROUPS * GW_ATTRIBUTE_GROUP_WINDOWS);

	return s->seen > 0 ? GW_ATTRIBUTE_CLOCK_ERROR * s->seen / s->nanoseconds / sqrt(windows)
			   : 0;
}

/* Then rows are not independent, nor are few groups of windows a normal spread. */
static double placed_error(const struct gw_attribution *a, unsigned i, double scale,
			   double by_windows, double by_rows)
{
	/* Student's 97.5% quantiles of 1, 2, 3 degrees of freedom over the normal distribution's */
	static const float student[GW_ATTRIBUTE_GROUPS] = {0, 6.48F, 2.2F, 1.62F};
	double spread = (double)student[parts_with(a, i) - 1] * by_windows;

	return scale > 0 ? both(both(spread, by_rows) / scale, placed_clock(a, i)) : 0;
}

/* The worse of what the windows' spread and what the residuals say, not below the clock's part. */
static double error_of(const struct gw_attribution *a, unsigned i, unsigned m, double x,
		       double by_windows, double by_rows)
{
	const struct gw_attribution_slot *s = &a->slot[i];
	double duration = s->seen > 0 ? s->nanoseconds / s->seen : NAN;
	double scale = fmax(x, small(a, i, m));
	double floor = GW_ATTRIBUTE_CLOCK_ERROR / duration / sqrt(fmax(launches_of(a, i), 1));
	double error = by_rows;

	if (a->placed)
		return placed_error(a, i, scale, by_windows, by_rows);
	if (parts_with(a, i) > 1)
		error = fmax(error, by_windows);
	else
		floor = 2 * GW_ATTRIBUTE_CLOCK_ERROR /
			duration; /* one window: its ends don't average out */
	return scale > 0 ? fmax(error / scale, floor) : 0;
}

/* What a launch counts at most, were all that its samples count its own. */
static double beside(const struct gw_attribution *a, unsigned lag, unsigned i, unsigned m)
{
	double touched = 0, counted = 0;

	for (unsigned k = 0; k < GW_ATTRIBUTE_GROUPS; k++) {
		touched += a->group[lag][k].touched[i];
		counted += a->group[lag][k].beside[m][i];
	}
	return touched > 0 ? counted / touched : 0;
}

static void solve_metric(struct gw_attribution *a, const struct sum *s, const struct lags *l,
			 unsigned m, const double *by_windows)
{
	double x[N], inverse[N], by_rows[N];
	bool ok = gw_nnls(a->slots, s->gram[m], s->rhs[m], x, inverse);

	if (ok)
		model_errors(a, s, m, x, inverse, by_rows);
	for (unsigned i = 0; i < a->slots; i++) {
		struct gw_counted *c = &a->solved[i];
		double own = s->gram[m][i * a->slots + i], most = beside(a, l->best[m], i, m);
		const bool spread_known = !a->placed || parts_with(a, i) > 1;
		bool resolved;

		c->launches = launches_of(a, i);
		resolved = ok && own > 0 && c->launches > 0.999 && inverse[i] * own < ALIKE;
		/* Nothing is believed only of one that hardly could be more, were all of its
		 * samples' counts its own: else the equations don't fit, as where its neighbours'
		 * work varies. */
		resolved = resolved && (x[i] > 0 || most <= small(a, i, m));
		resolved = resolved && spread_known;
		most *= 1 + (a->placed ? SURE * placed_clock(a, i) : 0);
		c->most[m] = c->launches > 0.999 && spread_known ? most : NAN;
		c->value[m] = resolved ? x[i] : NAN;
		c->error[m] = resolved ? error_of(a, i, m, x[i], by_windows[i],
						  both(by_rows[i], by_lag(l, m, i)))
				       : NAN;
		if (resolved)
			c->most[m] =
				fmin(most, x[i] + SURE * c->error[m] * fmax(x[i], small(a, i, m)));
	}
}

/* For the rows to come: the square of what a launch counts, against the mean square of all. */
static void learn_costs(struct gw_attribution *a, unsigned m)
{
	double square = 0, n = 0;

	for (unsigned i = 0; i < a->slots; i++) {
		double x = a->solved[i].value[m];

		square += isfinite(x) ? x * x : 0;
		n += isfinite(x);
	}
	for (unsigned i = 0; i < a->slots; i++) {
		double x = a->solved[i].value[m];

		a->slot[i].cost[m] = square > 0 && isfinite(x) ? fmax(x * x * n / square, 1) : 1;
	}
}

size_t gw_attribution_solve_bytes(void)
{
	return sizeof(struct sum) + sizeof(struct lags) + GW_SAMPLE_METRICS * sizeof(double[N]);
}

void gw_attribution_solve(struct gw_attribution *a)
{
	struct sum *s = malloc(sizeof(*s));
	struct lags *l = calloc(1, sizeof(*l));
	double(*by_windows)[N] = calloc(GW_SAMPLE_METRICS, sizeof(*by_windows));

	a->solved_count = 0;
	if (s && l && by_windows && a->slots) {
		try_lags(a, s, l);
		spread(a, l, s, by_windows);
		a->solved_count = a->slots;
		for (unsigned i = 0; i < a->slots; i++)
			a->slot[i].solved = true;
		for (unsigned lag = 0; lag < GW_ATTRIBUTE_LAG_COUNT; lag++) {
			sum_up(a, lag, GW_ATTRIBUTE_GROUPS, s);
			for (unsigned m = 0; m < a->metrics; m++)
				if (l->best[m] == lag)
					solve_metric(a, s, l, m, by_windows[m]);
		}
		for (unsigned m = 0; m < a->metrics; m++)
			learn_costs(a, m);
	}
	free(s);
	free(l);
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

/* ---- when it ran ---- */

enum {
	SHIFT_NS = 500,          /* steps in which it is looked for */
	SHIFT_UNSURE_NS = 20000, /* half of which it may be off */
	IDLE_PART = 1000,        /* of the most that a sample counts: less is nothing */
};

/* For how long the GPU and the runs disagree, if these began @p by later. */
static uint64_t disagree(const struct gw_sample *s, const struct gw_sample *end, unsigned metric,
			 double idle, const struct gw_interval *run,
			 const struct gw_interval *run_end, uint64_t by)
{
	uint64_t sum = 0;

	for (; s < end; s++) {
		uint64_t busy = 0;

		while (run < run_end && run->end + by <= s->begin)
			run++;
		for (const struct gw_interval *r = run; r < run_end && r->start + by < s->end;
		     r++) {
			const uint64_t from = r->start + by > s->begin ? r->start + by : s->begin;
			const uint64_t to = r->end + by < s->end ? r->end + by : s->end;

			busy += to > from ? to - from : 0;
		}
		if (s->value[metric] <= idle)
			sum += busy;
		else
			sum += busy ? 0 : s->end - s->begin;
	}
	return sum;
}

uint64_t gw_attribution_shift(const struct gw_sample *samples, size_t count, unsigned metric,
			      const struct gw_interval *runs, size_t run_count, uint64_t most,
			      int64_t expected)
{
	const struct gw_sample *s = samples + gw_samples_own(samples, count),
			       *end = samples + count;
	uint64_t least = UINT64_MAX, first = 0, last = UINT64_MAX;
	double idle = 0;

	if (!run_count)
		return UINT64_MAX;
	/* The same samples whatever the shift: those that no end of what is known gets into. */
	while (s < end && s->begin < runs[0].start + most)
		s++;
	while (end > s && end[-1].end > runs[run_count - 1].end)
		end--;
	for (const struct gw_sample *at = s; at < end; at++)
		idle = fmax(idle, at->value[metric] / IDLE_PART);
	for (uint64_t by = 0; by <= most; by += SHIFT_NS) {
		const uint64_t sum = disagree(s, end, metric, idle, runs, runs + run_count, by);

		first = sum < least ? by : first;
		last = sum <= least ? by : last;
		least = sum < least ? sum : least;
	}
	if (last - first > SHIFT_UNSURE_NS)
		return UINT64_MAX;
	if (expected < (int64_t)first)
		return first;
	return expected < (int64_t)last ? (uint64_t)expected : last;
}
