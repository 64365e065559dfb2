#include "predictor/learner/krige.h"

#include <math.h>

enum { N = GW_KRIGE_POINTS };

double gw_place_distance2(const struct gw_place *a, const struct gw_place *b)
{
	double sum = 0;

	for (unsigned i = 0; i < GW_KRIGE_AXES; i++)
		sum += (a->at[i] - b->at[i]) * (a->at[i] - b->at[i]);
	return sum;
}

/* Covariance of the values at two places. */
static double covariance(const struct gw_prior *p, double middle, const struct gw_place *a,
			 const struct gw_place *b)
{
	double near = exp(-gw_place_distance2(a, b) / (2 * p->reach * p->reach));

	return p->offset * p->offset +
	       p->slope * p->slope * (a->along - middle) * (b->along - middle) +
	       p->smooth * p->smooth * near;
}

/* m = l l', l lower triangular, in place. Noise keeps the diagonal above zero. */
static void factorise(double m[N][N], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j <= i; j++) {
			double sum = m[i][j];

			for (unsigned k = 0; k < j; k++)
				sum -= m[i][k] * m[j][k];
			m[i][j] = i == j ? sqrt(fmax(sum, 1e-12)) : sum / m[j][j];
		}
}

/* x such that l l' x = x. */
static void solve(double l[N][N], unsigned n, double x[N])
{
	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 0; k < i; k++)
			x[i] -= l[i][k] * x[k];
		x[i] /= l[i][i];
	}
	for (unsigned i = n; i--;) {
		for (unsigned k = i + 1; k < n; k++)
			x[i] -= l[k][i] * x[k];
		x[i] /= l[i][i];
	}
}

static double middle_of(const struct gw_point *points, unsigned count)
{
	double middle = 0;

	for (unsigned i = 0; i < count; i++)
		middle += points[i].place.along / count;
	return middle;
}

/* Lower triangle. */
static void covariances(const struct gw_prior *prior, const struct gw_point *points, unsigned count,
			double middle, double m[N][N])
{
	for (unsigned i = 0; i < count; i++) {
		const struct gw_place *p = &points[i].place;

		for (unsigned j = 0; j < i; j++)
			m[i][j] = covariance(prior, middle, p, &points[j].place);
		m[i][i] = covariance(prior, middle, p, p) + points[i].noise * points[i].noise;
	}
}

/*
 * With K the covariances of the points, their own parts included, and y the values, leaving out
 * point i gives an error of (K⁻¹ y)ᵢ / (K⁻¹)ᵢᵢ, of variance 1 / (K⁻¹)ᵢᵢ.
 */
double gw_krige_misfit(const struct gw_prior *prior, const struct gw_point *points, unsigned count)
{
	double m[N][N], solved[N], unit[N], sum = 0;

	if (count < 2)
		return 1;
	covariances(prior, points, count, middle_of(points, count), m);
	factorise(m, count);
	for (unsigned i = 0; i < count; i++)
		solved[i] = points[i].value;
	solve(m, count, solved);
	for (unsigned i = 0; i < count; i++) {
		for (unsigned j = 0; j < count; j++)
			unit[j] = i == j;
		solve(m, count, unit);
		sum += solved[i] * solved[i] / unit[i];
	}
	return sum / count;
}

void gw_krige(const struct gw_prior *prior, const struct gw_point *points, unsigned count,
	      const struct gw_place *target, struct gw_weights *out)
{
	double m[N][N], with[N], middle = count ? middle_of(points, count) : target->along,
				 variance;

	covariances(prior, points, count, middle, m);
	for (unsigned i = 0; i < count; i++)
		with[i] = out->weight[i] = covariance(prior, middle, &points[i].place, target);
	factorise(m, count);
	solve(m, count, out->weight);
	variance = covariance(prior, middle, target, target);
	for (unsigned i = 0; i < count; i++)
		variance -= out->weight[i] * with[i];
	out->count = count;
	out->deviation = sqrt(fmax(variance, 0) + prior->own * prior->own);
}
