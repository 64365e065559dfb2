#include "preload/worker/parts.h"

#include "preload/runtime/clock.h"
#include "preload/maps/memory.h"

static void add_thread(const struct gw_thread *t, uint64_t out[GW_COUNTERS])
{
	const struct gw_thread_counts *c = &t->counts;

#define ADD(counter, field) \
	out[GW_COUNTER_##counter] += atomic_load_explicit(&c->field, memory_order_relaxed)
	ADD(launches, launches);
	ADD(captured, captured);
	ADD(graph_launches, graph_launches);
	ADD(graph_unknown, graph_unknown);
	ADD(failed, failed);
	ADD(ring_dropped, dropped);
	ADD(events_skipped, events_skipped);
	ADD(events_ns, pair_ticks);
#undef ADD
}

void gw_totals_sum(uint64_t out[GW_COUNTERS])
{
	uint32_t n = atomic_load(&gw_hot.shared->thread_count);

	for (int i = 0; i < GW_COUNTERS; i++)
		out[i] = atomic_load_explicit(&gw_counters[i], memory_order_relaxed);
	for (uint32_t i = 0; i < n && i < GW_THREADS_MAX; i++) {
		const struct gw_thread *t = atomic_load(&gw_hot.shared->threads[i]);

		if (t)
			add_thread(t, out);
	}
	out[GW_COUNTER_events_ns] = gw_ticks_ns(out[GW_COUNTER_events_ns]);
	out[GW_COUNTER_attach_ns] = gw_attach_ns();
	out[GW_COUNTER_overhead_ns] = gw_overhead_ns();
	gw_memory_counters(out);
}
