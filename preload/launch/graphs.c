/*
 * What an executable graph runs: its kernel nodes, listed when it is made and kept right
 * through every change. A snapshot that has been launched is never changed, only replaced,
 * so that the worker can read it without a lock.
 */
#include "preload/cupti/activity.h"
#include "preload/cupti/window_cost.h"
#include "preload/launch/arguments.h"
#include "preload/launch/call.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/degrade.h"
#include "preload/live/live.h"
#include "preload/maps/memory.h"
#include "preload/launch/object_lifetime.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
	NODES_MAX = 1 << 17, /* kernel nodes of one graph that are listed */
	DEPTH_MAX = 16,      /* nesting of child graphs */
};

/* A list that grows while a graph is walked. */
struct list {
	struct gw_graph_node *nodes;
	uint32_t count, room;
	bool unknown;
};

static struct gw_graph_node *list_add(struct list *l)
{
	if (l->count == l->room) {
		uint32_t room = l->room ? l->room * 2 : 32;
		struct gw_graph_node *nodes =
			l->count < NODES_MAX ? gw_memory_wider(GW_MEMORY_graphs, l->nodes, l->room,
							       room, sizeof(*nodes))
					     : NULL;

		if (!nodes) {
			l->unknown = true;
			return NULL;
		}
		l->nodes = nodes;
		l->room = room;
	}
	return &l->nodes[l->count++];
}

/* Of the arguments that the node keeps, if by now it is known what of them counts. */
static uint32_t node_digest(uint32_t kernel, const CUDA_KERNEL_NODE_PARAMS *p)
{
	/* Pairs with the release in publish() (analysis/digests.c). */
	const struct gw_digest_plan *plan =
		atomic_load_explicit(&gw_hot.shared->kernels[kernel].plan, memory_order_acquire);

	return plan ? gw_digest_read(plan, p->kernelParams, p->extra) : 0;
}

/* In the node's context, which its function belongs to, and a library's module too. */
static uint32_t resolve(CUfunction f, CUcontext context)
{
	bool pushed = false;
	uint32_t slot;

	if (context)
		gw_context_enter(context, &pushed); /* what can't be entered is asked from here */
	slot = gw_kernel_resolve(f);
	gw_context_leave(pushed);
	return slot;
}

static void node_fill(struct gw_graph_node *n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct gw_shared *s = gw_hot.shared;
	CUfunction f = p->func ? p->func : (CUfunction)p->kern;

	n->kernel = gw_map_get(&s->functions, (uintptr_t)f);
	if (!n->kernel)
		n->kernel = resolve(f, p->ctx);
	n->context = (uintptr_t)p->ctx;
	n->device = p->ctx ? (uint32_t)(gw_context_device(p->ctx) + 1) : 0;
	n->config_id = 0; /* what the worker has of it is of its old parameters */
	n->config.grid = (struct gw_dim3){p->gridDimX, p->gridDimY, p->gridDimZ};
	n->config.block = (struct gw_dim3){p->blockDimX, p->blockDimY, p->blockDimZ};
	n->config.dynamic_shared = p->sharedMemBytes;
	n->config.digest = node_digest(n->kernel, p);
	n->config.cluster = gw_cluster_of(s->kernels[n->kernel].cluster);
	n->arguments = gw_arguments_of_node(n->kernel, &n->config, p);
}

static void node_attributes(struct gw_graph_node *n, CUgraphNode node)
{
	CUlaunchAttributeValue value;

	if (!gw_driver.cuGraphKernelNodeGetAttribute)
		return;
	memset(&value, 0, sizeof(value));
	if (gw_driver.cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
						    &value) == CUDA_SUCCESS &&
	    value.clusterDim.x)
		n->config.cluster = (struct gw_dim3){value.clusterDim.x, value.clusterDim.y,
						     value.clusterDim.z};
	memset(&value, 0, sizeof(value));
	if (gw_driver.cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
						    &value) == CUDA_SUCCESS)
		n->cooperative = value.cooperative != 0;
}

static void walk(struct list *l, CUgraph graph, uintptr_t parent, int depth);

static void walk_node(struct list *l, CUgraphNode node, uintptr_t parent, int depth)
{
	CUgraphNodeType type;

	if (gw_driver.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS) {
		l->unknown = true;
	} else if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
		CUDA_KERNEL_NODE_PARAMS p;
		struct gw_graph_node *n = list_add(l);

		if (!n)
			return;
		memset(n, 0, sizeof(*n));
		memset(&p, 0, sizeof(p));
		n->node = (uintptr_t)node;
		n->parent = parent;
		n->enabled = true;
		if (gw_driver.cuGraphKernelNodeGetParams_v2(node, &p) != CUDA_SUCCESS) {
			l->unknown = true;
			l->count--;
			return;
		}
		node_fill(n, &p);
		node_attributes(n, node);
	} else if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
		CUgraph child;

		if (gw_driver.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS)
			walk(l, child, parent ? parent : (uintptr_t)node, depth + 1);
		else
			l->unknown = true;
	} else if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
		l->unknown = true; /* which bodies run is decided on the device */
		gw_window_conditional_comes();
	}
}

static void walk(struct list *l, CUgraph graph, uintptr_t parent, int depth)
{
	CUgraphNode *nodes = NULL;
	size_t count = 0;

	if (depth > DEPTH_MAX || !gw_driver.cuGraphGetNodes || !gw_driver.cuGraphNodeGetType ||
	    !gw_driver.cuGraphKernelNodeGetParams_v2 || !gw_driver.cuGraphChildGraphNodeGetGraph ||
	    gw_driver.cuGraphGetNodes(graph, NULL, &count) != CUDA_SUCCESS) {
		l->unknown = true;
		return;
	}
	if (!count)
		return;
	nodes = malloc(count * sizeof(*nodes));
	if (!nodes || gw_driver.cuGraphGetNodes(graph, nodes, &count) != CUDA_SUCCESS)
		l->unknown = true;
	else
		for (size_t i = 0; i < count; i++)
			walk_node(l, nodes[i], parent, depth);
	free(nodes);
}

static uint32_t slot_take(struct gw_shared *s)
{
	uint32_t at = gw_slot_take(&s->graphs_free);

	if (!at)
		gw_degrade(GW_DEGRADED_TABLE_FULL,
			   "more than %d executable graphs at a time: the nodes of "
			   "the others are not listed",
			   GW_GRAPHS_MAX - 1);
	return at;
}

static void slot_retire(uint32_t at)
{
	gw_slot_retire(&gw_hot.shared->graphs_free, at);
}

static void list_free(struct list *l)
{
	gw_memory_free(GW_MEMORY_graphs, l->nodes, l->room, sizeof(*l->nodes));
}

static void say_unknown(void)
{
	gw_degrade(GW_DEGRADED_GRAPH,
		   "a graph holds nodes whose kernels can't be listed "
		   "(conditional, or too many): they are counted from activity records, "
		   "else unknown");
}

/* No more room than for its nodes: the slot keeps no other number. */
static void list_fit(struct list *l)
{
	struct gw_graph_node *less = l->count ? realloc(l->nodes, l->count * sizeof(*less)) : NULL;

	if (l->count && !less)
		return; /* the rest is never used, and never given back */
	if (!l->count)
		free(l->nodes);
	gw_memory_give(GW_MEMORY_graphs, (l->room - l->count) * sizeof(*less));
	l->nodes = less;
	l->room = l->count;
}

/* Publish a list as what @p exec runs; the slot takes the list over. */
static void publish(CUgraphExec exec, struct list *l, uint32_t number)
{
	static _Atomic uint32_t numbers;
	struct gw_shared *s = gw_hot.shared;
	uint32_t at = slot_take(s);
	struct gw_graph_slot *slot = &s->graph_slots[at];

	gw_map_remove(&s->graphs, (uintptr_t)exec, slot_retire);
	if (!at) {
		list_free(l);
		return;
	}
	list_fit(l);
	slot->exec = number ? number : atomic_fetch_add(&numbers, 1) + 1;
	slot->cupti_exec = gw_activity_graph_id(exec);
	slot->unknown = l->unknown;
	slot->count = l->count;
	slot->nodes = l->nodes;
	atomic_store_explicit(&slot->stream, 0, memory_order_relaxed);
	gw_live_graph_made(at);
	/* Pairs with the seq_cst load in writable(). */
	atomic_store_explicit(&slot->launched, 0, memory_order_release);
	/* Where the map has no place for it, nothing will ever name it: its nodes go with it. */
	if (gw_map_put(&s->graphs, (uintptr_t)exec, at, 0, 0) != at)
		slot_retire(at);
	if (l->unknown)
		say_unknown();
}

void gw_graph_made(CUgraphExec exec, CUgraph graph)
{
	uint64_t begin = gw_ticks();
	struct list l = {0};
	int saved = errno;

	walk(&l, graph, 0, 0);
	publish(exec, &l, 0);
	gw_overhead_since(begin);
	errno = saved;
}

/* But for their ids, which the worker may be about to set: it asks for them anew. */
static void copy_nodes(struct gw_graph_node *to, const struct gw_graph_node *from, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		memcpy(&to[i], &from[i], offsetof(struct gw_graph_node, config_id));
		to[i].config_id = to[i].node_id = 0;
	}
}

/* The slot of @p exec, in a state that may be changed; NULL when the graph isn't known. */
static struct gw_graph_slot *writable(CUgraphExec exec)
{
	struct gw_shared *s = gw_hot.shared;
	uint32_t at = gw_map_get(&s->graphs, (uintptr_t)exec);
	struct gw_graph_slot *slot = &s->graph_slots[at];
	struct list copy = {0};

	if (!at)
		return NULL;
	if (!atomic_load(&slot->launched))
		return slot;
	copy.unknown = true;
	if (slot->count)
		copy.nodes = gw_memory_new(GW_MEMORY_graphs, slot->count, sizeof(*copy.nodes));
	if (copy.nodes || !slot->count) {
		copy.count = copy.room = slot->count;
		copy.unknown = slot->unknown;
	}
	if (copy.count)
		copy_nodes(copy.nodes, slot->nodes, copy.count);
	publish(exec, &copy, slot->exec);
	at = gw_map_get(&s->graphs, (uintptr_t)exec);
	return at ? &s->graph_slots[at] : NULL;
}

/*
 * The nodes under @p parent (0: all of them) get what those of @p list have. They keep their order
 * and their place, and are the same nodes: they go on being named by the handles of the graph that
 * was instantiated, and stay enabled or not.
 */
static void take_over(struct gw_graph_slot *slot, uintptr_t parent, const struct list *l)
{
	for (uint32_t i = 0, at = 0; i < slot->count; i++) {
		struct gw_graph_node *n = &slot->nodes[i], old = *n;

		if (parent && n->parent != parent)
			continue;
		*n = l->nodes[at++];
		n->node = old.node;
		n->parent = old.parent;
		n->enabled = old.enabled;
	}
}

/* What these nodes run is not known any more: they are listed no longer. */
static void give_up(struct gw_graph_slot *slot, uintptr_t parent, uint32_t own)
{
	for (uint32_t i = 0; i < slot->count; i++) {
		struct gw_graph_node *n = &slot->nodes[i];

		/* A child graph without nodes of its own is one within a child graph. */
		if (own ? parent && n->parent != parent : !n->parent)
			continue;
		n->enabled = false;
		n->node = 0;
	}
	slot->unknown = true;
}

/* The nodes under @p parent (0: all of them) are now those of @p graph. The driver takes no other
 * topology. */
static void replace(CUgraphExec exec, uintptr_t parent, CUgraph graph)
{
	struct gw_graph_slot *slot = writable(exec);
	struct list l = {0};
	uint32_t own = 0;

	if (!slot)
		return;
	walk(&l, graph, parent, parent ? 1 : 0);
	for (uint32_t i = 0; i < slot->count; i++)
		own += !parent || slot->nodes[i].parent == parent;
	if (own == l.count)
		take_over(slot, parent, &l);
	else
		give_up(slot, parent, own);
	list_free(&l);
	slot->unknown |= l.unknown; /* what is beside a child graph may be unknown, too */
	gw_live_graph_made((uint32_t)(slot - gw_hot.shared->graph_slots));
	if (slot->unknown)
		say_unknown();
}

void gw_graph_updated(CUgraphExec exec, CUgraph graph)
{
	int saved = errno;

	replace(exec, 0, graph);
	errno = saved;
}

void gw_graph_child_set(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	int saved = errno;

	replace(exec, (uintptr_t)node, child);
	errno = saved;
}

static void node_changed(const struct gw_graph_slot *slot, const struct gw_graph_node *n)
{
	gw_live_graph_changed((uint32_t)(slot - gw_hot.shared->graph_slots),
			      (uint32_t)(n - slot->nodes));
}

/* From behind the last one on: a program that changes all nodes does so in some order. */
static struct gw_graph_node *node_of(struct gw_graph_slot *slot, CUgraphNode node)
{
	static _Thread_local uint32_t at __attribute__((tls_model("initial-exec")));

	for (uint32_t i = 0; slot && i < slot->count; i++) {
		at = at + 1 < slot->count ? at + 1 : 0;
		if (slot->nodes[at].node == (uintptr_t)node)
			return &slot->nodes[at];
	}
	return NULL;
}

void gw_graph_node_set(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
	int saved = errno;
	struct gw_graph_slot *slot = writable(exec);
	struct gw_graph_node *n = node_of(slot, node);

	if (n && params) {
		struct gw_dim3 cluster = n->config.cluster;
		CUDA_KERNEL_NODE_PARAMS p = *params;

		/* Beside a function the driver looks at neither of the two, whatever is in them;
		 * and an executable graph's node stays in its context. */
		p.kern = p.func ? NULL : p.kern;
		p.ctx = p.func || !p.ctx ? (CUcontext)n->context : p.ctx;
		node_fill(n, &p);
		if (gw_dim3_count(cluster) > 1)
			n->config.cluster = cluster;
		node_changed(slot, n);
	}
	errno = saved;
}

void gw_graph_node_enabled(CUgraphExec exec, CUgraphNode node, bool enabled)
{
	int saved = errno;
	struct gw_graph_slot *slot = writable(exec);

	for (uint32_t i = 0; slot && i < slot->count; i++)
		if (slot->nodes[i].node == (uintptr_t)node ||
		    slot->nodes[i].parent == (uintptr_t)node) {
			slot->nodes[i].enabled = enabled;
			node_changed(slot, &slot->nodes[i]);
		}
	errno = saved;
}

void gw_graph_gone(CUgraphExec exec)
{
	gw_map_remove(&gw_hot.shared->graphs, (uintptr_t)exec, slot_retire);
}
