/* Executable graphs: instantiated, updated as a whole or node by node, launched. */
#include "graph.h"
#include "capture.h"
#include <stdlib.h>
#include <string.h>

bool si_exec_id(void *exec, uint32_t *id)
{
	if (!si_is(exec, SI_EXEC))
		return false;
	*id = ((CUgraphExec)exec)->id;
	return true;
}

/* ---- instantiating ---- */

static uint32_t levels(CUgraph graph)
{
	uint32_t n = 1;
	for (size_t i = 0; i < graph->count; i++)
		if (graph->nodes[i]->type == CU_GRAPH_NODE_TYPE_GRAPH)
			n += levels(graph->nodes[i]->u.child);
	return n;
}

/* Lock held. */
static CUresult exec_new(CUgraph graph, cuuint64_t flags, CUgraphExec *out)
{
	CUgraphExec exec = si_object_new(SI_EXEC, sizeof *exec);
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec->graph = si_graph_copy(graph);
	if (exec->graph) {
		exec->graph->owned = true;
		exec->id = exec->graph->id;
		/* The driver makes a second, passing copy of every level. */
		for (uint32_t n = levels(graph); n > 0; n--)
			si_graph_id_next();
	}
	exec->flags = flags;
	if (!exec->graph || !si_exec_prepare(exec)) {
		if (exec->graph)
			si_graph_free(exec->graph);
		si_object_free(exec);
		return CUDA_ERROR_INVALID_VALUE;
	}
	*out = exec;
	return CUDA_SUCCESS;
}

static CUresult instantiate(CUgraphExec *out, CUgraph graph, cuuint64_t flags)
{
	CUcontext ctx;
	SI_TRY(si_current(&ctx));
	if (!out || !si_is(graph, SI_GRAPH) || flags > 15)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	SI_TRY(exec_new(graph, flags, out));
	(*out)->ctx = ctx;
	return CUDA_SUCCESS;
}

CUresult si_cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
					unsigned long long flags)
{
	return instantiate(phGraphExec, hGraph, flags);
}

CUresult si_cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph,
				  CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize)
{
	if (phErrorNode)
		*phErrorNode = NULL;
	if (logBuffer && bufferSize)
		*logBuffer = '\0';
	return instantiate(phGraphExec, hGraph, 0);
}

CUresult si_cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode,
			       char *logBuffer, size_t bufferSize)
{
	return si_cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult si_cuGraphInstantiateWithParams(bool pt, CUgraphExec *phGraphExec, CUgraph hGraph,
					 CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	CUresult result;
	(void)pt; /* the upload takes no time here */
	if (!instantiateParams)
		return CUDA_ERROR_INVALID_VALUE;
	result = instantiate(phGraphExec, hGraph, instantiateParams->flags);
	instantiateParams->hErrNode_out = NULL;
	instantiateParams->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
							       : CUDA_GRAPH_INSTANTIATE_ERROR;
	return result;
}

CUresult si_cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
	if (!si_is(hGraphExec, SI_EXEC) || !flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = hGraphExec->flags;
	return CUDA_SUCCESS;
}

CUresult si_cuGraphExecDestroy(CUgraphExec hGraphExec)
{
	SI_TRY(si_ready());
	if (!si_is(hGraphExec, SI_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	si_graph_free(hGraphExec->graph);
	free(hGraphExec->streams);
	si_object_free(hGraphExec);
	return CUDA_SUCCESS;
}

/* ---- launching ---- */

CUresult si_cuGraphUpload(bool pt, CUgraphExec hGraph, CUstream hStream)
{
	CUstream stream = NULL;
	CUresult result;
	if (!si_is(hGraph, SI_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	result = si_stream(hStream, pt, &stream);
	if (result == CUDA_SUCCESS && stream->capture)
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return result;
}

CUresult si_cuGraphLaunch(bool pt, CUgraphExec hGraph, CUstream hStream)
{
	CUstream stream = NULL;
	uint32_t correlation = si_tls.correlation ? si_tls.correlation : si_correlation_next();
	CUcontext ctx;
	CUresult result = si_current(&ctx);
	si_tls.correlation = 0;
	if (result != CUDA_SUCCESS)
		return result;
	if (!si_is(hGraph, SI_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	result = si_stream(hStream, pt, &stream);
	if (result == CUDA_SUCCESS)
		result = si_capture_implicit(stream);
	if (result == CUDA_SUCCESS && stream->capture)
		result = si_capture_exec(stream, hGraph->graph);
	else if (result == CUDA_SUCCESS)
		si_exec_run(hGraph, stream, correlation);
	return result;
}

/* ---- one node of an executable graph ---- */

static CUgraphNode find(CUgraph graph, CUgraphNode origin)
{
	CUgraphNode found = NULL;
	for (size_t i = 0; i < graph->count && !found; i++) {
		CUgraphNode node = graph->nodes[i];
		if (node->origin == origin)
			found = node;
		else if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
			found = find(node->u.child, origin);
	}
	return found;
}

/* The executable graph's copy of a source node, where both are live and of the type. */
static CUgraphNode twin(CUgraphExec exec, CUgraphNode node, int type)
{
	if (!si_is(exec, SI_EXEC) || !si_is(node, SI_NODE) ||
	    (type >= 0 && (int)node->type != type))
		return NULL;
	return find(exec->graph, node);
}

#define CHANGE(exec, node, wanted, given, expression) \
	do { \
		CUgraphNode twin_; \
		CUresult result_ = CUDA_ERROR_INVALID_VALUE; \
		SI_LOCK(); \
		twin_ = (given) ? twin(exec, node, CU_GRAPH_NODE_TYPE_##wanted) : NULL; \
		if (twin_) \
			result_ = (expression); \
		SI_UNLOCK(); \
		return result_; \
	} while (0)

CUresult si_cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					   const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	CHANGE(hGraphExec, hNode, KERNEL, nodeParams,
	       si_kernel_params_v1(&twin_->u.kernel, nodeParams));
}

CUresult si_cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
					      const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	CHANGE(hGraphExec, hNode, KERNEL, nodeParams,
	       si_kernel_params_v2(&twin_->u.kernel, nodeParams));
}

CUresult si_cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					   const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	(void)ctx;
	CHANGE(hGraphExec, hNode, MEMCPY, copyParams, (twin_->u.copy = *copyParams, CUDA_SUCCESS));
}

CUresult si_cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					   const CUDA_MEMSET_NODE_PARAMS *memsetParams,
					   CUcontext ctx)
{
	(void)ctx;
	CHANGE(hGraphExec, hNode, MEMSET, memsetParams,
	       (twin_->u.set = *memsetParams, CUDA_SUCCESS));
}

CUresult si_cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					 const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	CHANGE(hGraphExec, hNode, HOST, nodeParams && nodeParams->fn,
	       (twin_->u.host = *nodeParams, CUDA_SUCCESS));
}

CUresult si_cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
					       CUevent event)
{
	CHANGE(hGraphExec, hNode, EVENT_RECORD, si_is(event, SI_EVENT),
	       (twin_->u.event = event, CUDA_SUCCESS));
}

CUresult si_cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
					     CUevent event)
{
	CHANGE(hGraphExec, hNode, WAIT_EVENT, si_is(event, SI_EVENT),
	       (twin_->u.event = event, CUDA_SUCCESS));
}

CUresult si_cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
				     CUgraphNodeParams *nodeParams)
{
	CUgraphNode node;
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	if (!nodeParams || nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH ||
	    nodeParams->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		return result;
	SI_LOCKED();
	node = twin(hGraphExec, hNode, (int)nodeParams->type);
	if (node)
		result = si_node_set_any(node, nodeParams);
	return result;
}

static bool switchable(CUgraphNode node)
{
	return node &&
	       (node->type == CU_GRAPH_NODE_TYPE_KERNEL ||
		node->type == CU_GRAPH_NODE_TYPE_MEMCPY || node->type == CU_GRAPH_NODE_TYPE_MEMSET);
}

CUresult si_cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled)
{
	CUgraphNode node;
	SI_LOCK();
	node = twin(hGraphExec, hNode, -1);
	if (switchable(node))
		node->disabled = isEnabled == 0;
	SI_UNLOCK();
	return switchable(node) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult si_cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
				  unsigned int *isEnabled)
{
	CUgraphNode node;
	SI_LOCK();
	node = isEnabled ? twin(hGraphExec, hNode, -1) : NULL;
	if (switchable(node))
		*isEnabled = !node->disabled;
	SI_UNLOCK();
	return switchable(node) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- updating as a whole ---- */

static CUgraphNode by_index(CUgraph graph, uint32_t index)
{
	for (size_t i = 0; i < graph->count; i++)
		if (graph->nodes[i]->index == index)
			return graph->nodes[i];
	return NULL;
}

/* The executable graph is sorted, the source is in order of making: index order is common. */
static uint32_t first_index(CUgraph graph)
{
	uint32_t first = UINT32_MAX;
	for (size_t i = 0; i < graph->count; i++)
		if (graph->nodes[i]->index < first)
			first = graph->nodes[i]->index;
	return first;
}

static size_t rank(CUgraph graph, CUgraphNode node)
{
	size_t before = 0;
	for (size_t i = 0; i < graph->count; i++)
		if (graph->nodes[i]->index < node->index)
			before++;
	return before;
}

static bool same_deps(CUgraph a, CUgraphNode x, CUgraph b, CUgraphNode y)
{
	if (x->dep_count != y->dep_count)
		return false;
	for (size_t i = 0; i < x->dep_count; i++)
		if (rank(a, x->deps[i]) != rank(b, y->deps[i]))
			return false;
	return true;
}

static CUgraphExecUpdateResult compare(CUgraph exec, CUgraph graph, CUgraphNode *error)
{
	uint32_t base = first_index(exec);
	if (exec->count != graph->count)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (size_t i = 0; i < graph->count; i++) {
		CUgraphNode node = graph->nodes[i], old = by_index(exec, base + (uint32_t)i);
		CUgraphExecUpdateResult inner = CU_GRAPH_EXEC_UPDATE_SUCCESS;
		*error = node;
		if (!old || !same_deps(exec, old, graph, node))
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		if (old->type != node->type)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
		if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
			inner = compare(old->u.child, node->u.child, error);
		if (inner != CU_GRAPH_EXEC_UPDATE_SUCCESS)
			return inner;
	}
	*error = NULL;
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static void adopt(CUgraph exec, CUgraph graph)
{
	uint32_t base = first_index(exec);
	for (size_t i = 0; i < graph->count; i++) {
		CUgraphNode node = graph->nodes[i], old = by_index(exec, base + (uint32_t)i);
		if (node->type == CU_GRAPH_NODE_TYPE_GRAPH) {
			adopt(old->u.child, node->u.child);
		} else if (node->type != CU_GRAPH_NODE_TYPE_CONDITIONAL) {
			si_node_payload_free(old);
			si_node_payload_copy(old, node);
		}
	}
}

CUresult si_cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
				 CUgraphExecUpdateResultInfo *resultInfo)
{
	CUgraphNode error = NULL;
	CUgraphExecUpdateResult update;
	if (!si_is(hGraphExec, SI_EXEC) || !si_is(hGraph, SI_GRAPH) || !resultInfo)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCK();
	update = compare(hGraphExec->graph, hGraph, &error);
	if (update == CU_GRAPH_EXEC_UPDATE_SUCCESS)
		adopt(hGraphExec->graph, hGraph);
	SI_UNLOCK();
	*resultInfo = (CUgraphExecUpdateResultInfo){.result = update, .errorNode = error};
	return update == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS
						      : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult si_cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
			      CUgraphExecUpdateResult *updateResult_out)
{
	CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
	CUresult result = si_cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
	if (hErrorNode_out)
		*hErrorNode_out = info.errorNode;
	if (updateResult_out)
		*updateResult_out = info.result;
	return result;
}

CUresult si_cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					       CUgraph childGraph)
{
	CUgraphNode node, error;
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	if (!si_is(childGraph, SI_GRAPH))
		return result;
	SI_LOCKED();
	node = twin(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_GRAPH);
	if (node && compare(node->u.child, childGraph, &error) == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
		adopt(node->u.child, childGraph);
		result = CUDA_SUCCESS;
	}
	return result;
}
