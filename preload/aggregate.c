/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/aggregate.h"

#include "preload/degrade.h"
#include "preload/idmap.h"
#include "preload/log.h"
#include "preload/options.h"
#include "preload/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUMS_MAX = 1 << 14 };
static const uint64_t SPAN_NS = UINT64_C(10000000000);

static struct gw_record_aggregate *sums;
static uint32_t count;
static struct gw_idmap map; /* config -> index + 1 */
static uint64_t begin_ns;

static void forget(void)
{
	count = 0;
	free(map.keys);
	free(map.ids);
	memset(&map, 0, sizeof(map));
}

void gw_aggregate_start(void)
{
	forget();
	begin_ns = 0;
}

static struct gw_record_aggregate *sum_of(uint32_t config)
{
	uint64_t key = gw_idmap_key(config, 11);
	uint32_t at = gw_idmap_get(&map, key);

	if (at)
		return &sums[at - 1];
	if (!sums)
		sums = calloc(SUMS_MAX, sizeof(*sums));
	if (!sums || count == SUMS_MAX)
		return NULL;
	sums[count] = (struct gw_record_aggregate){.config = config, .min_ns = UINT64_MAX};
	gw_idmap_put(&map, key, count + 1);
	return &sums[count++];
}

void gw_aggregate_add(const struct gw_record_launch *r)
{
	struct gw_record_aggregate *s = sum_of(r->config);

	gw_degrade(GW_DEGRADED_LOG_FULL,
	           "the log has reached GPUWATCH_LOG_MAX (%llu bytes): from "
	           "there on it holds ten-second sums",
	           (unsigned long long)gw_options.log_max);
	gw_count(GW_COUNTER_aggregated, 1);
	if (!s) {
		gw_count(GW_COUNTER_table_full, 1);
		return;
	}
	s->launches++;
	if (!(r->flags & GW_LAUNCH_MEASURED))
		return;
	s->measured++;
	s->total_ns += r->duration_ns;
	s->min_ns = r->duration_ns < s->min_ns ? r->duration_ns : s->min_ns;
	s->max_ns = r->duration_ns > s->max_ns ? r->duration_ns : s->max_ns;
	if (isfinite(r->predicted) && r->duration_ns) {
		float t = (float)r->duration_ns;

		s->scored++;
		s->error_sum += fabsf(r->predicted - t) / t;
		s->covered += t >= r->low && t <= r->high;
	}
}

void gw_aggregate_tick(uint64_t now_ns, bool last)
{
	if (!begin_ns)
		begin_ns = now_ns;
	if (!last && now_ns - begin_ns < SPAN_NS)
		return;
	for (uint32_t i = 0; i < count; i++) {
		sums[i].start_ns = begin_ns;
		if (!sums[i].measured)
			sums[i].min_ns = 0;
		gw_log_write(GW_RECORD_AGGREGATE, &sums[i], sizeof(sums[i]), NULL, 0);
	}
	forget();
	begin_ns = now_ns;
}
