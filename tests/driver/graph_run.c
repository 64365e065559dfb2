/*
 * How an executable graph runs. A node takes over the branch of the first of its dependencies
 * that nobody took over yet; the first branch is the launch stream, every other an internal
 * stream with an id of its own, which is what activity records of the real driver show.
 */
#include "graph.h"
#include <stdlib.h>
#include <string.h>

/* ---- preparing ---- */

/* Puts dependencies before dependents, else keeping the order in which nodes were made. */
static bool sort(CUgraph graph)
{
	CUgraphNode *sorted = calloc(graph->count + 1, sizeof *sorted);
	size_t done = 0, before;
	if (!sorted)
		return false;
	for (size_t i = 0; i < graph->count; i++)
		graph->nodes[i]->end = 0; /* 1: placed */
	do {
		before = done;
		for (size_t i = 0; i < graph->count; i++) {
			CUgraphNode node = graph->nodes[i];
			bool free_now = node->end == 0;
			for (size_t d = 0; free_now && d < node->dep_count; d++)
				free_now = node->deps[d]->end == 1;
			if (free_now) {
				node->end = 1;
				sorted[done++] = node;
			}
		}
	} while (done > before && done < graph->count);
	if (done == graph->count)
		memcpy(graph->nodes, sorted, done * sizeof *sorted);
	free(sorted);
	return done == graph->count;
}

static void branches(CUgraphExec exec, CUgraph graph, uint32_t first)
{
	bool *taken = calloc(graph->count + 1, sizeof *taken);
	bool first_taken = false;
	for (size_t i = 0; taken && i < graph->count; i++) {
		CUgraphNode node = graph->nodes[i];
		bool found = node->dep_count == 0 && !first_taken;
		node->branch = first;
		first_taken = first_taken || found;
		for (size_t d = 0; !found && d < node->dep_count; d++)
			for (size_t k = 0; k < i; k++)
				if (graph->nodes[k] == node->deps[d] && !taken[k]) {
					taken[k] = found = true;
					node->branch = node->deps[d]->branch;
					break;
				}
		if (!found)
			node->branch = ++exec->branches;
		if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
			branches(exec, node->u.child, node->branch);
	}
	free(taken);
}

static bool sort_all(CUgraph graph)
{
	bool ok = sort(graph);
	for (size_t i = 0; ok && i < graph->count; i++)
		if (graph->nodes[i]->type == CU_GRAPH_NODE_TYPE_GRAPH)
			ok = sort_all(graph->nodes[i]->u.child);
	return ok;
}

/* A child graph's nodes are numbered after all of the level above. */
static void number(CUgraph graph, uint32_t *next)
{
	for (size_t i = 0; i < graph->count; i++)
		graph->nodes[i]->index = (*next)++;
	for (size_t i = 0; i < graph->count; i++)
		if (graph->nodes[i]->type == CU_GRAPH_NODE_TYPE_GRAPH)
			number(graph->nodes[i]->u.child, next);
}

bool si_exec_prepare(CUgraphExec exec)
{
	uint32_t next = 0;
	number(exec->graph, &next);
	if (!sort_all(exec->graph))
		return false;
	branches(exec, exec->graph, 0);
	exec->streams = calloc(exec->branches + 1, sizeof *exec->streams);
	return exec->streams != NULL;
}

/* ---- running ---- */

struct run {
	CUgraphExec exec;
	CUstream stream;
	uint32_t correlation;
	uint64_t end; /* latest of all */
};

static uint32_t stream_id(struct run *run, uint32_t branch, bool elsewhere)
{
	if (branch == 0 && !elsewhere)
		return run->stream->id;
	if (!run->exec->streams[branch])
		run->exec->streams[branch] = si_stream_ids.cupti++;
	return run->exec->streams[branch];
}

static uint64_t run_kernel(struct run *run, CUgraphNode node, uint64_t start)
{
	struct si_kernel_node *k = &node->u.kernel;
	CUcontext ctx = si_is(k->ctx, SI_CTX) ? k->ctx : run->stream->ctx;
	struct si_execution x = {.context_id = ctx->id,
				 .device_id = (uint32_t)ctx->device,
				 .stream_id = stream_id(run, node->branch, ctx != run->stream->ctx),
				 .correlation_id = run->correlation,
				 .graph_id = run->exec->id,
				 .graph_node_id = (uint64_t)run->exec->id << 32 | node->index,
				 .launch_type = k->config.cooperative ? 1 : 0};
	if (!node->grid_id)
		node->grid_id = si_grid_id_next();
	x.grid_id = node->grid_id;
	x.channel = x.stream_id & 7;
	return si_execute(k->kernel, &k->config, k->data ? k->slots : NULL, &x, start);
}

static uint64_t run_memcpy(const CUDA_MEMCPY3D *c, uint64_t start)
{
	unsigned char *dst =
		c->dstMemoryType == CU_MEMORYTYPE_HOST ? c->dstHost : (void *)c->dstDevice;
	const unsigned char *src =
		c->srcMemoryType == CU_MEMORYTYPE_HOST ? c->srcHost : (void *)c->srcDevice;
	for (size_t z = 0; z < c->Depth; z++)
		for (size_t y = 0; y < c->Height; y++)
			memmove(dst + c->dstXInBytes +
					(c->dstY + y + (c->dstZ + z) * c->dstHeight) * c->dstPitch,
				src + c->srcXInBytes +
					(c->srcY + y + (c->srcZ + z) * c->srcHeight) * c->srcPitch,
				c->WidthInBytes);
	return start + 500 + c->WidthInBytes * c->Height * c->Depth / 16;
}

static uint64_t run_memset(const CUDA_MEMSET_NODE_PARAMS *s, uint64_t start)
{
	for (size_t y = 0; y < s->height; y++)
		for (size_t x = 0; x < s->width; x++)
			memcpy((unsigned char *)s->dst + y * s->pitch + x * s->elementSize,
			       &s->value, s->elementSize);
	return start + 500 + s->width * s->height * s->elementSize / 16;
}

static uint64_t run_graph(struct run *run, CUgraph graph, uint64_t start);

/* The condition is the handle's default value: no kernel here can set another. A loop whose
 * condition is true runs once, so that it ends. */
static uint64_t run_conditional(struct run *run, CUgraphNode node, uint64_t start)
{
	const CUDA_CONDITIONAL_NODE_PARAMS *p = &node->u.conditional.params;
	unsigned value = (unsigned)p->handle, body = p->size;
	if (p->type == CU_GRAPH_COND_TYPE_SWITCH)
		body = value;
	else if (value)
		body = 0;
	else if (p->type == CU_GRAPH_COND_TYPE_IF)
		body = 1;
	if (body >= p->size || !sort_all(node->u.conditional.bodies[body]))
		return start;
	return run_graph(run, node->u.conditional.bodies[body], start);
}

static uint64_t run_node(struct run *run, CUgraphNode node, uint64_t start)
{
	if (node->disabled)
		return start;
	si_host_drain(run->stream);
	switch ((int)node->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return run_kernel(run, node, start);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return run_memcpy(&node->u.copy, start);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return run_memset(&node->u.set, start);
	case CU_GRAPH_NODE_TYPE_HOST:
		si_host_enqueue(run->stream, node->u.host.fn, NULL, node->u.host.userData, start);
		return start;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return run_graph(run, node->u.child, start);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		node->u.event->recorded = true;
		node->u.event->stream = run->stream;
		node->u.event->time = start;
		return start;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return node->u.event->recorded && node->u.event->time > start ? node->u.event->time
									      : start;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return run_conditional(run, node, start);
	default:
		return start;
	}
}

static uint64_t run_graph(struct run *run, CUgraph graph, uint64_t start)
{
	uint64_t last = start;
	for (size_t i = 0; i < graph->count; i++) {
		CUgraphNode node = graph->nodes[i];
		uint64_t ready = start;
		for (size_t d = 0; d < node->dep_count; d++)
			if (node->deps[d]->end > ready)
				ready = node->deps[d]->end;
		node->end = run_node(run, node, ready);
		if (node->end > last)
			last = node->end;
	}
	return last;
}

void si_exec_run(CUgraphExec exec, CUstream stream, uint32_t correlation)
{
	struct run run = {.exec = exec, .stream = stream, .correlation = correlation};
	uint64_t start;
	si_host_drain(stream);
	start = si_stream_begin(stream, si_now() + si_options.latency_ns);
	si_stream_end(stream, run_graph(&run, exec->graph, start));
}
