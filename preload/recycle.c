/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/recycle.h"

#include "preload/clock.h"
#include "preload/drain.h"
#include "preload/state.h"

#include <stdlib.h>

enum { PER_ROUND = 1024 }; /* slots looked at in a round */

/*
 * An event that names a slot was begun before the slot was retired, and an event is
 * committed when the driver returns: a slot rests for ten seconds of draining, far longer
 * than a launch call that is stuck behind a full queue.
 */
static bool rested(struct gw_slot *slot, uint64_t until)
{
	uint64_t khz = gw_clock_khz(), retired;

	if (atomic_load_explicit(&slot->state, memory_order_acquire) != GW_SLOT_RETIRED)
		return false;
	retired = atomic_load(&slot->retired);
	return khz && until > retired && until - retired > khz * 10000;
}

static void set_free(struct gw_slot *slot)
{
	atomic_store_explicit(&slot->state, GW_SLOT_FREE, memory_order_release);
}

void gw_recycle(void)
{
	static uint32_t stream_at, graph_at;
	struct gw_shared *s = gw_hot.shared;
	uint64_t until = gw_drained_until();

	for (int i = 0; i < PER_ROUND; i++) {
		struct gw_stream_slot *slot = &s->stream_slots[stream_at++ % GW_STREAMS_MAX];

		if (rested(&slot->life, until))
			set_free(&slot->life);
	}
	for (int i = 0; i < PER_ROUND; i++) {
		struct gw_graph_slot *slot = &s->graph_slots[graph_at++ % GW_GRAPHS_MAX];

		if (rested(&slot->life, until)) {
			slot->count = 0; /* a launch stuck for longer finds nothing here */
			free(slot->nodes);
			slot->nodes = NULL;
			set_free(&slot->life);
		}
	}
}
