/* Begins of launches that are not inlined into their wrappers, which two ways in share. */
#include "preload/launch/launch.h"

void gw_kernel_event_rare(struct gw_call *call, CUfunction f, uint32_t gx, uint32_t gy, uint32_t gz,
			  uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared, CUstream stream,
			  void **params, void **extra, uint8_t flags, enum gw_event_kind kind)
{
	gw_kernel_event(call, f, gx, gy, gz, bx, by, bz, shared, stream, params, extra, 0, flags,
			kind);
}

/* The place in a line that holds nothing of use, as what was there before for the same handle, or
 * one by chance. */
static struct gw_known_kernel *place_in(struct gw_known_kernel *line, uint32_t generation,
					uint32_t chance)
{
	for (int i = 0; i < 2; i++)
		if (!line[i].function || line[i].generation != generation)
			return &line[i];
	return &line[chance % 2];
}

const struct gw_known_kernel *gw_kernel_look_up(struct gw_call *call, CUfunction f,
						uint32_t generation)
{
	struct gw_shared *s = gw_hot.shared;
	struct gw_thread_known *known = call->thread->known;
	struct gw_known_kernel *k =
		known && call->how == GW_CALL_OUTER
			? place_in(gw_known_line(known, (uintptr_t)f), generation, call->at)
			: &call->known;
	uint32_t slot = gw_map_get(&s->functions, (uintptr_t)f);

	if (!slot)
		slot = gw_kernel_resolve(f);
	k->function = 0; /* a launch in a signal handler may look here at any time */
	atomic_signal_fence(memory_order_seq_cst);
	k->slot = slot;
	k->generation = generation;
	k->cluster = s->kernels[slot].cluster;
	/* Pairs with the release in publish() (analysis/digests.c). */
	k->plan = atomic_load_explicit(&s->kernels[slot].plan, memory_order_acquire);
	atomic_signal_fence(memory_order_seq_cst);
	k->function = slot ? (uintptr_t)f : 0;
	return k;
}

void launch_ex_begin(struct gw_call *call, const CUlaunchConfig *config, CUfunction f,
		     void **params, void **extra)
{
	uint32_t cluster = 0;
	uint8_t flags = 0;

	call->how = GW_CALL_IGNORED;
	if (!config) /* the driver refuses it */
		return;
	for (unsigned i = 0; i < config->numAttrs && config->attrs; i++) {
		const CUlaunchAttribute *a = &config->attrs[i];

		if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			cluster = (a->value.clusterDim.x & 1023) |
				  (a->value.clusterDim.y & 1023) << 10 |
				  (a->value.clusterDim.z & 1023) << 20;
		else if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && a->value.cooperative)
			flags |= GW_EVENT_COOPERATIVE;
	}
	gw_kernel_event(call, f, config->gridDimX, config->gridDimY, config->gridDimZ,
			config->blockDimX, config->blockDimY, config->blockDimZ,
			config->sharedMemBytes, config->hStream, params, extra, cluster, flags,
			GW_EVENT_KERNEL);
}

void graph_launch_begin(struct gw_call *call, CUgraphExec exec, CUstream stream)
{
	struct gw_event *e = gw_event_begin(call, stream);
	struct gw_shared *s = gw_hot.shared;
	struct gw_graph_slot *g;
	uint32_t before;

	if (!e)
		return;
	e->kind = GW_EVENT_GRAPH;
	e->kernel = (uint16_t)gw_map_get(&s->graphs, (uintptr_t)exec);
	if (!e->kernel)
		return;
	g = &s->graph_slots[e->kernel];
	atomic_store_explicit(&g->launched, 1, memory_order_relaxed);
	before = atomic_load_explicit(&g->stream, memory_order_relaxed);
	atomic_store_explicit(&g->stream, e->stream + 1u, memory_order_relaxed);
	/* It waits for its last launch, in whatever stream: a pair would time that, too. */
	if (GW_UNLIKELY(atomic_load_explicit(&gw_hot.events, memory_order_relaxed)) &&
	    (!before || before == e->stream + 1u))
		gw_events_begin(call, stream, g->count);
}

void gw_launch_end_rare(struct gw_call *call, CUresult result, void **params, void **extra)
{
	gw_launch_end(call, result, params, extra);
}
