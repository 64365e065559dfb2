/*
 * What hooks.def names beside the launches: one small function (or, where prototypes differ
 * in their tails, a macro) for each thing that is worth knowing. `call` is not used here.
 */
#ifndef GW_HANDLERS_H
#define GW_HANDLERS_H

#include "preload/cupti/activity.h"
#include "preload/cupti/window_cost.h"
#include "preload/hook/hooks.h"
#include "preload/launch/launch.h"
#include "preload/lifecycle.h"
#include "preload/launch/module_reports.h"
#include "preload/launch/modules.h"
#include "preload/launch/object_lifetime.h"
#include "preload/launch/waits.h"

#define none(...) ((void)0)

#define driver_ready(call, result, flags) \
	((result) == CUDA_SUCCESS ? gw_hooks_driver_ready() : (void)0)
#define wait_begins(call, ...)                   gw_wait_begin(call)
#define host_copy_begins(call, to, from, n, ...) gw_host_copy_begin(call, n)
#define copy_begins(call, to, from, n, stream)   gw_copy_begin(call, stream, n, true)
#define move_begins(call, to, from, n, stream)   gw_copy_begin(call, stream, n, false)
#define context_waited(call, result, ...)        gw_wait_end(call, GW_WAIT_CONTEXT)
#define stream_waited(call, result, stream)      gw_wait_end(call, GW_WAIT_STREAM)
#define event_waited(call, result, event)        gw_wait_end(call, GW_WAIT_EVENT)
#define copy_returned(call, result, to, ...)     gw_wait_end(call, GW_WAIT_COPY)

#define context_coming(call, ...)  gw_before_context_create()
#define context_changed(call, ...) gw_context_changed()

#define stream_made(call, result, stream, ...) \
	((result) == CUDA_SUCCESS ? gw_stream_made(*(stream)) : (void)0)
/* A capture that goes on in it ends with it. */
#define stream_going(call, stream) \
	((call)->at = gw_captures_take(stream, NULL), gw_stream_gone(stream))
#define stream_ended(call, result, stream) \
	(!(call)->at                ? (void)0 \
	 : (result) == CUDA_SUCCESS ? gw_captures_over((call)->at) \
				    : gw_capture_of(stream))

#define block_shape_set(call, result, f, x, y, z) \
	((result) == CUDA_SUCCESS ? gw_shape_block(f, x, y, z) : (void)0)
#define shared_size_set(call, result, f, bytes) \
	((result) == CUDA_SUCCESS ? gw_shape_shared(f, bytes) : (void)0)

/* Records of a context die with it: have them out first. */
static inline void context_going(struct gw_call *call, CUcontext context)
{
	call->at = gw_captures_take(NULL, context);
	gw_activity_context_going();
	gw_context_gone(context);
}
/* Where it lives on, these count for ever. */
#define context_ended(call, result, ...) \
	((result) == CUDA_SUCCESS ? gw_captures_over((call)->at) : (void)0)

static inline void primary_coming(struct gw_call *call, CUcontext *context, CUdevice device)
{
	(void)context;
	gw_before_context_create();
	call->at = gw_primary_active(device);
}

/* Where there was none, the one before has ended, whoever saw that: another thread may retain it
 * just after its last user has released it, and it may have the same handle. */
static inline void primary_retained(struct gw_call *call, CUresult result, CUcontext *context,
				    CUdevice device)
{
	if (result != CUDA_SUCCESS)
		return;
	if (!call->at)
		gw_primary_gone(device);
	gw_primary_set(device, *context);
}

/* What was made in it is gone, whether it counts as in use or not. */
static inline void primary_reset(struct gw_call *call, CUresult result, CUdevice device)
{
	(void)call;
	if (result == CUDA_SUCCESS)
		gw_primary_gone(device);
}

/* Released by its last user: what was made in it is gone. */
static inline void primary_changed(struct gw_call *call, CUresult result, CUdevice device)
{
	(void)call;
	if (result == CUDA_SUCCESS)
		gw_primary_changed(device);
}

/* A green context is used through a context that cuCtxFromGreenCtx returns; both end together. */
#define green_returned(call, result, context, green) \
	((result) == CUDA_SUCCESS ? gw_green_set(green, *(context)) : (void)0)

static inline void green_going(struct gw_call *call, CUgreenCtx green)
{
	CUcontext context = gw_green_take(green);

	if (context)
		context_going(call, context);
}

/* Counted before the call, so that no captured launch can be taken for one that runs. */
#define capture_coming(call, ...) \
	atomic_fetch_add_explicit(&gw_hot.captures, 1, memory_order_relaxed)

static inline void gw_capture_begun(CUresult result, CUstream stream)
{
	if (result == CUDA_SUCCESS)
		gw_capture_of(stream);
	else
		atomic_fetch_sub_explicit(&gw_hot.captures, 1, memory_order_relaxed);
}
#define FIRST_OF(first, ...)             first
#define capture_begun(call, result, ...) gw_capture_begun(result, FIRST_OF(__VA_ARGS__, 0))

static inline void capture_ended(struct gw_call *call, CUresult result, CUstream stream,
				 CUgraph *graph)
{
	(void)call;
	(void)graph;
	/*
	 * These end the capture. Any other answer may mean that it goes on: a count too high
	 * costs launches a question, one too low would take captured launches for real ones.
	 */
	if (result != CUDA_SUCCESS && result != CUDA_ERROR_STREAM_CAPTURE_INVALIDATED &&
	    result != CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
		return;
	gw_captures_take(stream, NULL);
	gw_captures_over(1);
}

/* A module goes with its context, a library is of none. */
#define LOADED(result, handle, context, origin, image, path) \
	((result) == CUDA_SUCCESS ? gw_module_loaded(*(handle), context, origin, image, path) \
				  : (void)gw_module_load_ended(false))
#define data_coming(call, handle, image, ...) gw_module_load_begun(image, NULL)
#define file_coming(call, handle, path, ...)  gw_module_load_begun(NULL, path)
#define MODULE_LOADED(result, handle, ...)    LOADED(result, handle, gw_context_current(), __VA_ARGS__)
#define LIBRARY_LOADED(result, handle, ...)   LOADED(result, handle, NULL, __VA_ARGS__)
#define module_from_file(call, result, module, path) \
	MODULE_LOADED(result, module, GW_MODULE_FILE, NULL, path)
#define module_from_data(call, result, module, image) \
	MODULE_LOADED(result, module, GW_MODULE_DATA, image, NULL)
#define module_from_data_ex(call, result, module, image, ...) \
	MODULE_LOADED(result, module, GW_MODULE_DATA, image, NULL)
#define module_from_fatbin(call, result, module, image) \
	MODULE_LOADED(result, module, GW_MODULE_FATBIN, image, NULL)
#define library_from_data(call, result, library, image, ...) \
	LIBRARY_LOADED(result, library, GW_MODULE_LIBRARY, image, NULL)
#define library_from_file(call, result, library, path, ...) \
	LIBRARY_LOADED(result, library, GW_MODULE_FILE, NULL, path)
#define module_going(call, module)   gw_module_gone(module)
#define library_going(call, library) gw_module_gone(library)
#define function_found(call, result, f, module, name) \
	((result) == CUDA_SUCCESS ? gw_function_found(*(f), module) : (void)0)
#define kernel_found(call, result, kernel, library, name) \
	((result) == CUDA_SUCCESS ? gw_function_found(*(kernel), library) : (void)0)
#define library_module(call, result, module, library) \
	((result) == CUDA_SUCCESS ? gw_module_of_library(*(module), library, gw_context_current()) \
				  : (void)0)
#define kernel_function(call, result, f, kernel) \
	((result) == CUDA_SUCCESS ? gw_function_of_kernel(*(f), kernel) : (void)0)
#define code_linked(call, result, state, cubin, size) \
	((result) == CUDA_SUCCESS && (cubin) ? gw_module_linked(*(cubin)) : (void)0)

/* A node's kernel, as the one who built it names it. */
#define NODE_KERNEL(result, params) \
	((result) == CUDA_SUCCESS \
		 ? gw_kernel_in_graph((params)->func ? (params)->func \
						     : (CUfunction)(params)->kern) \
		 : (void)0)
#define NODE_KERNEL_V1(result, params) \
	((result) == CUDA_SUCCESS ? gw_kernel_in_graph((params)->func) : (void)0)
#define NODE_KERNEL_ANY(result, params) \
	((result) == CUDA_SUCCESS && (params)->type == CU_GRAPH_NODE_TYPE_KERNEL \
		 ? NODE_KERNEL(result, &(params)->kernel) \
		 : (void)0)
#define node_coming(call, node, graph, after, count, params) \
	((params) && (params)->type == CU_GRAPH_NODE_TYPE_CONDITIONAL \
		 ? gw_window_conditional_comes() \
		 : (void)0)
#define node_coming_v2(call, node, graph, after, edges, ...) \
	node_coming(call, node, graph, after, __VA_ARGS__)
#define node_added(call, result, node, graph, after, count, params) NODE_KERNEL(result, params)
#define node_added_v1(call, result, node, graph, after, count, params) \
	NODE_KERNEL_V1(result, params)
#define node_added_any(call, result, node, graph, after, count, params) \
	NODE_KERNEL_ANY(result, params)
#define node_added_any_v2(call, result, node, graph, after, edges, count, params) \
	NODE_KERNEL_ANY(result, params)
#define node_set(call, result, node, params)     NODE_KERNEL(result, params)
#define node_set_v1(call, result, node, params)  NODE_KERNEL_V1(result, params)
#define node_set_any(call, result, node, params) NODE_KERNEL_ANY(result, params)

#define graph_made(call, result, exec, graph, ...) \
	((result) == CUDA_SUCCESS ? gw_graph_made(*(exec), graph) : (void)0)
#define graph_updated(call, result, exec, graph, ...) \
	((result) == CUDA_SUCCESS ? gw_graph_updated(exec, graph) : (void)0)
#define graph_updated_v2 graph_updated
#define graph_child_set(call, result, exec, node, child) \
	((result) == CUDA_SUCCESS ? gw_graph_child_set(exec, node, child) : (void)0)
#define graph_node_set(call, result, exec, node, params) \
	((result) == CUDA_SUCCESS ? gw_graph_node_set(exec, node, params) : (void)0)
#define graph_node_enabled(call, result, exec, node, on) \
	((result) == CUDA_SUCCESS ? gw_graph_node_enabled(exec, node, (on) != 0) : (void)0)
#define graph_going(call, exec) gw_graph_gone(exec)

/* The three forms of a kernel node's parameters begin alike but are not one type. */
#define KERNEL_NODE_PARAMS(to, from) \
	do { \
		(to).func = (from)->func; \
		(to).gridDimX = (from)->gridDimX; \
		(to).gridDimY = (from)->gridDimY; \
		(to).gridDimZ = (from)->gridDimZ; \
		(to).blockDimX = (from)->blockDimX; \
		(to).blockDimY = (from)->blockDimY; \
		(to).blockDimZ = (from)->blockDimZ; \
		(to).sharedMemBytes = (from)->sharedMemBytes; \
		(to).kernelParams = (from)->kernelParams; \
		(to).extra = (from)->extra; \
	} while (0)

static inline void graph_node_set_v1(struct gw_call *call, CUresult result, CUgraphExec exec,
				     CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS p = {0};

	(void)call;
	if (result != CUDA_SUCCESS)
		return;
	KERNEL_NODE_PARAMS(p, params);
	gw_graph_node_set(exec, node, &p);
}

static inline void graph_node_set_any(struct gw_call *call, CUresult result, CUgraphExec exec,
				      CUgraphNode node, CUgraphNodeParams *params)
{
	(void)call;
	if (result != CUDA_SUCCESS || !params)
		return;
	if (params->type == CU_GRAPH_NODE_TYPE_KERNEL) {
		CUDA_KERNEL_NODE_PARAMS p = {0};

		KERNEL_NODE_PARAMS(p, &params->kernel);
		p.kern = params->kernel.kern;
		p.ctx = params->kernel.ctx;
		gw_graph_node_set(exec, node, &p);
	} else if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
		gw_graph_child_set(exec, node, params->graph.graph);
	}
}

#endif
