/*
 * Lawson and Hanson's method on the normal equations, begun with every unknown free: of a launch's
 * counters hardly any is zero, so that most often the first solution is the last.
 */
#include "predictor/counters/nnls.h"

#include <math.h>
#include <string.h>

/* Prevents a division by zero for equal columns, relative to their diagonal. */
#define RIDGE 1e-9
/* How far below zero a gradient may be and still count as zero, relative to the right side. */
#define TOLERANCE 1e-9

struct system {
	unsigned n, free_count;
	const double *gram;
	unsigned at[GW_NNLS_MAX];                 /* the unknowns that are free */
	double factor[GW_NNLS_MAX * GW_NNLS_MAX]; /* lower triangle over the free ones */
};

static double gram_at(const struct system *s, unsigned i, unsigned j)
{
	return i < j ? s->gram[j * s->n + i] : s->gram[i * s->n + j];
}

/* Column @p j of four rows of the factor from @p first on; rows do not wait for each other. */
static bool factor_rows(struct system *s, unsigned j, unsigned first)
{
	const unsigned m = s->free_count;
	const double *by = s->factor + j * m;
	double sum[4], *row[4], scale;

	for (unsigned r = 0; r < 4; r++) {
		unsigned i = first + r < m ? first + r : m - 1;

		row[r] = s->factor + i * m;
		sum[r] = gram_at(s, s->at[i], s->at[j]) * (i == j ? 1 + RIDGE : 1);
	}
	for (unsigned k = 0; k < j; k++) {
		sum[0] -= row[0][k] * by[k];
		sum[1] -= row[1][k] * by[k];
		sum[2] -= row[2][k] * by[k];
		sum[3] -= row[3][k] * by[k];
	}
	if (first == j && !(sum[0] > 0))
		return false;
	scale = 1 / (first == j ? sqrt(sum[0]) : by[j]);
	for (unsigned r = 0; r < 4 && first + r < m; r++)
		row[r][j] = sum[r] * scale;
	return true;
}

/* Cholesky's factor of G over the free unknowns. */
static bool factorise(struct system *s)
{
	for (unsigned j = 0; j < s->free_count; j++)
		for (unsigned i = j; i < s->free_count; i += 4)
			if (!factor_rows(s, j, i))
				return false;
	return true;
}

/* v over the factor; before @p first it is 0. */
static void forward(const struct system *s, unsigned first, double *v)
{
	unsigned m = s->free_count;

	for (unsigned i = first; i < m; i++) {
		for (unsigned k = first; k < i; k++)
			v[i] -= s->factor[i * m + k] * v[k];
		v[i] /= s->factor[i * m + i];
	}
}

static void solve(const struct system *s, double *v)
{
	unsigned m = s->free_count;

	forward(s, 0, v);
	for (unsigned i = m; i--;) {
		for (unsigned k = i + 1; k < m; k++)
			v[i] -= s->factor[k * m + i] * v[k];
		v[i] /= s->factor[i * m + i];
	}
}

/* Go from x towards @p target until the first unknown meets zero; those that did stay there. */
static void step(struct system *s, const double *target, double *x)
{
	double alpha = 1;
	unsigned kept = 0;

	for (unsigned i = 0; i < s->free_count; i++) {
		double from = x[s->at[i]];

		if (target[i] <= 0 && from / (from - target[i]) < alpha)
			alpha = from > 0 ? from / (from - target[i]) : 0;
	}
	for (unsigned i = 0; i < s->free_count; i++) {
		unsigned at = s->at[i];
		double to = x[at] + alpha * (target[i] - x[at]);

		if (target[i] <= 0 && to <= TOLERANCE * fabs(target[i])) {
			x[at] = 0;
			continue;
		}
		x[at] = to;
		s->at[kept++] = at;
	}
	s->free_count = kept;
}

/* The unknown at zero with the steepest gradient; n when none would grow. */
static unsigned wanting(const struct system *s, const double *rhs, const double *x, double scale)
{
	unsigned best = s->n;
	double most = TOLERANCE * scale;

	for (unsigned i = 0; i < s->n; i++) {
		double gradient = rhs[i];

		if (x[i] > 0 || gram_at(s, i, i) <= 0)
			continue;
		for (unsigned j = 0; j < s->n; j++)
			gradient -= gram_at(s, i, j) * x[j];
		if (gradient > most) {
			most = gradient;
			best = i;
		}
	}
	return best;
}

static void inverse_diagonal(const struct system *s, double *inverse)
{
	double v[GW_NNLS_MAX];

	for (unsigned i = 0; i < s->free_count; i++) {
		memset(v, 0, s->free_count * sizeof(*v));
		v[i] = 1;
		forward(s, i, v);
		inverse[s->at[i]] = 0;
		for (unsigned k = i; k < s->free_count; k++)
			inverse[s->at[i]] += v[k] * v[k];
	}
}

/* Solve over the free unknowns until none of them is negative. */
static bool settle(struct system *s, const double *rhs, double *x)
{
	double target[GW_NNLS_MAX];

	while (s->free_count) {
		bool negative = false;

		if (!factorise(s))
			return false;
		for (unsigned i = 0; i < s->free_count; i++)
			target[i] = rhs[s->at[i]];
		solve(s, target);
		for (unsigned i = 0; i < s->free_count; i++)
			negative |= target[i] <= 0;
		if (!negative) {
			for (unsigned i = 0; i < s->free_count; i++)
				x[s->at[i]] = target[i];
			return true;
		}
		step(s, target, x);
	}
	return true;
}

bool gw_nnls(unsigned n, const double *gram, const double *rhs, double *x, double *inverse)
{
	struct system s = {.n = n, .gram = gram};
	double scale = 0;

	if (n > GW_NNLS_MAX)
		return false;
	for (unsigned i = 0; i < n; i++) {
		x[i] = 0;
		if (inverse)
			inverse[i] = 0;
		if (gram_at(&s, i, i) > 0)
			s.at[s.free_count++] = i;
		scale = fmax(scale, fabs(rhs[i]));
	}
	for (unsigned round = 0; round <= 3 * n; round++) {
		unsigned more;

		if (!settle(&s, rhs, x))
			return false;
		more = wanting(&s, rhs, x, scale);
		if (more == n) {
			if (inverse)
				inverse_diagonal(&s, inverse);
			return true;
		}
		s.at[s.free_count++] = more;
	}
	return false;
}
