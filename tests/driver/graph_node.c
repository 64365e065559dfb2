/* Nodes: added, and their parameters reported and changed. */
#include "graph.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- kernel payloads ---- */

/* Copies the parameters' values into the node: their addresses need not live on. */
static bool params_copy(struct si_kernel_node *node, void **params)
{
	size_t at = 0;
	free(node->data);
	node->data = NULL;
	if (node->kernel->params == 0)
		return true;
	for (int i = 0; i < node->kernel->params; i++)
		at += (node->kernel->param_size[i] + 7u) & ~(size_t)7;
	node->data = malloc(at);
	at = 0;
	for (int i = 0; node->data && i < node->kernel->params; i++) {
		node->slots[i] = node->data + at;
		memcpy(node->slots[i], params[i], node->kernel->param_size[i]);
		at += (node->kernel->param_size[i] + 7u) & ~(size_t)7;
	}
	return node->data != NULL;
}

CUresult si_kernel_node_set(struct si_kernel_node *node, CUfunction f, CUkernel kern,
			    const struct si_config *config, void **params, void **extra)
{
	struct si_kernel_node made = *node;
	void *slots[SI_MAX_PARAMS];
	struct si_kernel *kernel = si_kernel_of(f ? f : (CUfunction)kern);
	made.kernel = kernel;
	if (!kernel)
		return CUDA_ERROR_INVALID_VALUE;
	made.func = si_is(f, SI_FUNC) ? f : NULL;
	made.kern = made.func ? NULL : f ? (CUkernel)f : kern;
	made.config = *config;
	made.data = NULL;
	params = si_unpack(made.kernel, params, extra, slots);
	if ((made.kernel->params > 0 && !params) || !config->grid.x || !config->grid.y ||
	    !config->grid.z || !config->block.x || !config->block.y || !config->block.z)
		return CUDA_ERROR_INVALID_VALUE;
	if (!params_copy(&made, params))
		return CUDA_ERROR_OUT_OF_MEMORY;
	free(node->data);
	*node = made;
	return CUDA_SUCCESS;
}

bool si_kernel_node_copy(struct si_kernel_node *to, const struct si_kernel_node *from)
{
	void *slots[SI_MAX_PARAMS];
	memcpy(slots, from->slots, sizeof slots);
	*to = *from;
	to->data = NULL;
	return params_copy(to, slots);
}

#define CONFIG_OF(p, old) \
	{ \
		.grid = {(p)->gridDimX, (p)->gridDimY, (p)->gridDimZ}, \
		.block = {(p)->blockDimX, (p)->blockDimY, (p)->blockDimZ}, \
		.cluster = (old)->config.cluster, .cooperative = (old)->config.cooperative, \
		.shared = (p)->sharedMemBytes \
	}

CUresult si_kernel_params_v1(struct si_kernel_node *node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	struct si_config config = CONFIG_OF(p, node);
	if (!si_kernel_of(p->func))
		return CUDA_ERROR_INVALID_VALUE;
	if (!node->ctx)
		node->ctx = si_current_or_null();
	return si_kernel_node_set(node, p->func, NULL, &config, p->kernelParams, p->extra);
}

CUresult si_kernel_params_v2(struct si_kernel_node *node, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct si_config config = CONFIG_OF(p, node);
	CUcontext ctx =
		p->func ? NULL : p->ctx; /* with a function, what is there is not looked at */
	if (!si_kernel_of(p->func ? p->func : (CUfunction)p->kern))
		return CUDA_ERROR_INVALID_VALUE;
	if (ctx || !node->ctx)
		node->ctx = ctx ? ctx : si_current_or_null();
	return si_kernel_node_set(node, p->func, p->kern, &config, p->kernelParams, p->extra);
}

/* ---- any payload from the general struct ---- */

static CUresult child_set(CUgraphNode node, CUgraph source)
{
	CUgraph copy;
	if (!si_is(source, SI_GRAPH) || source == node->graph)
		return CUDA_ERROR_INVALID_VALUE;
	copy = si_graph_copy(source);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	copy->owned = true;
	if (node->u.child)
		si_graph_free(node->u.child);
	node->u.child = copy;
	return CUDA_SUCCESS;
}

/* STANDIN_CONDITIONAL: beside recorded kernels the real library can crash as it is instantiated. */
static void crash_beside_records(void)
{
	struct si_cupti_hooks *hooks = atomic_load(&si_cupti);

	if (hooks && atomic_load(&hooks->kernel) && si_env_u64("STANDIN_CONDITIONAL", 0))
		raise(SIGSEGV);
}

static CUresult conditional_set(CUgraphNode node, const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
	CUgraph *bodies;
	if (!p->handle || !p->size || (unsigned)p->type > CU_GRAPH_COND_TYPE_SWITCH)
		return CUDA_ERROR_INVALID_VALUE;
	bodies = calloc(p->size, sizeof *bodies);
	for (unsigned i = 0; bodies && i < p->size; i++) {
		bodies[i] = si_graph_new();
		bodies[i]->owned = true;
	}
	node->u.conditional.params = *p;
	node->u.conditional.bodies = bodies;
	crash_beside_records();
	return bodies ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult si_node_set_any(CUgraphNode node, const CUgraphNodeParams *params)
{
	switch ((int)params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: {
		CUDA_KERNEL_NODE_PARAMS p;
		memcpy(&p, &params->kernel, sizeof p); /* v3 begins as v2 does */
		return si_kernel_params_v2(&node->u.kernel, &p);
	}
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		node->u.copy = params->memcpy.copyParams;
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		memcpy(&node->u.set, &params->memset, sizeof node->u.set);
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_HOST:
		node->u.host = (CUDA_HOST_NODE_PARAMS){params->host.fn, params->host.userData};
		return params->host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return child_set(node, params->graph.graph);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		node->u.event = params->eventWait.event; /* both hold the event alone */
		return si_is(node->u.event, SI_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return conditional_set(node, &params->conditional);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

/* ---- adding ---- */

typedef CUresult fill(CUgraphNode node, const void *params);

static CUresult add(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t dep_count,
		    CUgraphNodeType type, fill *how, const void *params)
{
	CUgraphNode node = NULL;
	CUresult result;
	SI_TRY(si_ready());
	if (!out || !params)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	result = si_deps_check(graph, deps, dep_count);
	if (result == CUDA_SUCCESS && !(node = si_node_new(graph, type, deps, dep_count)))
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (result == CUDA_SUCCESS)
		result = how(node, params);
	if (result == CUDA_SUCCESS) {
		*out = node;
	} else if (node) { /* it is the last one */
		graph->count--;
		graph->next_index--;
		si_node_free(node);
	}
	return result;
}

static CUresult fill_any(CUgraphNode node, const void *params)
{
	return si_node_set_any(node, params);
}

static CUresult fill_kernel_v1(CUgraphNode node, const void *params)
{
	return si_kernel_params_v1(&node->u.kernel, params);
}

static CUresult fill_kernel_v2(CUgraphNode node, const void *params)
{
	return si_kernel_params_v2(&node->u.kernel, params);
}

static CUresult fill_memcpy(CUgraphNode node, const void *params)
{
	node->u.copy = *(const CUDA_MEMCPY3D *)params;
	return CUDA_SUCCESS;
}

static CUresult fill_memset(CUgraphNode node, const void *params)
{
	const CUDA_MEMSET_NODE_PARAMS *p = params;
	if (!p->dst || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
		return CUDA_ERROR_INVALID_VALUE;
	node->u.set = *p;
	return CUDA_SUCCESS;
}

static CUresult fill_host(CUgraphNode node, const void *params)
{
	node->u.host = *(const CUDA_HOST_NODE_PARAMS *)params;
	return node->u.host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult si_cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				 const CUgraphNode *dependencies, size_t numDependencies,
				 const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_KERNEL,
		   fill_kernel_v1, nodeParams);
}

CUresult si_cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
				    const CUgraphNode *dependencies, size_t numDependencies,
				    const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_KERNEL,
		   fill_kernel_v2, nodeParams);
}

CUresult si_cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				 const CUgraphNode *dependencies, size_t numDependencies,
				 const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	(void)ctx;
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMCPY,
		   fill_memcpy, copyParams);
}

CUresult si_cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				 const CUgraphNode *dependencies, size_t numDependencies,
				 const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
	(void)ctx;
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMSET,
		   fill_memset, memsetParams);
}

CUresult si_cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			       const CUgraphNode *dependencies, size_t numDependencies,
			       const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	return add(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_HOST,
		   fill_host, nodeParams);
}

CUresult si_cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				     const CUgraphNode *dependencies, size_t numDependencies,
				     CUgraph childGraph)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
	p.graph.graph = childGraph;
	return add(phGraphNode, hGraph, dependencies, numDependencies, p.type, fill_any, &p);
}

CUresult si_cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				const CUgraphNode *dependencies, size_t numDependencies)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
	return add(phGraphNode, hGraph, dependencies, numDependencies, p.type, fill_any, &p);
}

CUresult si_cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				      const CUgraphNode *dependencies, size_t numDependencies,
				      CUevent event)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD};
	p.eventRecord.event = event;
	return add(phGraphNode, hGraph, dependencies, numDependencies, p.type, fill_any, &p);
}

CUresult si_cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph,
				    const CUgraphNode *dependencies, size_t numDependencies,
				    CUevent event)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT};
	p.eventWait.event = event;
	return add(phGraphNode, hGraph, dependencies, numDependencies, p.type, fill_any, &p);
}

CUresult si_cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
			      const CUgraphNode *dependencies,
			      const CUgraphEdgeData *dependencyData, size_t numDependencies,
			      CUgraphNodeParams *nodeParams)
{
	CUresult result;
	(void)dependencyData;
	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	result = add(phGraphNode, hGraph, dependencies, numDependencies, nodeParams->type, fill_any,
		     nodeParams);
	if (result == CUDA_SUCCESS && nodeParams->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		nodeParams->conditional.phGraph_out = (*phGraphNode)->u.conditional.bodies;
	return result;
}

CUresult si_cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph,
			   const CUgraphNode *dependencies, size_t numDependencies,
			   CUgraphNodeParams *nodeParams)
{
	return si_cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, NULL, numDependencies,
				    nodeParams);
}

/* The handle carries the value the condition starts with: bit 32 on is a serial number. */
CUresult si_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out, CUgraph hGraph,
					   CUcontext ctx, unsigned int defaultLaunchValue,
					   unsigned int flags)
{
	static _Atomic uint64_t serial;
	(void)ctx;
	if (!pHandle_out || !si_is(hGraph, SI_GRAPH) || flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	*pHandle_out = (atomic_fetch_add(&serial, 1) + 1) << 32 | defaultLaunchValue;
	return CUDA_SUCCESS;
}

/* ---- telling and changing ---- */

#define NODE(node, wanted, other) \
	if (!si_is(node, SI_NODE) || (node)->type != CU_GRAPH_NODE_TYPE_##wanted || !(other)) \
	return CUDA_ERROR_INVALID_VALUE

/* Of the kernel of a library the driver reports its function in the context. */
CUresult si_cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	struct si_kernel_node *k;
	CUfunction f;
	NODE(hNode, KERNEL, nodeParams);
	k = &hNode->u.kernel;
	f = k->func;
	if (!f && si_cuKernelGetFunction(&f, k->kern) != CUDA_SUCCESS)
		f = NULL;
	*nodeParams = (CUDA_KERNEL_NODE_PARAMS){.func = f,
						.gridDimX = k->config.grid.x,
						.gridDimY = k->config.grid.y,
						.gridDimZ = k->config.grid.z,
						.blockDimX = k->config.block.x,
						.blockDimY = k->config.block.y,
						.blockDimZ = k->config.block.z,
						.sharedMemBytes = k->config.shared,
						.kernelParams = k->data ? k->slots : NULL,
						.kern = f ? NULL : k->kern,
						.ctx = k->ctx};
	return CUDA_SUCCESS;
}

CUresult si_cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;
	CUresult result =
		nodeParams ? si_cuGraphKernelNodeGetParams_v2(hNode, &p) : CUDA_ERROR_INVALID_VALUE;
	if (result != CUDA_SUCCESS)
		return result;
	memcpy(nodeParams, &p, sizeof *nodeParams); /* v2 begins as v1 does */
	if (!nodeParams->func)
		nodeParams->func = (CUfunction)p.kern;
	return CUDA_SUCCESS;
}

static CUresult change(CUgraphNode node, fill *how, const void *params)
{
	CUresult result;
	SI_LOCKED();
	result = how(node, params);
	return result;
}

/* Functions that report a part of a node of one kind, change its parameters, and set its event. */
#define GET(function, KIND, type, part) \
	CUresult si_cuGraph##function(CUgraphNode hNode, type *out) \
	{ \
		NODE(hNode, KIND, out); \
		*out = hNode->u.part; \
		return CUDA_SUCCESS; \
	}
#define SET(function, KIND, type, fill) \
	CUresult si_cuGraph##function(CUgraphNode hNode, const type *nodeParams) \
	{ \
		NODE(hNode, KIND, nodeParams); \
		return change(hNode, fill, nodeParams); \
	}
#define SET_EVENT(function, KIND) \
	CUresult si_cuGraph##function(CUgraphNode hNode, CUevent event) \
	{ \
		NODE(hNode, KIND, si_is(event, SI_EVENT)); \
		hNode->u.event = event; \
		return CUDA_SUCCESS; \
	}
SET(KernelNodeSetParams, KERNEL, CUDA_KERNEL_NODE_PARAMS_v1, fill_kernel_v1)
SET(KernelNodeSetParams_v2, KERNEL, CUDA_KERNEL_NODE_PARAMS, fill_kernel_v2)
GET(MemcpyNodeGetParams, MEMCPY, CUDA_MEMCPY3D, copy)
SET(MemcpyNodeSetParams, MEMCPY, CUDA_MEMCPY3D, fill_memcpy)
GET(MemsetNodeGetParams, MEMSET, CUDA_MEMSET_NODE_PARAMS, set)
SET(MemsetNodeSetParams, MEMSET, CUDA_MEMSET_NODE_PARAMS, fill_memset)
GET(HostNodeGetParams, HOST, CUDA_HOST_NODE_PARAMS, host)
SET(HostNodeSetParams, HOST, CUDA_HOST_NODE_PARAMS, fill_host)
GET(ChildGraphNodeGetGraph, GRAPH, CUgraph, child)
GET(EventRecordNodeGetEvent, EVENT_RECORD, CUevent, event)
SET_EVENT(EventRecordNodeSetEvent, EVENT_RECORD)
GET(EventWaitNodeGetEvent, WAIT_EVENT, CUevent, event)
SET_EVENT(EventWaitNodeSetEvent, WAIT_EVENT)

CUresult si_cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	if (!si_is(hNode, SI_NODE) || !nodeParams || nodeParams->type != hNode->type)
		return CUDA_ERROR_INVALID_VALUE;
	return change(hNode, fill_any, nodeParams);
}

CUresult si_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
	NODE(dst, KERNEL, true);
	NODE(src, KERNEL, true);
	dst->u.kernel.config.cluster = src->u.kernel.config.cluster;
	dst->u.kernel.config.cooperative = src->u.kernel.config.cooperative;
	dst->u.kernel.priority = src->u.kernel.priority;
	return CUDA_SUCCESS;
}

CUresult si_cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
					  CUkernelNodeAttrValue *value_out)
{
	struct si_config *c;
	NODE(hNode, KERNEL, value_out);
	c = &hNode->u.kernel.config;
	memset(value_out, 0, sizeof *value_out);
	if (attr == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
		value_out->clusterDim.x = c->cluster.x;
		value_out->clusterDim.y = c->cluster.y;
		value_out->clusterDim.z = c->cluster.z;
	} else if (attr == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
		value_out->cooperative = c->cooperative;
	} else if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
		value_out->priority = hNode->u.kernel.priority;
	} else if (attr != CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW) {
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult si_cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
					  const CUkernelNodeAttrValue *value)
{
	struct si_config *c;
	NODE(hNode, KERNEL, value);
	c = &hNode->u.kernel.config;
	if (attr == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
		c->cluster = (struct si_dim){value->clusterDim.x, value->clusterDim.y,
					     value->clusterDim.z};
	else if (attr == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
		c->cooperative = value->cooperative != 0;
	else if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		hNode->u.kernel.priority = value->priority;
	else if (attr != CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}
