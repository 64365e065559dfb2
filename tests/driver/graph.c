/* Graphs: made, copied, asked for their nodes and edges. */
#include "graph.h"
#include <stdlib.h>
#include <string.h>

static uint32_t graph_ids;

uint32_t si_graph_id_next(void)
{
	return ++graph_ids;
}

CUgraph si_graph_new(void)
{
	CUgraph graph = si_object_new(SI_GRAPH, sizeof *graph);
	if (graph)
		graph->id = si_graph_id_next();
	return graph;
}

CUgraphNode si_node_new(CUgraph graph, CUgraphNodeType type, const CUgraphNode *deps,
			size_t dep_count)
{
	CUgraphNode node;
	if (graph->count == graph->capacity) {
		size_t capacity = graph->capacity ? graph->capacity * 2 : 8;
		CUgraphNode *grown = realloc(graph->nodes, capacity * sizeof *grown);
		if (!grown)
			return NULL;
		graph->nodes = grown;
		graph->capacity = capacity;
	}
	node = si_object_new(SI_NODE, sizeof *node);
	if (!node)
		return NULL;
	node->graph = graph;
	node->type = type;
	node->index = graph->next_index++;
	for (size_t i = 0; i < dep_count; i++)
		si_deps_add(node, deps[i]);
	graph->nodes[graph->count++] = node;
	return node;
}

bool si_deps_add(CUgraphNode node, CUgraphNode dep)
{
	CUgraphNode *grown;
	for (size_t i = 0; i < node->dep_count; i++)
		if (node->deps[i] == dep)
			return false;
	grown = realloc(node->deps, (node->dep_count + 1) * sizeof *grown);
	if (!grown)
		return false;
	node->deps = grown;
	grown[node->dep_count++] = dep;
	return true;
}

static bool deps_remove(CUgraphNode node, CUgraphNode dep)
{
	for (size_t i = 0; i < node->dep_count; i++)
		if (node->deps[i] == dep) {
			memmove(&node->deps[i], &node->deps[i + 1],
				(node->dep_count - i - 1) * sizeof *node->deps);
			node->dep_count--;
			return true;
		}
	return false;
}

void si_node_payload_free(CUgraphNode node)
{
	if (node->type == CU_GRAPH_NODE_TYPE_KERNEL)
		free(node->u.kernel.data);
	if (node->type == CU_GRAPH_NODE_TYPE_GRAPH && node->u.child)
		si_graph_free(node->u.child);
	if (node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && node->u.conditional.bodies) {
		for (unsigned i = 0; i < node->u.conditional.params.size; i++)
			si_graph_free(node->u.conditional.bodies[i]);
		free(node->u.conditional.bodies);
	}
	memset(&node->u, 0, sizeof node->u);
}

void si_node_free(CUgraphNode node)
{
	si_node_payload_free(node);
	free(node->deps);
	si_object_free(node);
}

void si_graph_free(CUgraph graph)
{
	for (size_t i = graph->count; i-- > 0;)
		si_node_free(graph->nodes[i]);
	free(graph->nodes);
	si_object_free(graph);
}

static CUgraph owned_copy(CUgraph graph)
{
	CUgraph copy = si_graph_copy(graph);
	if (copy)
		copy->owned = true;
	return copy;
}

bool si_node_payload_copy(CUgraphNode to, const struct CUgraphNode_st *from)
{
	to->u = from->u;
	switch ((int)from->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return si_kernel_node_copy(&to->u.kernel, &from->u.kernel);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return (to->u.child = owned_copy(from->u.child)) != NULL;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		to->u.conditional.bodies =
			calloc(from->u.conditional.params.size, sizeof *to->u.conditional.bodies);
		for (unsigned i = 0; i < from->u.conditional.params.size; i++)
			to->u.conditional.bodies[i] = owned_copy(from->u.conditional.bodies[i]);
		return true;
	default:
		return true;
	}
}

/* Where a node stands in its graph; nodes may be destroyed, so this is not the index. */
static size_t place_of(CUgraph graph, CUgraphNode node)
{
	size_t i = 0;
	while (i < graph->count && graph->nodes[i] != node)
		i++;
	return i;
}

CUgraph si_graph_copy(CUgraph graph)
{
	CUgraph copy = si_graph_new();
	bool ok = copy != NULL;
	for (size_t i = 0; ok && i < graph->count; i++) {
		CUgraphNode from = graph->nodes[i];
		CUgraphNode to = si_node_new(copy, from->type, NULL, 0);
		ok = to && si_node_payload_copy(to, from);
		if (to)
			to->origin = from;
	}
	for (size_t i = 0; ok && i < graph->count; i++)
		for (size_t d = 0; d < graph->nodes[i]->dep_count; d++)
			si_deps_add(copy->nodes[i],
				    copy->nodes[place_of(graph, graph->nodes[i]->deps[d])]);
	if (!ok && copy) {
		si_graph_free(copy);
		copy = NULL;
	}
	return copy;
}

CUresult si_deps_check(CUgraph graph, const CUgraphNode *deps, size_t count)
{
	if (!si_is(graph, SI_GRAPH) || (count && !deps))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (!si_is(deps[i], SI_NODE) || deps[i]->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
		for (size_t k = 0; k < i; k++)
			if (deps[k] == deps[i])
				return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/* ---- ids for libcupti ---- */

bool si_graph_id(void *graph, uint32_t *id)
{
	if (!si_is(graph, SI_GRAPH))
		return false;
	*id = ((CUgraph)graph)->id;
	return true;
}

bool si_node_id(void *node, uint64_t *id)
{
	if (!si_is(node, SI_NODE))
		return false;
	*id = (uint64_t)((CUgraphNode)node)->graph->id << 32 | ((CUgraphNode)node)->index;
	return true;
}

/* ---- the functions ---- */

CUresult si_cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
	SI_TRY(si_ready());
	if (!phGraph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	*phGraph = si_graph_new();
	return *phGraph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult si_cuGraphDestroy(CUgraph hGraph)
{
	SI_TRY(si_ready());
	if (!si_is(hGraph, SI_GRAPH) || hGraph->owned)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	si_graph_free(hGraph);
	return CUDA_SUCCESS;
}

CUresult si_cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
	if (!phGraphClone || !si_is(originalGraph, SI_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	*phGraphClone = si_graph_copy(originalGraph);
	return *phGraphClone ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult si_cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
				   CUgraph hClonedGraph)
{
	if (!phNode || !si_is(hOriginalNode, SI_NODE) || !si_is(hClonedGraph, SI_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < hClonedGraph->count; i++)
		if (hClonedGraph->nodes[i]->origin == hOriginalNode) {
			*phNode = hClonedGraph->nodes[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult si_cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
	if (!si_is(hNode, SI_NODE) || !type)
		return CUDA_ERROR_INVALID_VALUE;
	*type = hNode->type;
	return CUDA_SUCCESS;
}

/* Fills up to *count entries, clears what is left over, and sets *count: to all there are
 * where only the number was asked for, else to those filled. */
struct listing {
	CUgraphNode *a, *b;
	size_t room, found;
};

static void listing_add(struct listing *l, CUgraphNode a, CUgraphNode b)
{
	if (l->a && l->found < l->room) {
		l->a[l->found] = a;
		if (l->b)
			l->b[l->found] = b;
	}
	l->found++;
}

static void listing_end(struct listing *l, size_t *count)
{
	for (size_t i = l->found; l->a && i < l->room; i++) {
		l->a[i] = NULL;
		if (l->b)
			l->b[i] = NULL;
	}
	*count = l->a && l->found > l->room ? l->room : l->found;
}

static CUresult nodes_list(CUgraph graph, CUgraphNode *nodes, size_t *count, bool roots)
{
	struct listing l = {.a = nodes};
	if (!si_is(graph, SI_GRAPH) || !count)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	l.room = *count;
	for (size_t i = 0; i < graph->count; i++)
		if (!roots || graph->nodes[i]->dep_count == 0)
			listing_add(&l, graph->nodes[i], NULL);
	listing_end(&l, count);
	return CUDA_SUCCESS;
}

CUresult si_cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
	return nodes_list(hGraph, nodes, numNodes, false);
}

CUresult si_cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
	return nodes_list(hGraph, rootNodes, numRootNodes, true);
}

static void edges_clear(CUgraphEdgeData *data, const size_t *count)
{
	if (data)
		memset(data, 0, *count * sizeof *data);
}

CUresult si_cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
			       CUgraphEdgeData *edgeData, size_t *numEdges)
{
	struct listing l = {.a = from, .b = to};
	if (!si_is(hGraph, SI_GRAPH) || !numEdges || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	l.room = *numEdges;
	for (size_t i = 0; i < hGraph->count; i++)
		for (size_t d = 0; d < hGraph->nodes[i]->dep_count; d++)
			listing_add(&l, hGraph->nodes[i]->deps[d], hGraph->nodes[i]);
	edges_clear(edgeData, numEdges);
	listing_end(&l, numEdges);
	return CUDA_SUCCESS;
}

CUresult si_cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges)
{
	return si_cuGraphGetEdges_v2(hGraph, from, to, NULL, numEdges);
}

CUresult si_cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies,
					  CUgraphEdgeData *edgeData, size_t *numDependencies)
{
	struct listing l = {.a = dependencies};
	if (!si_is(hNode, SI_NODE) || !numDependencies)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	l.room = *numDependencies;
	for (size_t i = 0; i < hNode->dep_count; i++)
		listing_add(&l, hNode->deps[i], NULL);
	edges_clear(edgeData, numDependencies);
	listing_end(&l, numDependencies);
	return CUDA_SUCCESS;
}

CUresult si_cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies,
				       size_t *numDependencies)
{
	return si_cuGraphNodeGetDependencies_v2(hNode, dependencies, NULL, numDependencies);
}

CUresult si_cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes,
					    CUgraphEdgeData *edgeData, size_t *numDependentNodes)
{
	struct listing l = {.a = dependentNodes};
	if (!si_is(hNode, SI_NODE) || !numDependentNodes)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	l.room = *numDependentNodes;
	for (size_t i = 0; i < hNode->graph->count; i++)
		for (size_t d = 0; d < hNode->graph->nodes[i]->dep_count; d++)
			if (hNode->graph->nodes[i]->deps[d] == hNode)
				listing_add(&l, hNode->graph->nodes[i], NULL);
	edges_clear(edgeData, numDependentNodes);
	listing_end(&l, numDependentNodes);
	return CUDA_SUCCESS;
}

CUresult si_cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes,
					 size_t *numDependentNodes)
{
	return si_cuGraphNodeGetDependentNodes_v2(hNode, dependentNodes, NULL, numDependentNodes);
}

static CUresult edges_change(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
			     size_t count, bool (*change)(CUgraphNode, CUgraphNode))
{
	CUresult result = CUDA_SUCCESS;
	if (!si_is(graph, SI_GRAPH) || (count && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
		if (!si_is(from[i], SI_NODE) || !si_is(to[i], SI_NODE) || from[i]->graph != graph ||
		    to[i]->graph != graph || from[i] == to[i] || !change(to[i], from[i]))
			result = CUDA_ERROR_INVALID_VALUE;
	return result;
}

CUresult si_cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
				      const CUgraphNode *to, const CUgraphEdgeData *edgeData,
				      size_t numDependencies)
{
	(void)edgeData;
	return edges_change(hGraph, from, to, numDependencies, si_deps_add);
}

CUresult si_cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
				   size_t numDependencies)
{
	return edges_change(hGraph, from, to, numDependencies, si_deps_add);
}

CUresult si_cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
					 const CUgraphNode *to, const CUgraphEdgeData *edgeData,
					 size_t numDependencies)
{
	(void)edgeData;
	return edges_change(hGraph, from, to, numDependencies, deps_remove);
}

CUresult si_cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from,
				      const CUgraphNode *to, size_t numDependencies)
{
	return edges_change(hGraph, from, to, numDependencies, deps_remove);
}

CUresult si_cuGraphDestroyNode(CUgraphNode hNode)
{
	CUgraph graph;
	size_t place;
	if (!si_is(hNode, SI_NODE))
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	graph = hNode->graph;
	for (size_t i = 0; i < graph->count; i++)
		deps_remove(graph->nodes[i], hNode);
	place = place_of(graph, hNode);
	memmove(&graph->nodes[place], &graph->nodes[place + 1],
		(graph->count - place - 1) * sizeof *graph->nodes);
	graph->count--;
	si_node_free(hNode);
	return CUDA_SUCCESS;
}
