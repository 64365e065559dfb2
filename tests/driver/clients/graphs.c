/* Every kind of graph: captured, built by nodes, with a child, updated, with a node disabled,
 * with parameters set on the executable graph. Each prints what its kernels left behind. */
#include "client.h"

static CUstream stream;
static CUfunction increment, fill;
static CUdeviceptr value;

static int take(void)
{
	int v;
	CK(cuStreamSynchronize(stream));
	CK(cuMemcpyDtoH(&v, value, sizeof v));
	CK(cuMemsetD32(value, 0, 1));
	CK(cuCtxSynchronize());
	return v;
}

static void launch(CUgraphExec exec, int times)
{
	for (int i = 0; i < times; i++)
		CK(cuGraphLaunch(exec, stream));
}

static void expect(const char *what, int wanted)
{
	int got = take();
	printf("%s: %d\n", what, got);
	if (got != wanted) {
		fprintf(stderr, "%s: expected %d\n", what, wanted);
		exit(1);
	}
}

static CUgraph capture(int launches)
{
	void *params[] = {&value};
	CUgraph graph;
	CK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	for (int i = 0; i < launches; i++)
		CK(cuLaunchKernel(increment, 1 + (unsigned)i, 1, 1, 32, 1, 1, 0, stream, params,
				  NULL));
	CK(cuStreamEndCapture(stream, &graph));
	return graph;
}

static CUDA_KERNEL_NODE_PARAMS kernel(void **params, unsigned grid)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = increment,
					 .gridDimX = grid,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 64,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = params};
}

static void captured(void)
{
	CUgraph graph = capture(3);
	CUgraphExec exec;
	expect("a captured launch has not run", 0);
	CK(cuGraphInstantiate(&exec, graph, 0));
	launch(exec, 5);
	expect("captured, three kernels, five launches", 15);
	CK(cuGraphExecDestroy(exec));
	CK(cuGraphDestroy(graph));
}

static void by_nodes(void)
{
	void *params[] = {&value};
	CUDA_KERNEL_NODE_PARAMS p = kernel(params, 2);
	CUgraph graph, child = capture(2);
	CUgraphNode a, b, c;
	CUgraphExec exec;
	unsigned enabled;
	CK(cuGraphCreate(&graph, 0));
	CK(cuGraphAddKernelNode(&a, graph, NULL, 0, &p));
	CK(cuGraphAddKernelNode(&b, graph, &a, 1, &p));
	CK(cuGraphAddChildGraphNode(&c, graph, &b, 1, child));
	CK(cuGraphInstantiate(&exec, graph, 0));
	launch(exec, 2);
	expect("two nodes and a child of two, two launches", 8);
	CK(cuGraphNodeSetEnabled(exec, b, 0));
	CK(cuGraphNodeGetEnabled(exec, b, &enabled));
	launch(exec, 2);
	printf("enabled: %u\n", enabled);
	expect("one node disabled", 6);
	CK(cuGraphNodeSetEnabled(exec, b, 1));
	launch(exec, 1);
	expect("and enabled again", 4);
	CK(cuGraphExecDestroy(exec));
	CK(cuGraphDestroy(graph));
	CK(cuGraphDestroy(child));
}

static void set_params(void)
{
	int number = 41, count = 1;
	void *params[] = {&value}, *fill_params[] = {&value, &number, &count};
	CUDA_KERNEL_NODE_PARAMS p = kernel(params, 2), q = kernel(fill_params, 1);
	CUgraph graph;
	CUgraphNode a, b;
	CUgraphExec exec;
	q.func = fill;
	CK(cuGraphCreate(&graph, 0));
	CK(cuGraphAddKernelNode(&a, graph, NULL, 0, &p));
	CK(cuGraphAddKernelNode(&b, graph, &a, 1, &p));
	CK(cuGraphInstantiate(&exec, graph, 0));
	CK(cuGraphExecKernelNodeSetParams(exec, a, &q));
	number = 0; /* the node keeps the value it was given */
	launch(exec, 1);
	expect("first node set to another kernel", 42);
	CK(cuGraphExecDestroy(exec));
	CK(cuGraphDestroy(graph));
}

static void updated(void)
{
	void *params[] = {&value};
	CUgraph first = capture(2), second = capture(2), other = capture(3);
	CUgraphExecUpdateResultInfo info;
	CUDA_KERNEL_NODE_PARAMS p = kernel(params, 7);
	CUgraphNode nodes[2];
	size_t count = 2;
	CUgraphExec exec;
	CUresult refused;
	CK(cuGraphInstantiate(&exec, first, 0));
	CK(cuGraphGetNodes(second, nodes, &count));
	CK(cuGraphKernelNodeSetParams(nodes[0], &p));
	CK(cuGraphExecUpdate(exec, second, &info));
	launch(exec, 1);
	expect("updated", 2);
	refused = cuGraphExecUpdate(exec, other, &info);
	printf("update with another topology: %d, %d\n", (int)refused, (int)info.result);
	CK(cuGraphExecDestroy(exec));
	CK(cuGraphDestroy(first));
	CK(cuGraphDestroy(second));
	CK(cuGraphDestroy(other));
}

int main(void)
{
	CUmodule module;
	client_start();
	CK(cuModuleLoadData(&module, CLIENT_IMAGE));
	CK(cuModuleGetFunction(&increment, module, "increment"));
	CK(cuModuleGetFunction(&fill, module, "fill"));
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CK(cuMemAlloc(&value, sizeof(int)));
	CK(cuMemsetD32(value, 0, 1));
	captured();
	by_nodes();
	set_params();
	updated();
	CK(cuMemFree(value));
	CK(cuStreamDestroy(stream));
	CK(cuModuleUnload(module));
	CK(cuDevicePrimaryCtxRelease(0));
	return 0;
}
