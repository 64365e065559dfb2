#include "predictor/learner/overlap.h"

#include <math.h>

static const float FADE = 1 / 32.0f; /* as many launches as a history holds */

void gw_overlap_add(struct gw_overlap *c, bool exclusive, double seconds)
{
	c->share += FADE * ((exclusive ? 0 : 1) - c->share);
	if (exclusive)
		return;
	c->times[c->count % GW_RANGE_TIMES] = (float)seconds;
	c->count++;
	/* Keep the ring's position when the count would wrap. */
	if (c->count == UINT32_MAX)
		c->count = GW_RANGE_TIMES + UINT32_MAX % GW_RANGE_TIMES;
}

bool gw_overlap_range(const struct gw_overlap *c, double *low, double *high)
{
	uint32_t n = c->count < GW_RANGE_TIMES ? c->count : GW_RANGE_TIMES;

	if (!n || (double)c->share < GW_MISS / 2)
		return false;
	gw_coverage_range(c->times, n, low, high);
	return true;
}
