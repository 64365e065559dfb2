/*
 * A graph launch is as many launches as it has enabled kernel nodes. Where these go into sums, and
 * none waits for its time, they are added as a whole: a decode loop runs a million kernels a second
 * in graphs, of which each would take as long as a launch.
 */
#include "preload/worker/parts.h"

#include "preload/analysis/analyze.h"
#include "preload/cupti/activity.h"
#include "preload/cupti/attach.h"
#include "preload/cupti/window_cost.h"
#include "preload/launch/arguments.h"
#include "preload/launch/launch.h"
#include "preload/live/aggregate.h"
#include "preload/live/expected.h"
#include "preload/live/graph_sums.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"
#include "preload/worker/registry.h"

#include <math.h>

static uint32_t launched; /* graphs, so far */

void gw_launch_graph_start(void)
{
	launched = 0;
}

/* As if the kernel had been launched by itself. */
static void node_entered(struct gw_record_launch *r, const struct gw_thread *t, uint64_t ticks,
			 const struct gw_graph_node *n, uint32_t number)
{
	const struct gw_config *c = &n->config;
	const struct gw_event e = {
		.ticks = ticks,
		.kind = GW_EVENT_KERNEL,
		.flags = n->cooperative ? GW_EVENT_COOPERATIVE : 0,
		.kernel = (uint16_t)n->kernel,
		.grid = {c->grid.x, c->grid.y, c->grid.z},
		.block_x = (uint16_t)c->block.x,
		.block_y = (uint16_t)c->block.y,
		.block_z = (uint16_t)c->block.z,
		.cluster = c->cluster.x | c->cluster.y << 10 | c->cluster.z << 20,
		.shared = c->dynamic_shared,
		.digest = c->digest,
	};

	gw_live_enter(r, t, &e, number);
}

/* The configuration of node @p i of @p g, at the first launch of it. */
static void configure(struct gw_predictor_set *fleet, const struct gw_event *e,
		      const struct gw_graph_slot *g, uint32_t i)
{
	struct gw_graph_node *n = &g->nodes[i];

	gw_device_meet((int)n->device - 1);
	n->config_id = gw_intern_config(n->kernel, n->device ? n->device : gw_launch_device(e),
					&n->config);
	n->node_id = gw_intern_node(g->exec, i + 1);
	gw_configure_new(fleet);
	gw_arguments_node(n->config_id, n->arguments);
	gw_analysis_want(n->config_id);
}

static void count(const struct gw_record_launch *r, struct gw_graph_launch *as)
{
	if (isfinite(r->predicted))
		*(r->flags & GW_LAUNCH_LATE ? &as->late : &as->before) += 1;
	if (!(r->predicted > 0))
		return;
	as->expected_kernels++;
	as->expected_ns += (uint64_t)((double)r->predicted + 0.5);
}

/* Its kernel @p n as a launch, whose prediction is added to @p as. */
static struct gw_record_launch node_predicted(const struct gw_record_launch *base,
					      const struct gw_graph_node *n,
					      struct gw_graph_launch *as)
{
	struct gw_record_launch r = *base;
	enum gw_bound bound;

	r.config = n->config_id;
	r.node = n->node_id;
	r.flags |= GW_LAUNCH_GRAPH | (n->cooperative ? GW_LAUNCH_COOPERATIVE : 0);
	bound = gw_launch_predict(&r);
	gw_graph_run_kernel(&as->run, (double)r.predicted, bound);
	count(&r, as);
	return r;
}

static void bump(const struct gw_graph_launch *as)
{
	gw_bump(&gw_counters[GW_COUNTER_graph_kernels], as->run.kernels);
	gw_bump(&gw_counters[GW_COUNTER_predicted], as->before);
	gw_bump(&gw_counters[GW_COUNTER_predicted_late], as->late);
	gw_bump(&gw_counters[GW_COUNTER_expected_ns], as->expected_ns);
	gw_bump(&gw_counters[GW_COUNTER_expected_kernels], as->expected_kernels);
}

/* ---- kernel by kernel ---- */

static void launch_each(struct gw_thread *t, const struct gw_event *e,
			struct gw_predictor_set *fleet, const struct gw_record_launch *base,
			struct gw_graph_launch *as)
{
	const struct gw_graph_slot *g = &gw_hot.shared->graph_slots[e->kernel];

	for (uint32_t i = 0; i < g->count; i++) {
		const struct gw_graph_node *n = &g->nodes[i];
		struct gw_record_launch r;

		if (!n->enabled)
			continue;
		if (!n->config_id)
			configure(fleet, e, g, i);
		r = node_predicted(base, n, as);
		/* On another GPU than the launch's stream: its record shows its stream. */
		if (n->device && gw_launch_device(e) && n->device != gw_launch_device(e))
			r.stream = 0;
		if (r.config)
			gw_config_launched(r.config, 1);
		else
			gw_count(GW_COUNTER_table_full, 1);
		gw_live_launched(r.config, 1);
		node_entered(&r, t, e->ticks, n, i + 1);
		gw_launch_hand_over(t, e, &r, g->cupti_exec, launched);
	}
}

/* ---- as a whole ---- */

/* No kernel of it waits for its time, or has a record of its own. */
static bool in_sums(const struct gw_event *e)
{
	return gw_options_sum() && gw_log_is_open() && !gw_log_sums() &&
	       !gw_activity_covers(e->ticks, (e->flags & GW_EVENT_CORRELATED) != 0);
}

/* What a launch of it is predicted to come to; false: not all of its kernels are known. */
static bool predict(const struct gw_graph_slot *g, const struct gw_record_launch *base,
		    struct gw_graph_launch *as)
{
	for (uint32_t i = 0; i < g->count; i++) {
		const struct gw_graph_node *n = &g->nodes[i];

		if (!n->enabled)
			continue;
		if (!n->config_id)
			return false;
		node_predicted(base, n, as);
	}
	return true;
}

/* The same for launches that saw what @p e saw, until a prediction changes. NULL: not known. */
static const struct gw_graph_launch *predicted(const struct gw_event *e,
					       const struct gw_predictor_set *fleet,
					       const struct gw_record_launch *base,
					       const struct gw_graph_run *run)
{
	struct gw_graph_slot *g = &gw_hot.shared->graph_slots[e->kernel];
	const uint64_t changes = gw_predictor_set_changes(fleet);

	if (!g->as)
		g->as = gw_memory_new(GW_MEMORY_graphs, 1, sizeof(*g->as));
	if (!g->as)
		return NULL;
	if (g->as->made && g->as->changes == changes && g->as->known == e->known)
		return g->as;
	*g->as = (struct gw_graph_launch){.run = *run, .changes = changes, .known = e->known};
	g->as->made = predict(g, base, g->as);
	return g->as->made ? g->as : NULL;
}

static bool launch_whole(struct gw_thread *t, const struct gw_event *e,
			 const struct gw_predictor_set *fleet, const struct gw_record_launch *base,
			 struct gw_graph_launch *out)
{
	const struct gw_graph_launch *as = in_sums(e) ? predicted(e, fleet, base, &out->run) : NULL;
	struct gw_record_launch r = *base;

	if (!as || !gw_aggregate_graph_room(e->kernel))
		return false;
	r.flags |= GW_LAUNCH_GRAPH;
	gw_live_untimed(&r);
	gw_live_enter(&r, t, e, 0);
	gw_aggregate_graph(e->kernel, &r);
	*out = *as;
	out->run.device = (int)gw_launch_device(e) - 1;
	out->run.call_ns = base->call_ns;
	return true;
}

static void launched_before(uint32_t config, uint64_t launches)
{
	gw_config_launched(config, launches);
	gw_live_launched(config, launches);
}

void gw_launch_graphs_show(void)
{
	gw_aggregate_graphs(launched_before);
}

void gw_launch_graph(struct gw_thread *t, struct gw_event *e, struct gw_predictor_set *fleet)
{
	const struct gw_graph_slot *g = &gw_hot.shared->graph_slots[e->kernel];
	const struct gw_record_launch base = gw_launch_record(t, e);
	struct gw_graph_launch as = {.run = {.graph = g->exec,
					     .device = (int)gw_launch_device(e) - 1,
					     .call_ns = base.call_ns,
					     .unlisted = g->unknown}};
	const bool timed = (e->flags & GW_EVENT_TIMED) != 0;

	e->flags &= (uint8_t)~GW_EVENT_TIMED; /* the graph is, none of its kernels */
	if (!e->kernel || g->unknown)
		gw_bump(&t->counts.graph_unknown, 1);
	if (!e->kernel)
		return;
	launched++;
	gw_window_cost_launch(g->count);
	if (!launch_whole(t, e, fleet, &base, &as))
		launch_each(t, e, fleet, &base, &as);
	bump(&as);
	if (!gw_attach_count()) /* else its kernels are timed, one by one */
		gw_bump(&gw_counters[GW_COUNTER_expected_graphs_ns], (uint64_t)as.run.expected_ns);
	gw_graph_sums_launched(&as.run, t->serial, timed ? gw_launch_ticket(t) : 0);
}
