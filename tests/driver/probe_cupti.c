/* The probe: activity records, correlation, callbacks, ids. */
#include "probe.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_RECORDS = 256 };
static CUpti_ActivityKernel10 records[MAX_RECORDS];
static size_t record_count;
static size_t record_size = sizeof records[0];
static uint32_t first_correlation;
static int callbacks_on;

static void on_request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = 1 << 20;
	*buffer = aligned_alloc(8, *size);
	*max = 0;
}

static void on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			size_t valid)
{
	CUpti_Activity *record = NULL;
	(void)context;
	(void)stream;
	(void)size;
	while (d.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
		    record_count < MAX_RECORDS)
			memcpy(&records[record_count++], record, record_size);
	free(buffer);
}

static int by_launch(const void *a, const void *b)
{
	const CUpti_ActivityKernel10 *x = a, *y = b;
	if (x->correlationId != y->correlationId)
		return x->correlationId < y->correlationId ? -1 : 1;
	return x->graphNodeId < y->graphNodeId ? -1 : x->graphNodeId > y->graphNodeId;
}

/* Prints what was recorded since, in order of launch; streams as those known, else "other". */
static void show(const char *what, const uint32_t *streams, uint32_t exec_id)
{
	static const char *const stream_names[] = {"legacy", "per-thread", "a", "b"};
	qsort(records, record_count, sizeof records[0], by_launch);
	printf("%s: %zu records\n", what, record_count);
	for (size_t i = 0; i < record_count; i++) {
		const CUpti_ActivityKernel10 *r = &records[i];
		const char *stream = "other";
		for (int s = 0; s < 4; s++)
			if (r->streamId == streams[s])
				stream = stream_names[s];
		if (!first_correlation)
			first_correlation = r->correlationId;
		printf("  %s stream %s correlation +%u grid %d,%d,%d block %d cluster %u,%u,%u "
		       "shared %d registers %d ordered %d graph %s node %u of %d\n",
		       r->name, stream, r->correlationId - first_correlation, r->gridX, r->gridY,
		       r->gridZ, r->blockX, r->clusterX, r->clusterY, r->clusterZ,
		       r->dynamicSharedMemory, r->registersPerThread > 0, r->start < r->end,
		       !r->graphId             ? "none"
		       : r->graphId == exec_id ? "this"
					       : "other",
		       (uint32_t)r->graphNodeId, (uint32_t)(r->graphNodeId >> 32) == r->graphId);
	}
	record_count = 0;
}

static void on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *call = data;
	const uint32_t *context = user;
	if (!callbacks_on)
		return;
	if (!first_correlation)
		first_correlation = call->correlationId;
	printf("  callback domain %d id %u %s site %d symbol %s correlation +%u context's id %d\n",
	       (int)domain, id, call->functionName, (int)call->callbackSite,
	       call->symbolName ? call->symbolName : "-", call->correlationId - first_correlation,
	       call->contextUid == *context);
}

static void flush(int forced)
{
	d.cuCtxSynchronize();
	d.cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

/* What every section here has: two streams, and records coming in. */
struct streams {
	CUcontext context;
	CUstream a, b;
	uint32_t ids[4]; /* legacy, per thread, a, b */
};

static struct streams begin(void)
{
	struct streams s = {0};
	uint32_t version = 0;
	d.cuptiGetVersion(&version);
	if (version < 130000)
		record_size = sizeof(CUpti_ActivityKernel9);
	d.cuptiActivityRegisterCallbacks(on_request, on_complete);
	d.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	d.cuCtxGetCurrent(&s.context);
	d.cuStreamCreate(&s.a, CU_STREAM_NON_BLOCKING);
	d.cuStreamCreate(&s.b, CU_STREAM_NON_BLOCKING);
	d.cuptiGetStreamIdEx(s.context, NULL, 0, &s.ids[0]);
	d.cuptiGetStreamIdEx(s.context, CU_STREAM_PER_THREAD, 0, &s.ids[1]);
	d.cuptiGetStreamIdEx(s.context, s.a, 0, &s.ids[2]);
	d.cuptiGetStreamIdEx(s.context, s.b, 0, &s.ids[3]);
	return s;
}

void probe_cupti_launches(const struct probe_kernels *k)
{
	const struct streams s = begin();
	const CUstream a = s.a, b = s.b;
	CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
				     .value.clusterDim = {2, 1, 1}};
	CUlaunchConfig config = {.gridDimX = 4,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 64,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .hStream = a,
				 .attrs = &cluster,
				 .numAttrs = 1};
	d.cuLaunchKernel(k->empty, 1, 2, 3, 32, 1, 1, 0, NULL, NULL, NULL);
	d.cuLaunchKernel(k->empty, 2, 1, 1, 32, 1, 1, 0, CU_STREAM_LEGACY, NULL, NULL);
	d.cuLaunchKernel(k->empty, 3, 1, 1, 32, 1, 1, 0, CU_STREAM_PER_THREAD, NULL, NULL);
	d.cuLaunchKernel(k->empty, 4, 1, 1, 32, 1, 1, 512, a, NULL, NULL);
	d.cuLaunchKernel(k->empty, 5, 1, 1, 32, 1, 1, 0, b, NULL, NULL);
	d.cuLaunchKernelEx(&config, k->empty, NULL, NULL);
	d.cuLaunchCooperativeKernel(k->empty, 2, 1, 1, 32, 1, 1, 0, a, NULL);
	d.cuLaunchKernel(k->empty, 0, 1, 1, 32, 1, 1, 0, a, NULL, NULL); /* refused */
	d.cuLaunchKernel(k->empty, 6, 1, 1, 32, 1, 1, 0, a, NULL, NULL);
	flush(1);
	show("launches", s.ids, 0);
}

void probe_cupti_graphs(const struct probe_kernels *k)
{
	const struct streams s = begin();
	const CUstream a = s.a;
	void *params[] = {&(CUdeviceptr){0}};
	CUDA_KERNEL_NODE_PARAMS p = {.func = k->one,
				     .gridDimX = 5,
				     .gridDimY = 1,
				     .gridDimZ = 1,
				     .blockDimX = 64,
				     .blockDimY = 1,
				     .blockDimZ = 1,
				     .kernelParams = params};
	CUgraph captured, graph;
	CUgraphNode n1, n2, n3;
	CUgraphExec exec;
	uint32_t id = 0;
	d.cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED);
	d.cuLaunchKernel(k->one, 3, 1, 1, 32, 1, 1, 0, a, params, NULL);
	d.cuLaunchKernel(k->two, 4, 1, 1, 32, 1, 1, 0, a, params, NULL);
	d.cuStreamEndCapture(a, &captured);
	d.cuGraphCreate(&graph, 0);
	d.cuGraphAddKernelNode(&n1, graph, NULL, 0, &p);
	p.func = k->two;
	d.cuGraphAddKernelNode(&n2, graph, NULL, 0, &p);
	d.cuGraphAddChildGraphNode(&n3, graph, &n1, 1, captured);
	d.cuGraphInstantiate(&exec, graph, 0);
	TRACE(cuptiGetGraphExecId(exec, &id), "not 0: %d", id != 0);
	d.cuGraphLaunch(exec, a);
	d.cuLaunchKernel(k->empty, 7, 1, 1, 32, 1, 1, 0, a, NULL, NULL);
	d.cuGraphLaunch(exec, a);
	flush(1);
	show("a graph twice", s.ids, id);
	d.cuGraphNodeSetEnabled(exec, n2, 0);
	d.cuGraphLaunch(exec, a);
	flush(1);
	show("a node disabled", s.ids, id);
	p.gridDimX = 9;
	d.cuGraphExecKernelNodeSetParams(exec, n1, &p);
	d.cuGraphLaunch(exec, CU_STREAM_PER_THREAD);
	flush(1);
	show("a node's parameters set", s.ids, id);
	d.cuGraphExecDestroy(exec);
	d.cuGraphDestroy(graph);
	d.cuGraphDestroy(captured);
}

/* Ids of nodes: the graph's in the upper half, the node's in the lower. */
static void node_ids(const char *what, CUgraph graph)
{
	CUgraphNode nodes[8];
	size_t count = 8;
	uint32_t graph_id = 0;
	TRACE(cuptiGetGraphId(graph, &graph_id), "%s, not 0: %d", what, graph_id != 0);
	d.cuGraphGetNodes(graph, nodes, &count);
	for (size_t i = 0; i < count; i++) {
		uint64_t id = 0;
		TRACE(cuptiGetGraphNodeId(nodes[i], &id), "%s, node %u of %d", what, (uint32_t)id,
		      (uint32_t)(id >> 32) == graph_id);
	}
}

void probe_cupti_graph_ids(const struct probe_kernels *k)
{
	CUgraph graph = NULL, inner = NULL, child = NULL, clone = NULL;
	CUgraphNode n1, n2, n3;
	(void)begin();
	(void)k;
	d.cuGraphCreate(&inner, 0);
	d.cuGraphAddEmptyNode(&n1, inner, NULL, 0);
	d.cuGraphAddEmptyNode(&n2, inner, &n1, 1);
	d.cuGraphCreate(&graph, 0);
	d.cuGraphAddEmptyNode(&n1, graph, NULL, 0);
	d.cuGraphAddChildGraphNode(&n2, graph, &n1, 1, inner);
	d.cuGraphAddEmptyNode(&n3, graph, &n2, 1);
	node_ids("inner", inner);
	node_ids("outer", graph);
	d.cuGraphChildGraphNodeGetGraph(n2, &child);
	node_ids("child", child);
	d.cuGraphClone(&clone, graph);
	node_ids("clone", clone);
}

void probe_cupti_running(const struct probe_kernels *k)
{
	const struct streams s = begin();
	const CUstream a = s.a, b = s.b;
	unsigned long long ns = 200000000;
	void *params[] = {&ns};
	d.cuLaunchKernel(k->spin, 1, 1, 1, 32, 1, 1, 0, a, params, NULL);
	d.cuLaunchKernel(k->empty, 1, 1, 1, 32, 1, 1, 0, a, NULL, NULL);
	TRACE(cuStreamQuery(a), "a kernel runs");
	d.cuLaunchKernel(k->empty, 2, 1, 1, 32, 1, 1, 0, b, NULL, NULL);
	d.cuStreamSynchronize(b);
	TRACE(cuptiActivityFlushAll(0), "a kernel runs");
	show("while a kernel runs", s.ids, 0);
	flush(0);
	show("after it", s.ids, 0);
}

void probe_cupti_callbacks(const struct probe_kernels *k)
{
	const struct streams s = begin();
	const CUstream a = s.a;
	CUpti_SubscriberHandle subscriber = NULL, second = NULL;
	uint32_t context = 0;
	d.cuptiGetContextId(s.context, &context);
	TRACE(cuptiSubscribe(&subscriber, on_call, &context), "%s", "");
	TRACE(cuptiSubscribe(&second, on_call, &context), "a second one");
	TRACE(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				  CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
	      "%s", "");
	TRACE(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 99999), "id 99999");
	callbacks_on = 1;
	d.cuLaunchKernel(k->empty, 8, 1, 1, 32, 1, 1, 0, a, NULL, NULL);
	callbacks_on = 0;
	flush(1);
	show("with a callback", s.ids, 0);
	TRACE(cuptiUnsubscribe(subscriber), "%s", "");
}

void probe_cupti_ids(const struct probe_kernels *k)
{
	const struct streams s = begin();
	unsigned long long id_a = 0, context_id = 0;
	uint32_t id = 0, version = 0;
	uint64_t now = 0;
	struct timespec t;
	(void)k;
	TRACE(cuptiGetVersion(&version), "layout 10: %d", version >= 130000);
	TRACE(cuptiGetTimestamp(&now), "%s", "");
	clock_gettime(CLOCK_REALTIME, &t);
	printf("timestamp within a second of CLOCK_REALTIME: %d\n",
	       llabs((long long)now - (long long)t.tv_sec * 1000000000LL - t.tv_nsec) <
		       1000000000LL);
	TRACE(cuptiGetContextId(s.context, &id), "%s", "");
	TRACE(cuCtxGetId(s.context, &context_id), "as CUPTI's: %d", context_id == id);
	TRACE(cuStreamGetId(s.a, &id_a), "a %llu, CUPTI's %u", id_a, s.ids[2]);
	TRACE(cuptiGetStreamIdEx(s.context, NULL, 1, &id), "the per-thread one: %d",
	      id == s.ids[1]);
	printf("legacy is 7: %d, all different: %d\n", s.ids[0] == 7,
	       s.ids[0] != s.ids[1] && s.ids[1] != s.ids[2] && s.ids[2] != s.ids[3]);
}

void probe_cupti_end(const struct probe_kernels *k)
{
	const struct streams s = begin();
	size_t dropped = 9;
	TRACE(cuptiActivityEnable((CUpti_ActivityKind)9999), "kind 9999");
	TRACE(cuptiActivityGetNumDroppedRecords(s.context, 0, &dropped), "%zu", dropped);
	TRACE(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "%s", "");
	d.cuLaunchKernel(k->empty, 1, 1, 1, 32, 1, 1, 0, s.a, NULL, NULL);
	flush(1);
	show("after disabling", s.ids, 0);
	TRACE(cuptiActivityRegisterCallbacks(NULL, NULL), "no callbacks");
	TRACE(cuptiFinalize(), "%s", "");
}
