#include "predictor/learner/coverage.h"

#include <math.h>

static const double GAIN = 0.05;     /* adaptation rate of a width, per prediction judged … */
static const double GAIN_MOST = 0.4; /* … and per batch of them */
static const double ROOM = 8;        /* bound of a width relative to its start, as a factor */
/* How other configurations of a kernel differ is stated too narrowly until some were judged, unless
 * work was counted: what programs of half a second showed. */
static const double KERNEL_TIMED = 1.5;
/*
 * Rate for one configuration: faster, because it has only its own times. Nothing is forgotten: with
 * a width that creeps back, a configuration that needs another one than its kind misses too often,
 * or too seldom, for good.
 */
static const double OWN_GAIN = 0.1, OWN_ROOM = 1.5;

/* Bins of errors: the first ends here, in log time, each next one this many powers of two later. */
static const double LEAST_ERROR = 0.002, BIN_STEP = 0.5;
static const double FIRST_ERRORS = 0.4; /* largest of those assumed at first */
enum { FULL = 64 };                     /* errors of one size that halve all */

static double first_width(unsigned kind)
{
	/* The spread of one to four times is that of the kernel's repeated times. */
	static const double sizes[GW_WIDTH_SIZES] = {2, 1.7, 1.4, 3, 2.2, 1.8};

	if (kind < GW_WIDTH_SIZES)
		return sizes[kind];
	if (kind == GW_WIDTH_LEAST || kind < gw_width_of_work(GW_TIER_WARM, GW_SOURCE_NONE) ||
	    kind == gw_width_of_work(GW_TIER_WARM, GW_SOURCE_COUNTED))
		return GW_NINE_IN_TEN;
	return KERNEL_TIMED * GW_NINE_IN_TEN;
}

/* Weight of the first width, in predictions. The spread that the width of never timed multiplies is
 * learnt from the same times: both at full rate would learn them twice. */
static double first_weight(unsigned kind)
{
	return kind >= GW_WIDTH_SIZES && kind < gw_width_of_work(GW_TIER_WARM, GW_SOURCE_NONE) ? 24
											       : 6;
}

void gw_coverage_start(struct gw_coverage *c)
{
	for (unsigned i = 0; i < GW_WIDTHS; i++) {
		c->width[i] = (float)first_width(i);
		c->seen[i] = 0;
		c->judged[i] = c->missed[i] = 0;
	}
}

unsigned gw_width_of_size(uint32_t size)
{
	unsigned kind = 0;

	while (kind < GW_WIDTH_SIZES - 1 && size > 1u << kind)
		kind++;
	return kind;
}

unsigned gw_width_of_work(enum gw_tier tier, enum gw_source work)
{
	const unsigned sources = GW_SOURCE_COUNTED + 1;
	unsigned source = (unsigned)work < sources ? (unsigned)work : GW_SOURCE_NONE;

	return GW_WIDTH_SIZES + (tier == GW_TIER_COLD ? 0 : sources) + source;
}

void gw_coverage_judge(struct gw_coverage *c, unsigned kind, double missed)
{
	c->judged[kind] += 1;
	c->missed[kind] += (float)missed;
}

static void adapt(struct gw_coverage *c, unsigned kind)
{
	double first = first_width(kind), n = (double)c->judged[kind], gain, width;

	/* A step of 3/n finds a quantile of n values about as fast as possible. */
	gain = fmax(GAIN, 3.0 / (c->seen[kind] + first_weight(kind)));
	gain = fmin(gain * n, GAIN_MOST);
	width = (double)c->width[kind] * exp(gain * ((double)c->missed[kind] / n - GW_MISS));
	c->width[kind] = (float)fmin(fmax(width, first / ROOM), first * ROOM);
	c->seen[kind] =
		c->seen[kind] < UINT32_MAX / 2 ? c->seen[kind] + (uint32_t)n : UINT32_MAX / 2;
	c->judged[kind] = c->missed[kind] = 0;
}

void gw_coverage_adapt(struct gw_coverage *c)
{
	for (unsigned kind = 0; kind < GW_WIDTHS; kind++)
		if (c->judged[kind] > 0)
			adapt(c, kind);
}

float gw_coverage_own(float own, double missed, uint32_t times)
{
	/* Times predicted together miss for one reason: count few of them. */
	double n = times < 4 ? times : 4;
	double next = (double)own + OWN_GAIN * n * (missed - GW_MISS);

	return (float)(next > OWN_ROOM ? OWN_ROOM : next < -OWN_ROOM ? -OWN_ROOM : next);
}

/* Upper end of a bin, in log time; the last one has what is above, too. */
static double bin_end(unsigned bin)
{
	return LEAST_ERROR * exp2((double)bin * BIN_STEP);
}

void gw_errors_start(struct gw_errors *e)
{
	for (unsigned i = 0; i < GW_ERROR_BINS; i++)
		e->count[i] = bin_end(i) < FIRST_ERRORS;
}

void gw_errors_add(struct gw_errors *e, double error)
{
	unsigned bin = 0;

	while (bin < GW_ERROR_BINS - 1 && error > bin_end(bin))
		bin++;
	if (++e->count[bin] < FULL)
		return;
	for (unsigned i = 0; i < GW_ERROR_BINS; i++)
		e->count[i] /= 2;
}

static double all_of(const struct gw_errors *e)
{
	double n = 0;

	for (unsigned i = 0; i < GW_ERROR_BINS; i++)
		n += e->count[i];
	return n;
}

double gw_errors_reach(const struct gw_errors *own, const struct gw_errors *all, double weight)
{
	double each = weight / fmax(all_of(all), 1), n = 0;
	double least = (all_of(own) + weight) * (1 - GW_MISS);
	unsigned bin = 0;

	for (; bin < GW_ERROR_BINS - 1; bin++) {
		n += own->count[bin] + each * all->count[bin];
		if (n >= least)
			break;
	}
	return bin_end(bin);
}

void gw_coverage_range(const float *times, uint32_t n, double *low, double *high)
{
	float least = times[0], most = times[0];

	for (uint32_t i = 1; i < n; i++) {
		least = times[i] < least ? times[i] : least;
		most = times[i] > most ? times[i] : most;
	}
	*low = (double)least;
	*high = (double)most;
}
