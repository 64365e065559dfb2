#include "cli/log/clock.h"

#include "cli/common/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void log_clock_add(struct log_clocks *c, const struct gw_record_clock *r)
{
	c->samples++;
	c->held += r->reasons != 0;
	for (unsigned i = 0; i < GW_CLOCK_REASONS; i++)
		c->by_reason[i] += r->reasons >> i & 1;
	c->others += r->others != UINT32_MAX && r->others > 0;
	if (r->sm_khz) {
		gw_quantile_add(&c->sm_khz, (double)r->sm_khz);
		if (!c->sm_low || r->sm_khz < c->sm_low)
			c->sm_low = r->sm_khz;
		if (r->sm_khz > c->sm_high)
			c->sm_high = r->sm_khz;
	}
	if (r->mem_khz)
		gw_quantile_add(&c->mem_khz, (double)r->mem_khz);
	if (r->temperature != UINT32_MAX && r->temperature > c->temperature)
		c->temperature = r->temperature;
	if (r->power_mw != UINT32_MAX && r->power_mw > c->power_mw)
		c->power_mw = r->power_mw;
}

void log_clocks_free(struct log_clocks *c)
{
	gw_quantile_free(&c->sm_khz);
	gw_quantile_free(&c->mem_khz);
}

void log_slow_add(struct log_slows *s, uint32_t file, const struct log_slow *slow)
{
	const uint64_t parts[] = {file, slow->record.config, slow->record.graph,
				  slow->record.since_ns};
	uint64_t key = gw_hash(0, parts, sizeof(parts));
	uint32_t at = gw_index_find(&s->index, key, NULL, NULL);

	if (at != GW_INDEX_NONE) {
		s->list[at] = *slow;
		return;
	}
	if (s->count == GW_SLOW_MOST) {
		s->beyond++;
		return;
	}
	gw_index_add(&s->index, key, (uint32_t)s->count);
	GW_GROW(s->list, &s->room, s->count + 1);
	s->list[s->count++] = *slow;
}

void log_slows_free(struct log_slows *s)
{
	gw_index_free(&s->index);
	free(s->list);
}

enum gw_slow_cause log_slow_cause(const struct log_slow *s)
{
	return s->record.cause < (uint32_t)GW_SLOW_CAUSES ? (enum gw_slow_cause)s->record.cause
							  : GW_SLOW_UNKNOWN;
}

double log_slow_lost(const struct log_slow *s)
{
	const struct gw_record_slow *r = &s->record;
	double lost = (double)r->slow * (double)r->predicted * ((double)r->ratio - 1);

	return isfinite(lost) && lost > 0 ? lost : 0;
}
