/* The probe: error codes, capture states, graph nodes. */
#include "probe.h"
#include <stdio.h>
#include <string.h>

void probe_errors_early(void)
{
	CUcontext context;
	int count;
	TRACE(cuDeviceGetCount(&count), "before cuInit");
	TRACE(cuCtxGetCurrent(&context), "before cuInit");
	TRACE(cuCtxSynchronize(), "before cuInit");
	TRACE(cuInit(1), "flags 1");
	TRACE(cuInit(0), "%s", "");
	TRACE(cuCtxSynchronize(), "no context");
	TRACE(cuCtxGetDevice(&count), "no context");
	TRACE(cuCtxPopCurrent(&context), "no context");
	TRACE(cuStreamQuery(NULL), "no context");
}

void probe_kernel_handles(const struct probe_kernels *k)
{
	CUlibrary library = NULL, of_kernel = NULL;
	CUkernel kernel = NULL;
	CUfunction function = NULL;
	CUmodule module = NULL;
	const char *name = "?";
	unsigned count = 0;
	int value = -1;
	TRACE(cuModuleGetFunctionCount(&count, k->module), "%u", count);
	TRACE(cuLibraryLoadData(&library, probe_image, NULL, NULL, 0, NULL, NULL, 0), "%s",
	      probe_handle(library));
	TRACE(cuLibraryGetKernelCount(&count, library), "%u", count);
	TRACE(cuLibraryGetKernel(&kernel, library, "one"), "%s", probe_handle(kernel));
	TRACE(cuLibraryGetKernel(&kernel, library, "nothing"), "unknown name");
	TRACE(cuKernelGetName(&name, kernel), "%s", name);
	TRACE(cuFuncGetName(&name, k->one), "%s", name);
	TRACE(cuFuncGetModule(&module, k->one), "%s", probe_handle(module));
	TRACE(cuKernelGetLibrary(&of_kernel, kernel), "%s", probe_handle(of_kernel));
	TRACE(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k->one), "%d",
	      value);
	TRACE(cuFuncGetAttribute(&value, (CUfunction_attribute)99, k->one), "attribute 99");
	TRACE(cuKernelGetFunction(&function, kernel), "%s", probe_handle(function));
	TRACE(cuFuncGetName(&name, function), "%s", name);
	TRACE(cuLibraryGetModule(&module, library), "%s", probe_handle(module));
	TRACE(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL,
			     (void *[]){&(CUdeviceptr){0}}, NULL),
	      "of a CUkernel");
	TRACE(cuCtxSynchronize(), "%s", "");
	TRACE(cuLibraryUnload(library), "%s", "");
}

/* A CUkernel where the API takes a CUfunction: documented for launches and attributes. */
void probe_kernel_as_function(const struct probe_kernels *k)
{
	CUlibrary library = NULL;
	CUkernel kernel = NULL;
	CUmodule module = NULL;
	const char *name = "?";
	int value = -1;
	(void)k;
	d.cuLibraryLoadData(&library, probe_image, NULL, NULL, 0, NULL, NULL, 0);
	TRACE(cuLibraryGetKernel(&kernel, library, "one"), "%s", probe_handle(kernel));
	TRACE(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
				 (CUfunction)kernel),
	      "%d", value);
	TRACE(cuFuncGetName(&name, (CUfunction)kernel), "%s", name);
	TRACE(cuFuncGetModule(&module, (CUfunction)kernel), "%s", module ? "a module" : "null");
}

/* What the API documents an error for; where it does not, drivers crash. */
void probe_null_handles(const struct probe_kernels *k)
{
	CUfunction function;
	(void)k;
	TRACE(cuDriverGetVersion(NULL), "no pointer");
	TRACE(cuMemFree(0), "null");
	TRACE(cuModuleGetFunction(&function, NULL, "one"), "no module");
	TRACE(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), "no function");
	TRACE(cuGraphLaunch(NULL, NULL), "no graph");
	TRACE(cuGraphDestroy(NULL), "no graph");
	TRACE(cuEventRecord(NULL, NULL), "no event");
	TRACE(cuCtxDestroy(NULL), "no context");
}

void probe_launches(const struct probe_kernels *k)
{
	TRACE(cuLaunchKernel(k->empty, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), "plain");
	TRACE(cuLaunchKernel(k->empty, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), "grid 0");
	TRACE(cuLaunchKernel(k->empty, 1, 1, 1, 0, 1, 1, 0, NULL, NULL, NULL), "block 0");
	TRACE(cuLaunchKernel(k->empty, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL), "block 2048");
	TRACE(cuLaunchKernel(k->empty, 1, 1, 1, 1, 1, 128, 0, NULL, NULL, NULL), "block z 128");
	TRACE(cuLaunchKernel(k->empty, 1, 70000, 1, 1, 1, 1, 0, NULL, NULL, NULL), "grid y 70000");
	TRACE(cuLaunchKernel(k->empty, 1, 1, 1, 1, 1, 1, 1 << 20, NULL, NULL, NULL),
	      "1 MiB shared");
	TRACE(cuLaunchCooperativeKernel(k->empty, 1, 1, 1, 32, 1, 1, 0, NULL, NULL), "%s", "");
	TRACE(cuCtxSynchronize(), "%s", "");
}

void probe_streams_and_events(const struct probe_kernels *k)
{
	CUstream stream = NULL, other = NULL;
	CUevent event = NULL, silent = NULL;
	unsigned flags = 9;
	float ms = -1;
	(void)k;
	TRACE(cuStreamCreate(&stream, 64), "flags 64");
	TRACE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "%s", probe_handle(stream));
	TRACE(cuStreamCreate(&other, CU_STREAM_DEFAULT), "%s", probe_handle(other));
	TRACE(cuStreamGetFlags(stream, &flags), "%u", flags);
	TRACE(cuStreamGetFlags(other, &flags), "%u", flags);
	TRACE(cuStreamQuery(stream), "%s", "");
	TRACE(cuStreamSynchronize(stream), "%s", "");
	TRACE(cuEventCreate(&event, 0), "%s", probe_handle(event));
	TRACE(cuEventCreate(&silent, CU_EVENT_DISABLE_TIMING), "%s", probe_handle(silent));
	TRACE(cuEventQuery(event), "never recorded");
	TRACE(cuEventSynchronize(event), "never recorded");
	TRACE(cuEventElapsedTime(&ms, event, event), "never recorded");
	TRACE(cuStreamWaitEvent(stream, event, 0), "never recorded");
	TRACE(cuEventRecord(event, stream), "%s", "");
	TRACE(cuEventRecord(silent, stream), "%s", "");
	TRACE(cuEventSynchronize(event), "%s", "");
	TRACE(cuEventQuery(event), "%s", "");
	TRACE(cuEventElapsedTime(&ms, event, event), "%d", ms >= 0);
	TRACE(cuEventElapsedTime(&ms, event, silent), "without timing");
	TRACE(cuEventDestroy(event), "%s", "");
	TRACE(cuEventDestroy(silent), "%s", "");
	TRACE(cuStreamDestroy(stream), "%s", "");
	TRACE(cuStreamDestroy(other), "%s", "");
}

void probe_contexts(const struct probe_kernels *k)
{
	CUcontext made = NULL, popped = NULL, current = NULL;
	unsigned flags = 0;
	int active = -1;
	(void)k;
	TRACE(cuDevicePrimaryCtxGetState(0, &flags, &active), "active %d", active);
	TRACE(cuDevicePrimaryCtxGetState(999, &flags, &active), "device 999");
	TRACE(cuCtxCreate(&made, NULL, 0, 0), "%s", probe_handle(made));
	TRACE(cuCtxGetCurrent(&current), "%s", probe_handle(current));
	TRACE(cuCtxPopCurrent(&popped), "%s", probe_handle(popped));
	TRACE(cuCtxGetCurrent(&current), "%s", probe_handle(current));
	TRACE(cuCtxPushCurrent(made), "%s", "");
	TRACE(cuCtxDestroy(made), "%s", "");
	TRACE(cuCtxGetCurrent(&current), "%s", probe_handle(current));
}

void probe_values(const struct probe_kernels *k)
{
	static const char garbage[256] = "this is no module image";
	CUdeviceptr memory;
	CUfunction function;
	CUmodule module;
	CUdevice device = -1;
	const char *name = "?";
	int value = -1;
	TRACE(cuGetErrorName(CUDA_ERROR_INVALID_HANDLE, &name), "%s", name);
	TRACE(cuGetErrorName((CUresult)123456, &name), "unknown code");
	TRACE(cuDeviceGet(&device, 999), "ordinal 999");
	TRACE(cuDeviceGet(&device, -1), "ordinal -1");
	TRACE(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), "%d", value);
	TRACE(cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, 0), "attribute 9999");
	TRACE(cuModuleLoadData(&module, garbage), "garbage");
	TRACE(cuModuleGetFunction(&function, k->module, "nothing"), "unknown name");
	TRACE(cuMemAlloc(&memory, 0), "0 bytes");
	TRACE(cuMemAlloc(&memory, (size_t)1 << 50), "a PiB");
}

/* ---- capture ---- */

static void status(CUstream stream)
{
	CUstreamCaptureStatus state = (CUstreamCaptureStatus)9;
	TRACE(cuStreamIsCapturing(stream, &state), "status %d", (int)state);
}

static void nodes(const char *what, CUgraph graph)
{
	CUgraphNode all[32], from[32], to[32], deps[32];
	size_t count = 32, roots = 32, edges = 32;
	printf("%s:\n", what);
	probe_forget();
	TRACE(cuGraphGetNodes(graph, all, &count), "%zu", count);
	for (size_t i = 0; i < count; i++) {
		CUgraphNodeType type;
		size_t before = 32, after = 32;
		TRACE(cuGraphNodeGetType(all[i], &type), "%s type %d", probe_handle(all[i]),
		      (int)type);
		TRACE(cuGraphNodeGetDependencies(all[i], deps, NULL, &before), "%zu", before);
		TRACE(cuGraphNodeGetDependentNodes(all[i], deps, NULL, &after), "%zu", after);
	}
	TRACE(cuGraphGetRootNodes(graph, all, &roots), "%zu first %s", roots,
	      probe_handle(roots ? all[0] : NULL));
	TRACE(cuGraphGetEdges(graph, from, to, NULL, &edges), "%zu", edges);
}

/* Two streams: `b` is drawn into the capture of `a`, and joined again or not. */
static void fork_and_join(const struct probe_kernels *k, int join)
{
	void *params[] = {&(CUdeviceptr){0}};
	CUstream a, b;
	CUevent fork, back;
	CUgraph graph = NULL;
	d.cuStreamCreate(&a, CU_STREAM_NON_BLOCKING);
	d.cuStreamCreate(&b, CU_STREAM_NON_BLOCKING);
	d.cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING);
	d.cuEventCreate(&back, CU_EVENT_DISABLE_TIMING);
	TRACE(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED), "%s", "");
	TRACE(cuLaunchKernel(k->one, 1, 1, 1, 32, 1, 1, 0, a, params, NULL), "captured");
	TRACE(cuEventRecord(fork, a), "in a capture");
	TRACE(cuStreamWaitEvent(b, fork, 0), "draws the stream in");
	status(b);
	TRACE(cuLaunchKernel(k->two, 2, 1, 1, 32, 1, 1, 0, b, params, NULL), "captured");
	TRACE(cuLaunchKernel(k->one, 3, 1, 1, 32, 1, 1, 0, a, params, NULL), "captured");
	if (join) {
		TRACE(cuEventRecord(back, b), "in a capture");
		TRACE(cuStreamWaitEvent(a, back, 0), "joins");
		TRACE(cuLaunchKernel(k->two, 4, 1, 1, 32, 1, 1, 0, a, params, NULL), "captured");
	}
	TRACE(cuStreamEndCapture(a, &graph), "graph %s", graph ? "made" : "null");
	status(a);
	status(b);
	if (graph)
		nodes("forked and joined", graph);
}

void probe_capture_joined(const struct probe_kernels *k)
{
	fork_and_join(k, 1);
}

void probe_capture_unjoined(const struct probe_kernels *k)
{
	fork_and_join(k, 0);
}

void probe_capture(const struct probe_kernels *k)
{
	void *params[] = {&(CUdeviceptr){0}};
	CUstreamCaptureStatus state = (CUstreamCaptureStatus)9;
	const CUgraphNode *deps;
	CUstream a;
	CUgraph graph = NULL, inside = NULL;
	cuuint64_t id;
	size_t count = 0;
	d.cuStreamCreate(&a, CU_STREAM_NON_BLOCKING);
	status(a);
	status(NULL);
	TRACE(cuStreamEndCapture(a, &graph), "not begun");
	TRACE(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED), "legacy stream");
	TRACE(cuStreamBeginCapture(a, (CUstreamCaptureMode)7), "mode 7");
	TRACE(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED), "%s", "");
	status(a);
	TRACE(cuLaunchKernel(k->one, 1, 1, 1, 32, 1, 1, 0, a, params, NULL), "captured");
	TRACE(cuLaunchKernel(k->two, 2, 1, 1, 32, 1, 1, 0, a, params, NULL), "captured");
	TRACE(cuStreamGetCaptureInfo(a, &state, &id, &inside, &deps, NULL, &count),
	      "status %d deps %zu", (int)state, count);
	TRACE(cuStreamEndCapture(a, &graph), "graph is the one captured into: %d", graph == inside);
	status(a);
	if (graph)
		nodes("captured", graph);
	TRACE(cuGraphDestroy(graph), "%s", "");
	TRACE(cuStreamDestroy(a), "%s", "");
}

/* What a capture does not survive: each in a capture of its own, which then ends. */
enum spoil { BEGIN_TWICE, SYNCHRONIZE, QUERY, EVENT_QUERY, EVENT_SYNCHRONIZE, END_OTHER, SPOILS };

static void spoil(enum spoil how, CUstream a, CUstream b, CUevent event)
{
	CUgraph graph = NULL;
	switch (how) {
	case BEGIN_TWICE:
		TRACE(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED), "twice");
		break;
	case SYNCHRONIZE:
		TRACE(cuStreamSynchronize(a), "in a capture");
		break;
	case QUERY:
		TRACE(cuStreamQuery(a), "in a capture");
		break;
	case EVENT_QUERY:
		TRACE(cuEventQuery(event), "in a capture");
		break;
	case EVENT_SYNCHRONIZE:
		TRACE(cuEventSynchronize(event), "in a capture");
		break;
	default:
		TRACE(cuStreamEndCapture(b, &graph), "not the origin");
	}
}

void probe_capture_broken(const struct probe_kernels *k)
{
	void *params[] = {&(CUdeviceptr){0}};
	for (int how = 0; how < SPOILS; how++) {
		CUgraph graph = NULL;
		CUstream a, b;
		CUevent event, back;
		d.cuStreamCreate(&a, CU_STREAM_NON_BLOCKING);
		d.cuStreamCreate(&b, CU_STREAM_NON_BLOCKING);
		d.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
		d.cuEventCreate(&back, CU_EVENT_DISABLE_TIMING);
		TRACE(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED), "%s", "");
		d.cuEventRecord(event, a);
		d.cuStreamWaitEvent(b, event, 0);
		d.cuEventRecord(back, b);
		d.cuStreamWaitEvent(a, back, 0);
		spoil((enum spoil)how, a, b, event);
		status(a);
		status(b);
		TRACE(cuLaunchKernel(k->one, 1, 1, 1, 32, 1, 1, 0, a, params, NULL), "after it");
		TRACE(cuStreamEndCapture(a, &graph), "graph %s", graph ? "made" : "null");
		status(a);
		status(b);
	}
}

/* ---- graphs ---- */

static CUDA_KERNEL_NODE_PARAMS node_params(CUfunction f, unsigned grid, void **params)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = f,
					 .gridDimX = grid,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 32,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = params};
}

static void exec_errors(CUgraphExec exec, CUgraphNode in, CUgraphNode empty, CUgraphNode child,
			CUgraphNode foreign, const CUDA_KERNEL_NODE_PARAMS *p)
{
	unsigned enabled = 9;
	TRACE(cuGraphNodeGetEnabled(exec, in, &enabled), "%u", enabled);
	TRACE(cuGraphNodeSetEnabled(exec, in, 0), "%s", "");
	TRACE(cuGraphNodeGetEnabled(exec, in, &enabled), "%u", enabled);
	TRACE(cuGraphNodeSetEnabled(exec, in, 1), "%s", "");
	TRACE(cuGraphNodeSetEnabled(exec, empty, 0), "empty node");
	TRACE(cuGraphNodeSetEnabled(exec, child, 0), "child node");
	TRACE(cuGraphNodeSetEnabled(exec, foreign, 0), "node of another graph");
	TRACE(cuGraphExecKernelNodeSetParams(exec, in, p), "%s", "");
	TRACE(cuGraphExecKernelNodeSetParams(exec, empty, p), "empty node");
	TRACE(cuGraphExecKernelNodeSetParams(exec, foreign, p), "node of another graph");
}

void probe_graph_build(const struct probe_kernels *k)
{
	void *params[] = {&(CUdeviceptr){0}};
	CUDA_KERNEL_NODE_PARAMS p = node_params(k->one, 5, params), got = {0};
	CUgraph graph = NULL, small = NULL, clone = NULL, inner = NULL;
	CUgraphNode a = NULL, b = NULL, c = NULL, e = NULL, s = NULL, found = NULL;
	TRACE(cuGraphCreate(&graph, 1), "flags 1");
	TRACE(cuGraphCreate(&graph, 0), "%s", probe_handle(graph));
	TRACE(cuGraphCreate(&small, 0), "%s", probe_handle(small));
	TRACE(cuGraphAddKernelNode(&s, small, NULL, 0, &p), "%s", probe_handle(s));
	TRACE(cuGraphAddKernelNode(&a, graph, NULL, 0, &p), "%s", probe_handle(a));
	p.gridDimX = 0;
	TRACE(cuGraphAddKernelNode(&b, graph, &a, 1, &p), "grid 0");
	p.gridDimX = 6;
	TRACE(cuGraphAddKernelNode(&b, graph, &s, 1, &p), "dependency of another graph");
	TRACE(cuGraphAddKernelNode(&b, graph, &a, 1, &p), "%s", probe_handle(b));
	TRACE(cuGraphAddChildGraphNode(&c, graph, &a, 1, small), "%s", probe_handle(c));
	TRACE(cuGraphAddEmptyNode(&e, graph, NULL, 0), "%s", probe_handle(e));
	TRACE(cuGraphAddDependencies(graph, &b, &e, NULL, 1), "%s", "");
	TRACE(cuGraphAddDependencies(graph, &b, &e, NULL, 1), "twice");
	TRACE(cuGraphChildGraphNodeGetGraph(c, &inner), "the same graph: %d", inner == small);
	TRACE(cuGraphChildGraphNodeGetGraph(a, &inner), "kernel node");
	TRACE(cuGraphKernelNodeGetParams(a, &got), "grid %u block %u same function %d",
	      got.gridDimX, got.blockDimX, got.func == k->one);
	TRACE(cuGraphKernelNodeGetParams(e, &got), "empty node");
	p.func = k->two;
	TRACE(cuGraphKernelNodeSetParams(b, &p), "%s", "");
	nodes("by nodes", graph);
	TRACE(cuGraphClone(&clone, graph), "%s", clone ? "a graph" : "null");
	TRACE(cuGraphNodeFindInClone(&found, b, clone), "another node: %d", found != b);
	TRACE(cuGraphNodeFindInClone(&found, s, clone), "node of another graph");
	TRACE(cuGraphDestroy(clone), "%s", "");
	TRACE(cuGraphDestroy(graph), "%s", "");
	TRACE(cuGraphDestroy(small), "%s", "");
}

void probe_graph_exec(const struct probe_kernels *k)
{
	void *params[] = {&(CUdeviceptr){0}};
	CUDA_KERNEL_NODE_PARAMS p = node_params(k->one, 5, params);
	CUgraphExecUpdateResultInfo info = {0};
	CUgraph graph = NULL, small = NULL, clone = NULL;
	CUgraphNode a = NULL, b = NULL, c = NULL, e = NULL, s = NULL;
	CUgraphExec exec = NULL;
	d.cuGraphCreate(&graph, 0);
	d.cuGraphCreate(&small, 0);
	d.cuGraphAddKernelNode(&s, small, NULL, 0, &p);
	d.cuGraphAddKernelNode(&a, graph, NULL, 0, &p);
	d.cuGraphAddKernelNode(&b, graph, &a, 1, &p);
	d.cuGraphAddChildGraphNode(&c, graph, &a, 1, small);
	d.cuGraphAddEmptyNode(&e, graph, &b, 1);
	d.cuGraphClone(&clone, graph);
	TRACE(cuGraphInstantiate(&exec, graph, 0), "%s", exec ? "made" : "null");
	p.func = k->two;
	exec_errors(exec, b, e, c, s, &p);
	TRACE(cuGraphExecUpdate(exec, clone, &info), "result %d", (int)info.result);
	TRACE(cuGraphExecUpdate(exec, small, &info), "topology: result %d", (int)info.result);
	TRACE(cuGraphLaunch(exec, NULL), "%s", "");
	TRACE(cuCtxSynchronize(), "%s", "");
	TRACE(cuGraphExecDestroy(exec), "%s", "");
}
