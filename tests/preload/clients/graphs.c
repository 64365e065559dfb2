/* Graphs that are changed, by node and as a whole, and whose kernels are asked for again. */
#include "nodes.h"

#include <pthread.h>
#include <stdatomic.h>

static void say(const char *what, CUresult r)
{
	printf("%s %d\n", what, (int)r);
}
#define SAY(call) say(#call, call)

/* What the driver has no reason to look at, and would not survive. */
#define RUBBISH ((void *)(uintptr_t)0x5a5a5a5a5a50)

static CUDA_KERNEL_NODE_PARAMS params_of(CUfunction func, CUkernel kern, CUcontext context,
					 unsigned blocks)
{
	CUDA_KERNEL_NODE_PARAMS p = node_params(func, kern, blocks, 32);

	p.ctx = context;
	return p;
}

static CUgraph new_graph(void)
{
	CUgraph graph;

	CK(cuGraphCreate(&graph, 0));
	return graph;
}

static CUgraphNode add(CUgraph graph, unsigned blocks)
{
	CUDA_KERNEL_NODE_PARAMS p = params_of(client_kernel, NULL, NULL, blocks);
	CUgraphNode node;

	CK(cuGraphAddKernelNode(&node, graph, NULL, 0, &p));
	return node;
}

static CUgraphNode add_child(CUgraph graph, CUgraph child)
{
	CUgraphNode node;

	CK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
	return node;
}

static CUgraphExec exec_of(CUgraph graph)
{
	CUgraphExec exec;

	CK(cuGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void launch(CUgraphExec exec, int n)
{
	for (int i = 0; i < n; i++)
		CK(cuGraphLaunch(exec, NULL));
	CK(cuCtxSynchronize());
}

static CUcontext second_gpu(void)
{
	CUcontext context;

	client_start();
	CK(cuDevicePrimaryCtxRetain(&context, 1));
	return context;
}

/* Of a node that a function is given for, neither kernel nor context count: whatever is in them.
   All 16 launches are on the first GPU. */
static void rubbish(void)
{
	CUcontext second = second_gpu();
	CUgraph graph = new_graph();
	CUgraphNode node = add(graph, 2), more;
	CUgraphExec exec = exec_of(graph);
	CUDA_KERNEL_NODE_PARAMS p = params_of(client_kernel, RUBBISH, second, 3);
	CUgraphNodeParams any;

	SAY(cuGraphExecKernelNodeSetParams(exec, node, &p));
	launch(exec, 4);
	p = params_of(client_kernel, RUBBISH, RUBBISH, 4);
	SAY(cuGraphExecKernelNodeSetParams(exec, node, &p));
	launch(exec, 4);
	p = params_of(client_kernel, RUBBISH, RUBBISH, 5);
	any = node_params_any(&p);
	SAY(cuGraphExecNodeSetParams(exec, node, &any));
	launch(exec, 4);
	SAY(cuGraphKernelNodeSetParams(node, &p));
	SAY(cuGraphNodeSetParams(node, &any));
	SAY(cuGraphAddKernelNode(&more, graph, NULL, 0, &p));
	SAY(cuGraphAddNode(&more, graph, NULL, NULL, 0, &any));
	launch(exec_of(graph), 1);
	launch(exec, 1);
}

/* A node on the second GPU, in a graph that is launched on the first, stays there whichever call
   gives it other parameters: 12 launches. */
static void other_gpu(void)
{
	CUcontext second = second_gpu();
	CUDA_KERNEL_NODE_PARAMS p;
	CUgraphNodeParams any;
	CUgraph graph = new_graph();
	CUlibrary library;
	CUgraphNode node;
	CUgraphExec exec;
	CUkernel kernel;

	CK(cuLibraryLoadData(&library, CLIENT_IMAGE, NULL, NULL, 0, NULL, NULL, 0));
	CK(cuLibraryGetKernel(&kernel, library, "short"));
	p = params_of(NULL, kernel, second, 2);
	SAY(cuGraphAddKernelNode(&node, graph, NULL, 0, &p));
	exec = exec_of(graph);
	launch(exec, 3);
	p = params_of(NULL, kernel, second, 3);
	SAY(cuGraphExecKernelNodeSetParams(exec, node, &p));
	launch(exec, 3);
	p = params_of(NULL, kernel, second, 4);
	any = node_params_any(&p);
	SAY(cuGraphExecNodeSetParams(exec, node, &any));
	launch(exec, 3);
	p = params_of((CUfunction)kernel, NULL, NULL, 5);
	say("the old call", set_node_v1(exec, node, &p));
	launch(exec, 3);
}

/* A kernel, a child graph of two and a kernel; then the child is replaced, then all of it, and a
   kernel before the child and one behind it are switched off. */
static void child(void)
{
	CUgraph graph, inner, other;
	CUgraphNode before, within, behind;
	CUgraphExecUpdateResultInfo info;
	CUgraphExec exec;

	client_start();
	graph = new_graph();
	before = add(graph, 1);
	inner = new_graph();
	add(inner, 2);
	add(inner, 3);
	within = add_child(graph, inner);
	behind = add(graph, 4);
	exec = exec_of(graph);
	launch(exec, 2);
	other = new_graph();
	add(other, 5);
	add(other, 6);
	SAY(cuGraphExecChildGraphNodeSetParams(exec, within, other));
	launch(exec, 2);
	SAY(cuGraphNodeSetEnabled(exec, behind, 0));
	launch(exec, 2);
	SAY(cuGraphExecUpdate(exec, graph, &info));
	SAY(cuGraphNodeSetEnabled(exec, behind, 1));
	SAY(cuGraphNodeSetEnabled(exec, before, 0));
	launch(exec, 3);
}

/* Beside a node that is decided on by the GPU, a child graph is replaced. */
static void child_beside_conditional(void)
{
	CUgraph graph, inner = NULL;
	CUgraphNode within, conditional;
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
	CUgraphExec exec;

	client_start();
	graph = new_graph();
	inner = new_graph();
	add(inner, 2);
	within = add_child(graph, inner);
	CK(cuGraphConditionalHandleCreate(&p.conditional.handle, graph, client_context, 1, 0));
	p.conditional.type = CU_GRAPH_COND_TYPE_IF;
	p.conditional.size = 1;
	p.conditional.ctx = client_context;
	CK(cuGraphAddNode(&conditional, graph, NULL, NULL, 0, &p));
	add(p.conditional.phGraph_out[0], 7);
	exec = exec_of(graph);
	SAY(cuGraphExecChildGraphNodeSetParams(exec, within, inner));
	launch(exec, 5);
}

/* A child graph within a child graph is replaced by one of another grid. */
static void child_of_child(void)
{
	CUgraph graph, middle, inner, other, copy;
	CUgraphNode outer, nested;
	CUgraphExec exec;
	size_t one = 1;

	client_start();
	inner = new_graph();
	add(inner, 2);
	middle = new_graph();
	add_child(middle, inner);
	graph = new_graph();
	outer = add_child(graph, middle);
	add(graph, 3);
	exec = exec_of(graph);
	CK(cuGraphChildGraphNodeGetGraph(outer, &copy));
	CK(cuGraphGetNodes(copy, &nested, &one));
	other = new_graph();
	add(other, 5);
	SAY(cuGraphExecChildGraphNodeSetParams(exec, nested, other));
	launch(exec, 5);
}

/* A library's kernel is launched, then the function that a node of it reports. */
static void node_function(void)
{
	CUDA_KERNEL_NODE_PARAMS p;
	CUgraph graph = NULL;
	CUlibrary library;
	CUgraphNode node;
	CUkernel kernel;

	client_start();
	CK(cuLibraryLoadData(&library, CLIENT_IMAGE, NULL, NULL, 0, NULL, NULL, 0));
	CK(cuLibraryGetKernel(&kernel, library, "short"));
	CK(cuLaunchKernel((CUfunction)kernel, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	graph = new_graph();
	p = params_of(NULL, kernel, NULL, 3);
	CK(cuGraphAddKernelNode(&node, graph, NULL, 0, &p));
	CK(cuGraphKernelNodeGetParams(node, &p));
	for (int i = 0; i < 5; i++)
		CK(cuLaunchKernel(p.func, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	CK(cuCtxSynchronize());
}

/* Two libraries, one after the other: handles come again, and only graphs know the kernels. */
static void reused(void)
{
	static const char *const names[] = {"empty", "short", "empty", "short"};

	client_start();
	for (unsigned i = 0; i < 4; i++) {
		char image[128];
		CUDA_KERNEL_NODE_PARAMS p;
		CUgraph graph = new_graph();
		CUlibrary library;
		CUgraphNode node;
		CUgraphExec exec;
		CUkernel kernel;

		snprintf(image, sizeof(image), "gpuwatch-stand-in-module\nkernel %s ns=900\n",
			 names[i]);
		CK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
		CK(cuLibraryEnumerateKernels(&kernel, 1, library));
		p = params_of(NULL, kernel, NULL, 1 + i);
		CK(cuGraphAddKernelNode(&node, graph, NULL, 0, &p));
		exec = exec_of(graph);
		launch(exec, 2);
		CK(cuGraphExecDestroy(exec));
		CK(cuGraphDestroy(graph));
		CK(cuLibraryUnload(library));
	}
}

/* What the driver refuses. */
static void mistakes(void)
{
	CUDA_KERNEL_NODE_PARAMS none = {.gridDimX = 1};
	CUgraphNodeParams strange = {.type = (CUgraphNodeType)99};
	CUgraphNodeParams host = {.type = CU_GRAPH_NODE_TYPE_HOST};
	CUgraph graph;
	CUgraphNode node, made = NULL;
	CUgraphExec exec;

	client_start();
	graph = new_graph();
	node = add(graph, 1);
	exec = exec_of(graph);
	SAY(cuGraphAddKernelNode(&made, graph, NULL, 0, NULL));
	SAY(cuGraphAddKernelNode(NULL, graph, NULL, 0, &none));
	SAY(cuGraphAddKernelNode(&made, NULL, NULL, 0, &none));
	SAY(cuGraphAddNode(&made, graph, NULL, NULL, 0, NULL));
	SAY(cuGraphAddNode(&made, graph, NULL, NULL, 0, &strange));
	SAY(cuGraphAddNode(&made, graph, NULL, NULL, 0, &host));
	SAY(cuGraphKernelNodeSetParams(node, NULL));
	SAY(cuGraphKernelNodeSetParams(NULL, &none));
	SAY(cuGraphKernelNodeSetParams(node, &none));
	SAY(cuGraphNodeSetParams(node, NULL));
	SAY(cuGraphNodeSetParams(node, &strange));
	SAY(cuGraphExecKernelNodeSetParams(exec, node, NULL));
	SAY(cuGraphExecKernelNodeSetParams(exec, node, &none));
	SAY(cuGraphExecNodeSetParams(exec, node, NULL));
	SAY(cuGraphExecNodeSetParams(exec, node, &strange));
	SAY(cuGraphExecChildGraphNodeSetParams(exec, node, graph));
	launch(exec, 3);
}

/* A module's function, which no stream has run, is captured again and again. */
static void captured_often(void)
{
	CUgraph graph = NULL;
	CUstream stream;

	client_start();
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (unsigned i = 1; i <= 100; i++)
		CK(cuLaunchKernel(client_kernel, i, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	CK(cuStreamEndCapture(stream, &graph));
	launch(exec_of(graph), 2);
}

static atomic_int over;

static void *launches_on(void *stream)
{
	CK(cuCtxSetCurrent(client_context));
	while (!atomic_load(&over)) {
		CK(cuLaunchKernel(client_kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
		usleep(100);
	}
	return NULL;
}

/* A thread captures, again and again, in the mode that forbids others to ask for events, while one
   launches. */
/* Long kernels: of short ones the call may be most of what an event pair reads. */
static void captures_beside(void)
{
	CUstream capturing, running;
	pthread_t other;

	client_start();
	client_kernel = client_function("long");
	CK(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
	CK(cuStreamCreate(&running, CU_STREAM_NON_BLOCKING));
	pthread_create(&other, NULL, launches_on, running);
	for (int i = 0; i < 10; i++) {
		CUgraph graph = NULL;

		client_nap(30);
		CK(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL));
		client_nap(30);
		SAY(cuLaunchKernel(client_kernel, 2, 1, 1, 32, 1, 1, 0, capturing, NULL, NULL));
		SAY(cuStreamEndCapture(capturing, &graph));
	}
	atomic_store(&over, 1);
	pthread_join(other, NULL);
	CK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
		{"rubbish", rubbish},
		{"other_gpu", other_gpu},
		{"child", child},
		{"child_beside_conditional", child_beside_conditional},
		{"child_of_child", child_of_child},
		{"node_function", node_function},
		{"reused", reused},
		{"mistakes", mistakes},
		{"captured_often", captured_often},
		{"captures_beside", captures_beside},
		{NULL, NULL},
	};

	return client_main(argc, argv, list);
}
