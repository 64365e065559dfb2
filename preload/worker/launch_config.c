/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/worker/parts.h"

#include "preload/launch/launch.h"
#include "preload/worker/registry.h"

uint32_t gw_launch_device(const struct gw_event *e)
{
	return gw_slot_device(gw_hot.shared, e->stream);
}

static bool same(const struct gw_config_entry *c, const struct gw_event *e)
{
	return c->slot == e->kernel && c->device == gw_launch_device(e) &&
	       c->config.grid.x == e->grid[0] && c->config.grid.y == e->grid[1] &&
	       c->config.grid.z == e->grid[2] && c->config.block.x == e->block_x &&
	       c->config.block.y == e->block_y && c->config.block.z == e->block_z &&
	       c->config.dynamic_shared == e->shared && c->config.digest == e->digest;
}

static uint32_t config_look_up(const struct gw_event *e)
{
	struct gw_config c = gw_event_config(e);

	return gw_intern_config(e->kernel, gw_launch_device(e), &c);
}

enum { RECENT_BITS = 12 };

uint32_t gw_launch_config(const struct gw_event *e, bool *read)
{
	/* The last configuration of each hash: programs launch few kinds, many times. */
	static struct {
		uint64_t key;
		uint32_t config;
	} recent[1 << RECENT_BITS];
	static const uint32_t none = UINT32_MAX; /* the table is full: there will never be one */
	uint32_t id = gw_cell_id(e->config), at;
	uint64_t key;

	*read = !(e->flags & GW_EVENT_CORRELATED) && id && id <= gw_config_count() &&
	        same(gw_config_entry(id), e);
	if (*read)
		return id;
	key = gw_cell_key(gw_cell_kernel(e->kernel, gw_launch_device(e)), e->grid, e->block_x,
	                  e->block_y, e->block_z, e->cluster, e->shared, e->digest);
	at = (uint32_t)(key >> (64 - RECENT_BITS));
	if (recent[at].key == key && recent[at].config == none && gw_config_full())
		return 0;
	if (recent[at].key != key || recent[at].config > gw_config_count() || !recent[at].config ||
	    !same(gw_config_entry(recent[at].config), e)) {
		recent[at].key = key;
		recent[at].config = config_look_up(e);
		if (!recent[at].config && gw_config_full()) {
			recent[at].config = none;
			return 0;
		}
	}
	*read = e->flags & GW_EVENT_CORRELATED && gw_event_tier(e) != GW_TIER_NONE;
	return recent[at].config;
}
