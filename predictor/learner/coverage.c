/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/learner/coverage.h"

#include <math.h>

static const double GAIN = 0.05;     /* adaptation rate of a width, per prediction judged … */
static const double GAIN_MOST = 0.4; /* … and per batch of them */
static const double ROOM = 8;        /* bound of a width relative to its start, as a factor */
static const double NORMAL =
        1.645; /* standard deviations that contain 90% of a normal distribution */
/* How other configurations of a kernel differ is stated too narrowly until some were judged: what
 * programs of half a second showed. */
static const double KERNEL_TIMED = 1.5;
/* Rates for one configuration: faster, because it has only its own times; slowly forgotten. */
static const double OWN_GAIN = 0.06, OWN_KEEP = 0.98, OWN_ROOM = 1.5;

static double first_width(unsigned kind)
{
	/* The spread of one to four times is unknown: these are in units of log time. */
	static const double sizes[GW_WIDTH_SIZES] = {0.40, 0.30, 0.20, 4, 3, 2.5};

	if (kind < GW_WIDTH_SIZES)
		return sizes[kind];
	if (kind == GW_WIDTH_LEAST || kind < gw_width_of_work(GW_TIER_WARM, GW_SOURCE_NONE))
		return NORMAL;
	return KERNEL_TIMED * NORMAL;
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
	gain = fmax(GAIN, 3.0 / (c->seen[kind] + 6.0));
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
	double next = OWN_KEEP * (double)own + OWN_GAIN * n * (missed - GW_MISS);

	return (float)fmin(fmax(next, -OWN_ROOM / 2), OWN_ROOM);
}

void gw_coverage_range(const float *times, uint32_t n, double *low, double *high)
{
	float least = times[0], most = times[0];

	for (uint32_t i = 1; i < n; i++) {
		least = fminf(least, times[i]);
		most = fmaxf(most, times[i]);
	}
	*low = (double)least;
	*high = (double)most;
}
