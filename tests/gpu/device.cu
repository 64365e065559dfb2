/*
 * Kernels that the GPU launches itself: dynamic parallelism, graphs launched by kernels,
 * conditional nodes. Needs relocatable device code, hence a program of its own.
 */
#include "kernels.h"

static __device__ void count_once(ull *sum)
{
	if (blockIdx.x + threadIdx.x == 0)
		atomicAdd(sum, 1ull);
}

__global__ void leaf(ull *sum)
{
	count_once(sum);
}

__global__ void parent(ull *sum, int children)
{
	count_once(sum);
	if (blockIdx.x + threadIdx.x == 0)
		for (int i = 0; i < children; i++)
			leaf<<<2, 32>>>(sum);
}

__global__ void launch_graph(ull *sum, cudaGraphExec_t exec)
{
	count_once(sum);
	if (threadIdx.x == 0)
		cudaGraphLaunch(exec, cudaStreamGraphFireAndForget);
}

/* Lets the body of a WHILE node run until the counter reaches the limit. */
__global__ void set_condition(ull *sum, cudaGraphConditionalHandle handle, int *left)
{
	count_once(sum);
	if (threadIdx.x == 0)
		cudaGraphSetConditional(handle, --*left > 0);
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, const cudaGraphNode_t *after, void *kernel,
				  unsigned grid, void **args)
{
	cudaKernelNodeParams params = {};
	cudaGraphNode_t node;

	params.func = kernel;
	params.gridDim = dim3(grid);
	params.blockDim = dim3(32);
	params.kernelParams = args;
	CHECK(cudaGraphAddKernelNode(&node, graph, after, after ? 1 : 0, &params));
	return node;
}

static void case_dynamic(struct tally *t)
{
	for (int i = 0; i < 10; i++) {
		parent<<<4, 32>>>(t->sum, 3);
		t->ran += 4;
	}
}

static void case_devicegraph(struct tally *t)
{
	cudaGraph_t inner, outer;
	cudaGraphExec_t inner_exec, outer_exec;
	void *inner_args[] = {&t->sum}, *outer_args[] = {&t->sum, &inner_exec};

	CHECK(cudaGraphCreate(&inner, 0));
	add_kernel(inner, NULL, (void *)leaf, 5, inner_args);
	CHECK(cudaGraphInstantiate(&inner_exec, inner, cudaGraphInstantiateFlagDeviceLaunch));
	CHECK(cudaGraphUpload(inner_exec, 0));
	CHECK(cudaGraphCreate(&outer, 0));
	add_kernel(outer, NULL, (void *)launch_graph, 1, outer_args);
	CHECK(cudaGraphInstantiate(&outer_exec, outer, 0));
	for (int i = 0; i < 6; i++) {
		CHECK(cudaGraphLaunch(outer_exec, 0));
		CHECK(cudaDeviceSynchronize());
		t->ran += 2;
	}
	CHECK(cudaGraphExecDestroy(outer_exec));
	CHECK(cudaGraphExecDestroy(inner_exec));
	CHECK(cudaGraphDestroy(outer));
	CHECK(cudaGraphDestroy(inner));
}

static void case_conditional(struct tally *t)
{
	enum { LOOPS = 4, LAUNCHES = 3 };
	cudaGraphNodeParams params = {};
	cudaGraphConditionalHandle handle;
	cudaGraphNode_t head, loop, in_body;
	cudaGraph_t graph, body;
	cudaGraphExec_t exec;
	int *left, loops = LOOPS;
	void *plain[] = {&t->sum}, *setting[] = {&t->sum, &handle, &left};

	CHECK(cudaMalloc(&left, sizeof *left));
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	head = add_kernel(graph, NULL, (void *)leaf, 1, plain);
	params.type = cudaGraphNodeTypeConditional;
	params.conditional.handle = handle;
	params.conditional.type = cudaGraphCondTypeWhile;
	params.conditional.size = 1;
	CHECK(cudaGraphAddNode(&loop, graph, &head, NULL, 1, &params));
	body = params.conditional.phGraph_out[0];
	in_body = add_kernel(body, NULL, (void *)leaf, 7, plain);
	add_kernel(body, &in_body, (void *)set_condition, 1, setting);
	add_kernel(graph, &loop, (void *)leaf, 3, plain);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < LAUNCHES; i++) {
		CHECK(cudaMemcpy(left, &loops, sizeof loops, cudaMemcpyHostToDevice));
		CHECK(cudaGraphLaunch(exec, 0));
		CHECK(cudaDeviceSynchronize());
		t->ran += 2 + 2 * LOOPS;
	}
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaFree(left));
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{"dynamic", case_dynamic},
		{"devicegraph", case_devicegraph},
		{"conditional", case_conditional},
	};

	return run_case(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
