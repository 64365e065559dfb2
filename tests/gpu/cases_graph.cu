/*
 * Graphs: captured, built, changed, nested.
 */
#include "cases.h"

#include <cuda.h>

static void launch_graph(cudaGraphExec_t exec, cudaStream_t stream, int times)
{
	for (int i = 0; i < times; i++)
		CHECK(cudaGraphLaunch(exec, stream));
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
				  void *kernel, unsigned grid, unsigned shared, ull **sum)
{
	cudaKernelNodeParams params = {};
	void *args[] = {sum};
	cudaGraphNode_t node;

	params.func = kernel;
	params.gridDim = dim3(grid);
	params.blockDim = dim3(64);
	params.sharedMemBytes = shared;
	params.kernelParams = args;
	CHECK(cudaGraphAddKernelNode(&node, graph, after, count, &params));
	return node;
}

void case_capture(struct tally *t)
{
	cudaStream_t main_stream, side;
	cudaEvent_t fork, join;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&fork));
	CHECK(cudaEventCreate(&join));
	for (int round = 0; round < 3; round++) {
		bump<<<1, 32, 0, main_stream>>>(t->sum); /* before the capture: runs */
		t->ran++;
		if (round == 1) {
			CHECK(cudaGraphCreate(&graph, 0));
			CHECK(cudaStreamBeginCaptureToGraph(main_stream, graph, NULL, NULL, 0,
							    cudaStreamCaptureModeThreadLocal));
		} else {
			CHECK(cudaStreamBeginCapture(main_stream,
						     cudaStreamCaptureModeThreadLocal));
		}
		bump<<<2, 32, 0, main_stream>>>(t->sum);
		CHECK(cudaEventRecord(fork, main_stream));
		CHECK(cudaStreamWaitEvent(side, fork, 0));
		bump<<<3, 32, 0, side>>>(t->sum);
		bump_shared<<<3, 64, 1024, side>>>(t->sum);
		bump<<<4, 32, 0, main_stream>>>(t->sum);
		CHECK(cudaEventRecord(join, side));
		CHECK(cudaStreamWaitEvent(main_stream, join, 0));
		bump<<<5 + round, 32, 0, main_stream>>>(t->sum);
		CHECK(cudaStreamEndCapture(main_stream, &graph));
		if (round == 2) { /* captured and thrown away: never runs */
			CHECK(cudaGraphDestroy(graph));
			break;
		}
		CHECK(cudaGraphInstantiate(&exec, graph, 0));
		CHECK(cudaGraphDestroy(graph));
		launch_graph(exec, main_stream, 4);
		launch_graph(exec, side, 3);
		launch_graph(exec, 0, 1);
		t->ran += 5 * 8;
		bump<<<6, 32, 0, main_stream>>>(t->sum); /* after it: runs */
		t->ran++;
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaGraphExecDestroy(exec));
	}
	CHECK(cudaEventDestroy(fork));
	CHECK(cudaEventDestroy(join));
	CHECK(cudaStreamDestroy(main_stream));
	CHECK(cudaStreamDestroy(side));
}

/* Kernels between nodes of other kinds, so that a node's place is not its kernel's number. */
static cudaGraph_t mixed_graph(struct tally *t, void *scratch)
{
	cudaMemsetParams clear = {};
	cudaGraphNode_t first, second, nodes[4];
	cudaGraphNodeParams generic = {};
	void *args[] = {&t->sum};
	cudaGraph_t graph;

	clear.dst = scratch;
	clear.elementSize = 4;
	clear.width = 16;
	clear.height = 1;
	CHECK(cudaGraphCreate(&graph, 0));
	first = add_kernel(graph, NULL, 0, (void *)bump, 1, 0, &t->sum);
	CHECK(cudaGraphAddMemsetNode(&nodes[0], graph, &first, 1, &clear));
	nodes[1] = add_kernel(graph, &first, 1, (void *)bump_shared, 2, 512, &t->sum);
	CHECK(cudaGraphAddEmptyNode(&nodes[2], graph, &first, 1));
	CHECK(cudaGraphAddMemcpyNode1D(&nodes[3], graph, &first, 1, (char *)scratch + 64, scratch,
				       16, cudaMemcpyDeviceToDevice));
	generic.type = cudaGraphNodeTypeKernel;
	generic.kernel.func = (void *)bump_cluster;
	generic.kernel.gridDim = dim3(4);
	generic.kernel.blockDim = dim3(32);
	generic.kernel.kernelParams = args;
	CHECK(cudaGraphAddNode(&second, graph, nodes, NULL, 4, &generic));
	add_kernel(graph, &second, 1, (void *)bump, 3, 0, &t->sum);
	return graph;
}

/* The same through the driver, with a kernel of a library. */
static void driver_graph(struct tally *t)
{
	char *image = read_beside_program("kernels.fatbin");
	CUDA_KERNEL_NODE_PARAMS params = {};
	void *args[] = {&t->sum};
	CUlibrary library;
	CUkernel kernel;
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;

	CHECK_DRIVER(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	CHECK_DRIVER(cuLibraryGetKernel(&kernel, library, "bump"));
	CHECK_DRIVER(cuGraphCreate(&graph, 0));
	params.kern = kernel;
	params.gridDimX = 9;
	params.gridDimY = params.gridDimZ = 1;
	params.blockDimX = 32;
	params.blockDimY = params.blockDimZ = 1;
	params.kernelParams = args;
	CHECK_DRIVER(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
	CHECK_DRIVER(cuGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 5; i++)
		CHECK_DRIVER(cuGraphLaunch(exec, NULL));
	t->ran += 5;
	CHECK_DRIVER(cuCtxSynchronize());
	CHECK_DRIVER(cuGraphExecDestroy(exec));
	CHECK_DRIVER(cuGraphDestroy(graph));
	CHECK_DRIVER(cuLibraryUnload(library));
	free(image);
}

void case_graph(struct tally *t)
{
	cudaGraph_t graph, clone;
	cudaGraphExec_t exec, second;
	cudaGraphInstantiateParams params = {};
	void *scratch;

	CHECK(cudaMalloc(&scratch, 128));
	graph = mixed_graph(t, scratch);
	CHECK(cudaGraphClone(&clone, graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphInstantiateWithFlags(&second, clone,
					    cudaGraphInstantiateFlagUseNodePriority));
	CHECK(cudaGraphUpload(exec, 0));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < 6; i++) {
		launch_graph(exec, 0, 1);
		launch_graph(second, cudaStreamPerThread, 1);
		t->ran += 8;
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphExecDestroy(second));
	CHECK(cudaGraphInstantiateWithParams(&second, clone,
					     &params)); /* its handle may be reused */
	launch_graph(second, 0, 3);
	t->ran += 12;
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaGraphExecDestroy(second));
	CHECK(cudaGraphDestroy(clone));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaFree(scratch));
	driver_graph(t);
}

/* Parameters of an executable graph's kernel node. */
static void set_kernel(cudaGraphExec_t exec, cudaGraphNode_t node, void *kernel, unsigned grid,
		       unsigned shared, ull **sum)
{
	cudaKernelNodeParams params = {};
	void *args[] = {sum};

	params.func = kernel;
	params.gridDim = dim3(grid);
	params.blockDim = dim3(64);
	params.sharedMemBytes = shared;
	params.kernelParams = args;
	CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
}

/* The same for a node of any kind. */
static void set_node(cudaGraphExec_t exec, cudaGraphNode_t node, void *kernel, unsigned grid,
		     ull **sum)
{
	cudaGraphNodeParams params = {};
	void *args[] = {sum};

	params.type = cudaGraphNodeTypeKernel;
	params.kernel.func = kernel;
	params.kernel.gridDim = dim3(grid);
	params.kernel.blockDim = dim3(32);
	params.kernel.kernelParams = args;
	CHECK(cudaGraphExecNodeSetParams(exec, node, &params));
}

void case_update(struct tally *t)
{
	cudaGraphExecUpdateResultInfo info;
	cudaGraphNode_t first, second;
	cudaGraphExec_t exec;
	cudaGraph_t graph, other;

	CHECK(cudaGraphCreate(&graph, 0));
	first = add_kernel(graph, NULL, 0, (void *)bump, 1, 0, &t->sum);
	second = add_kernel(graph, &first, 1, (void *)bump, 2, 0, &t->sum);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	launch_graph(exec, 0, 2);
	t->ran += 4;
	/* another configuration, then another kernel */
	set_kernel(exec, first, (void *)bump, 11, 0, &t->sum);
	launch_graph(exec, 0, 2);
	set_kernel(exec, second, (void *)bump_shared, 12, 2048, &t->sum);
	launch_graph(exec, 0, 2);
	set_node(exec, first, (void *)bump, 13, &t->sum);
	launch_graph(exec, 0, 2);
	t->ran += 12;
	/* one node off, both off, one on again */
	CHECK(cudaGraphNodeSetEnabled(exec, first, 0));
	launch_graph(exec, 0, 3);
	t->ran += 3;
	CHECK(cudaGraphNodeSetEnabled(exec, second, 0));
	launch_graph(exec, 0, 3);
	CHECK(cudaGraphNodeSetEnabled(exec, first, 1));
	launch_graph(exec, 0, 3);
	t->ran += 3;
	CHECK(cudaGraphNodeSetEnabled(exec, second, 1));
	/* the whole graph at once, from one of the same shape */
	CHECK(cudaGraphCreate(&other, 0));
	first = add_kernel(other, NULL, 0, (void *)bump, 21, 0, &t->sum);
	add_kernel(other, &first, 1, (void *)bump, 22, 0, &t->sum);
	CHECK(cudaGraphExecUpdate(exec, other, &info));
	launch_graph(exec, 0, 2);
	t->ran += 4;
	/* one of another shape is refused and changes nothing */
	add_kernel(other, NULL, 0, (void *)bump, 23, 0, &t->sum);
	printf("other shape: %s\n", cudaGetErrorName(cudaGraphExecUpdate(exec, other, &info)));
	printf("last error: %s\n", cudaGetErrorName(cudaGetLastError()));
	launch_graph(exec, 0, 2);
	t->ran += 4;
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(other));
	CHECK(cudaGraphDestroy(graph));
}

void case_child(struct tally *t)
{
	cudaGraph_t inner, middle, outer, replacement;
	cudaGraphNode_t first, child, grandchild, a;
	cudaGraphExec_t exec;

	CHECK(cudaGraphCreate(&inner, 0));
	a = add_kernel(inner, NULL, 0, (void *)bump, 1, 0, &t->sum);
	add_kernel(inner, &a, 1, (void *)bump, 2, 0, &t->sum);
	CHECK(cudaGraphCreate(&middle, 0));
	first = add_kernel(middle, NULL, 0, (void *)bump, 3, 0, &t->sum);
	CHECK(cudaGraphAddChildGraphNode(&grandchild, middle, &first, 1, inner));
	CHECK(cudaGraphCreate(&outer, 0));
	first = add_kernel(outer, NULL, 0, (void *)bump, 4, 0, &t->sum);
	CHECK(cudaGraphAddChildGraphNode(&child, outer, &first, 1, middle));
	CHECK(cudaGraphAddChildGraphNode(&grandchild, outer, &child, 1, inner));
	CHECK(cudaGraphInstantiate(&exec, outer, 0));
	launch_graph(exec, 0, 5);
	t->ran += 5 * 6;
	CHECK(cudaGraphClone(&replacement, inner));
	{
		cudaGraphNode_t nodes[2];
		cudaKernelNodeParams params = {};
		size_t count = 2;

		CHECK(cudaGraphGetNodes(replacement, nodes, &count));
		CHECK(cudaGraphKernelNodeGetParams(nodes[0], &params));
		params.gridDim = dim3(17);
		CHECK(cudaGraphKernelNodeSetParams(nodes[0], &params));
	}
	CHECK(cudaGraphExecChildGraphNodeSetParams(exec, grandchild, replacement));
	launch_graph(exec, 0, 3);
	t->ran += 3 * 6;
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(replacement));
	CHECK(cudaGraphDestroy(outer));
	CHECK(cudaGraphDestroy(middle));
	CHECK(cudaGraphDestroy(inner));
}
