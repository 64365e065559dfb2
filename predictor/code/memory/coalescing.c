#include "predictor/code/memory/coalescing.h"

#include <math.h>
#include <stddef.h>

/* Lanes of @p r in the coalescing range, into the graph; the share of the active ones. */
static double in_range(struct gw_coalescing *c, const struct gw_request *r, double times)
{
	unsigned first = (unsigned)__builtin_ctz(r->active), within = 0;
	uint64_t start = r->address[first] / GW_SECTOR_BYTES * GW_SECTOR_BYTES;
	uint32_t length = GW_REQUEST_LANES * r->bytes;

	for (unsigned lane = first; lane < GW_REQUEST_LANES; lane++) {
		uint64_t away = r->address[lane] - start;
		uint32_t at = (uint32_t)away; /* which divides faster */

		/* An address below the start wraps and is far outside. */
		if (!(r->active >> lane & 1) || away >= length)
			continue;
		within++;
		c->graph[at / r->bytes] += times;
		c->range_sectors |= UINT32_C(1) << at / GW_SECTOR_BYTES;
		/* The range ends on a sector; an element that leaves it adds none to it. */
		if ((at + r->bytes - 1) / GW_SECTOR_BYTES < r->bytes)
			c->range_sectors |= UINT32_C(1) << (at + r->bytes - 1) / GW_SECTOR_BYTES;
	}
	return (double)within / gw_request_lanes(r);
}

void gw_coalescing_add(struct gw_coalescing *c, const struct gw_request *r, double times)
{
	double sectors;

	if (!r->active || !(times > 0) || !gw_request_valid(r))
		return;
	sectors = gw_request_sectors(r);
	c->least_sectors = c->requests > 0 ? fmin(c->least_sectors, sectors) : sectors;
	c->most_sectors = fmax(c->most_sectors, sectors);
	c->bytes = c->requests > 0 && c->bytes != r->bytes ? 0 : r->bytes;
	c->requests += times;
	c->lanes += times * gw_request_lanes(r);
	c->coalesced += times * in_range(c, r, times);
	c->sectors += times * sectors;
	c->lines += times * gw_request_pieces(r, GW_LINE_BYTES, NULL);
}

void gw_coalescing_merge(struct gw_coalescing *c, const struct gw_coalescing *other, double times)
{
	bool first = !(c->requests > 0);

	if (!(other->requests > 0))
		return;
	c->bytes = first || c->bytes == other->bytes ? other->bytes : 0;
	c->least_sectors =
		first ? other->least_sectors : fmin(c->least_sectors, other->least_sectors);
	c->most_sectors = first ? other->most_sectors : fmax(c->most_sectors, other->most_sectors);
	c->requests += other->requests * times;
	c->lanes += other->lanes * times;
	c->coalesced += other->coalesced * times;
	for (unsigned i = 0; i < GW_REQUEST_LANES; i++)
		c->graph[i] += other->graph[i] * times;
	c->range_sectors |= other->range_sectors;
	c->sectors += other->sectors * times;
	c->lines += other->lines * times;
}

double gw_coalescing_degree(const struct gw_coalescing *c)
{
	return c->coalesced / c->requests;
}

unsigned gw_coalescing_range_sectors(const struct gw_coalescing *c)
{
	return (unsigned)__builtin_popcount(c->range_sectors);
}

double gw_coalescing_expectation(const struct gw_coalescing *c)
{
	return gw_coalescing_range_sectors(c) / gw_coalescing_degree(c);
}

double gw_coalescing_sectors(const struct gw_coalescing *c)
{
	return c->sectors / c->requests;
}

bool gw_coalescing_is_coalesced(const struct gw_coalescing *c)
{
	double bytes = c->bytes ? c->bytes : GW_BANK_BYTES;
	double filled = ceil(c->lanes / c->requests * bytes / GW_SECTOR_BYTES);

	return gw_coalescing_sectors(c) <= filled + 1;
}
