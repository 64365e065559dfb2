/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/coverage.h"

#include <math.h>

static const double GAIN = 0.05;     /* how fast a width adapts in the long run … */
static const double GAIN_MOST = 0.4; /* … and at first, when a miss tells the most */
static const double ROOM = 8;        /* a width stays within this factor of the first */
static const double NORMAL = 1.645;  /* standard deviations that hold 90% of a normal */
/* The same for one configuration: quicker, as it has but its own; slowly forgotten. */
static const double OWN_GAIN = 0.06, OWN_KEEP = 0.98, OWN_ROOM = 2;

static double first_width(unsigned kind)
{
	/* Of one to four times the spread is not known: these are of log time itself. */
	static const double sizes[GW_WIDTH_SIZES] = {0.40, 0.30, 0.20, 4, 3, 2.5};

	return kind < GW_WIDTH_SIZES ? sizes[kind] : NORMAL;
}

void gw_coverage_start(struct gw_coverage *c)
{
	for (unsigned i = 0; i < GW_WIDTHS; i++) {
		c->width[i] = (float)first_width(i);
		c->seen[i] = 0;
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

void gw_coverage_adapt(struct gw_coverage *c, unsigned kind, double missed)
{
	double first = first_width(kind), gain, width;

	/* 3/n finds a quantile of n times about as fast as can be. */
	gain = fmin(fmax(GAIN, 3.0 / (c->seen[kind] + 6.0)), GAIN_MOST);
	width = (double)c->width[kind] * exp(gain * (missed - GW_MISS));
	c->width[kind] = (float)fmin(fmax(width, first / ROOM), first * ROOM);
	if (c->seen[kind] < UINT32_MAX)
		c->seen[kind]++;
}

float gw_coverage_own(float own, double missed, uint32_t times)
{
	/* Times that were predicted at once were missed for one reason: count few of them. */
	double n = times < 4 ? times : 4;
	double next = OWN_KEEP * (double)own + OWN_GAIN * n * (missed - GW_MISS);

	return (float)fmin(fmax(next, -OWN_ROOM / 2), OWN_ROOM);
}
