#include "preload/worker/drain.h"

#include "preload/live/aggregate.h"
#include "preload/runtime/clock.h"
#include "preload/live/live.h"
#include "preload/maps/memory.h"
#include "preload/worker/parts.h"

#include <stdlib.h>

/*
 * What was called while a slot was in use has left its event by now, but for calls that are still
 * in the driver: these are recognised when they come (slots.h). The pause is for those that began
 * to look for a slot and were kept from running before they took one: their call must not seem to
 * be older than the end of the slot's last use.
 */
enum { PAUSE_MS = 20 };

void gw_recycle(uint64_t until)
{
	struct gw_shared *s = gw_hot.shared;
	uint64_t pause = gw_clock_khz() * PAUSE_MS;
	uint32_t at;

	if (!pause)
		return;
	while ((at = gw_slot_rested(&s->streams_free, until, pause))) {
		gw_live_stream(at, NULL);
		gw_slot_free(&s->streams_free, at);
	}
	while ((at = gw_slot_rested(&s->graphs_free, until, pause))) {
		struct gw_graph_slot *slot = &s->graph_slots[at];

		gw_memory_free(GW_MEMORY_graphs, slot->nodes, slot->count, sizeof(*slot->nodes));
		if (slot->as)
			gw_memory_free(GW_MEMORY_graphs, slot->as, 1, sizeof(*slot->as));
		gw_live_graph_gone(at);
		gw_aggregate_graph_gone(at);
		slot->count = 0;
		slot->nodes = NULL;
		slot->as = NULL;
		gw_slot_free(&s->graphs_free, at);
	}
}
