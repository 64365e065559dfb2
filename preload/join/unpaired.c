#include "preload/join/unpaired.h"

#include "preload/maps/configs.h"

#include <string.h>

static uint32_t lone_records[2]; /* without a launch: of streams, of graphs */

void gw_unpaired_start(void)
{
	memset(lone_records, 0, sizeof(lone_records));
}

bool gw_unpaired_launch(uint32_t config, bool graph)
{
	int32_t *mine = &gw_config_entry(gw_config_entry(config)->pair)->unpaired[graph];

	if (lone_records[graph] > 0 && (!config || *mine < 0)) {
		lone_records[graph]--;
		*mine += config != 0;
		return false;
	}
	*mine += *mine < INT32_MAX; /* libcupti may have dropped that many records */
	return true;
}

bool gw_unpaired_record(uint32_t config, bool graph, uint64_t start_ns)
{
	struct gw_config_entry *pair = gw_config_entry(gw_config_entry(config)->pair);
	int32_t *mine = &pair->unpaired[graph];
	int32_t *unknown = &gw_config_entry(0)->unpaired[graph];

	if (*mine > 0 || *unknown > 0) {
		--*(*mine > 0 ? mine : unknown);
		return false;
	}
	lone_records[graph] += *mine > INT32_MIN;
	*mine -= *mine > INT32_MIN;
	pair->lone_ns = start_ns;
	return true;
}

bool gw_unpaired_late(uint32_t config, bool graph, uint64_t call_ns)
{
	const struct gw_config_entry *pair;

	if (!config || lone_records[graph] <= 0)
		return false;
	pair = gw_config_entry(gw_config_entry(config)->pair);
	return pair->unpaired[graph] < 0 && call_ns <= pair->lone_ns;
}
