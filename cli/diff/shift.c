#include "cli/diff/shift.h"

#include <math.h>
#include <stdlib.h>

#include "cli/common/memory.h"

/* The normal distribution's 97.5% quantile: of a two-sided 95% interval. */
static const double Z95 = 1.959964;

enum { EXACT = 40 }; /* values of both series up to which the distribution of U is counted out */

struct series {
	double value[SHIFT_BATCHES]; /* logarithms */
	size_t count;
	double inflation; /* of the variance, by the dependence of neighbours */
};

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Mean of the middle half: outliers have no say, and it resolves less than a tick of the timer. */
static double middle(const float *times, size_t count)
{
	double *v = gw_alloc(count * sizeof(*v)), sum = 0;
	size_t skip = count / 4;

	for (size_t i = 0; i < count; i++)
		v[i] = times[i];
	qsort(v, count, sizeof(*v), by_value);
	for (size_t i = skip; i < count - skip; i++)
		sum += v[i];
	free(v);
	return sum / (double)(count - 2 * skip);
}

/* Correlation of values @p lag apart, @p mean and @p all being of all values. */
static double correlation(const struct series *s, size_t lag, double mean, double all)
{
	double sum = 0;

	for (size_t i = lag; i < s->count; i++)
		sum += (s->value[i] - mean) * (s->value[i - lag] - mean);
	return all > 0 ? sum / all : 0;
}

/*
 * By how much more the mean of the values varies than if they were independent: the sum of their
 * correlations over all lags, taken in pairs as long as those are positive and fall (Geyer 1992,
 * initial monotone sequence). At least 1; at most what leaves SHIFT_FEWEST independent values.
 */
static double inflation(const struct series *s)
{
	double mean = 0, all = 0, pair, last = 2, sum = 0, most = (double)s->count / SHIFT_FEWEST;

	for (size_t i = 0; i < s->count; i++)
		mean += s->value[i] / (double)s->count;
	for (size_t i = 0; i < s->count; i++)
		all += (s->value[i] - mean) * (s->value[i] - mean);
	for (size_t lag = 0; lag + 1 < s->count; lag += 2) {
		pair = (lag ? correlation(s, lag, mean, all) : 1) +
		       correlation(s, lag + 1, mean, all);
		if (pair <= 0)
			break;
		last = fmin(pair, last);
		sum += last;
	}
	return fmax(1, fmin(2 * sum - 1, most));
}

static void batch(struct series *s, const float *times, size_t count)
{
	s->count = count < SHIFT_BATCHES ? count : SHIFT_BATCHES;
	for (size_t i = 0; i < s->count; i++) {
		size_t from = i * count / s->count, to = (i + 1) * count / s->count;

		s->value[i] = log(middle(times + from, to - from));
	}
	s->inflation = inflation(s);
}

/*
 * Cumulative distribution of U, the number of pairs in which the other is above, without ties: into
 * @p below[0 .. n*m] the probability that U <= u. Counted by the recurrence of Mann & Whitney.
 */
static void distribution(size_t n, size_t m, double *below)
{
	size_t most = n * m;
	double *ways = gw_alloc((m + 1) * (most + 1) * sizeof(*ways)), all = 0;

	/* ways[j][u] for i = 0 of the base: one way, U = 0. */
	for (size_t j = 0; j <= m; j++)
		ways[j * (most + 1)] = 1;
	for (size_t i = 1; i <= n; i++)
		/* The largest value is the base's: U of (i-1, j); or the other's: i more than (i,
		 * j-1). */
		for (size_t j = 1; j <= m; j++)
			for (size_t u = i; u <= i * j; u++)
				ways[j * (most + 1) + u] += ways[(j - 1) * (most + 1) + u - i];
	for (size_t u = 0; u <= most; u++)
		all += ways[m * (most + 1) + u];
	for (size_t u = 0; u <= most; u++)
		below[u] = (u ? below[u - 1] : 0) + ways[m * (most + 1) + u] / all;
	free(ways);
}

/* U, half a pair for each tie, and sum of t^3 - t over groups of t equal values of both. */
static double pairs_above(const struct series *a, const struct series *b, double *ties)
{
	double all[2 * SHIFT_BATCHES], u = 0;
	size_t n = 0;

	for (size_t i = 0; i < a->count; i++)
		for (size_t j = 0; j < b->count; j++)
			u += b->value[j] > a->value[i] ? 1 : b->value[j] == a->value[i] ? 0.5 : 0;
	for (size_t i = 0; i < a->count; i++)
		all[n++] = a->value[i];
	for (size_t j = 0; j < b->count; j++)
		all[n++] = b->value[j];
	qsort(all, n, sizeof(*all), by_value);
	*ties = 0;
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && all[j] == all[i];)
			j++;
		*ties += (double)(j - i) * (double)(j - i) * (double)(j - i) - (double)(j - i);
	}
	return u;
}

static double spread_of(const struct series *a, const struct series *b, double ties)
{
	double n = (double)a->count, m = (double)b->count, all = n + m;
	double wider = (a->inflation / n + b->inflation / m) / (1 / n + 1 / m);

	return sqrt(wider * n * m / 12 * (all + 1 - ties / (all * (all - 1))));
}

/* How many differences from each end lie outside the interval, and the probability of @p u. */
static size_t outside(const struct series *a, const struct series *b, double u, double *p)
{
	size_t n = a->count, m = b->count, k = 0;
	double ties, half = (double)(n * m) / 2, off = fabs(u - half), spread;

	pairs_above(a, b, &ties);
	if (n + m <= EXACT && ties == 0) {
		double *below = gw_alloc((n * m + 1) * sizeof(*below));
		double wider = (a->inflation / (double)n + b->inflation / (double)m) /
			       (1 / (double)n + 1 / (double)m);
		/* Dependent values count for fewer: the distance from the middle shrinks. */
		double near = half - off / sqrt(wider);

		distribution(n, m, below);
		*p = fmin(1, 2 * below[(size_t)fmax(0, floor(near))]);
		while (k < n * m / 2 && 2 * below[k] <= 0.05)
			k++;
		free(below);
		off = (half - (double)k) * sqrt(wider);
		return off >= half ? 0 : (size_t)(half - off);
	}
	spread = spread_of(a, b, ties);
	*p = spread > 0 ? erfc(fmax(0, off - 0.5) / spread / sqrt(2)) : off > 0 ? 0 : 1;
	off = Z95 * spread + 0.5;
	return off >= half ? 0 : (size_t)(half - off);
}

struct shift shift_between(const float *base, size_t base_count, const float *other,
			   size_t other_count)
{
	struct shift s = {NAN, NAN, NAN, NAN};
	struct series *a = gw_alloc(sizeof(*a)), *b = gw_alloc(sizeof(*b));
	double *differences, ties;
	size_t count, k = 0;

	if (base_count && other_count) {
		batch(a, base, base_count);
		batch(b, other, other_count);
	}
	count = a->count * b->count;
	differences = gw_alloc((count + 1) * sizeof(*differences));
	for (size_t i = 0; i < count; i++)
		differences[i] = b->value[i % b->count] - a->value[i / b->count];
	qsort(differences, count, sizeof(*differences), by_value);
	if (count)
		s.ratio = exp((differences[(count - 1) / 2] + differences[count / 2]) / 2);
	if (a->count >= SHIFT_FEWEST && b->count >= SHIFT_FEWEST) {
		k = outside(a, b, pairs_above(a, b, &ties), &s.p);
		s.low = k ? exp(differences[k - 1]) : NAN;
		s.high = k ? exp(differences[count - k]) : NAN;
	}
	free(differences);
	free(a);
	free(b);
	return s;
}

static int by_pointed(const void *a, const void *b)
{
	return by_value(*(const double *const *)a, *(const double *const *)b);
}

void shift_discoveries(const double *p, size_t count, double rate, bool *found)
{
	const double **sorted = gw_alloc((count + 1) * sizeof(*sorted));
	size_t known = 0, last = 0;

	for (size_t i = 0; i < count; i++) {
		found[i] = false;
		if (!isnan(p[i]))
			sorted[known++] = &p[i];
	}
	qsort(sorted, known, sizeof(*sorted), by_pointed);
	for (size_t i = 0; i < known; i++)
		if (*sorted[i] <= rate * (double)(i + 1) / (double)known)
			last = i + 1;
	for (size_t i = 0; i < last; i++)
		found[sorted[i] - p] = true;
	free(sorted);
}
