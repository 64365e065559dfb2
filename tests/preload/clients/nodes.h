/* Parameters of a graph's kernel nodes, in the forms that the calls of different versions take. */
#ifndef GW_TESTS_PRELOAD_NODES_H
#define GW_TESTS_PRELOAD_NODES_H

#include "client.h"

#include <dlfcn.h>

/* A function of the context, or a library's kernel. */
__attribute__((unused)) static CUDA_KERNEL_NODE_PARAMS
node_params(CUfunction func, CUkernel kern, unsigned blocks, unsigned threads)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = func,
					 .kern = kern,
					 .gridDimX = blocks,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = threads,
					 .blockDimY = 1,
					 .blockDimZ = 1};
}

/* As the calls for nodes of any kind take them. */
__attribute__((unused)) static CUgraphNodeParams node_params_any(const CUDA_KERNEL_NODE_PARAMS *p)
{
	CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

	memcpy(&any.kernel, p, sizeof(*p)); /* the general one begins as this does */
	return any;
}

/* By the call from before CUDA 12, which cuda.h has no name for any more. */
__attribute__((unused)) static CUresult set_node_v1(CUgraphExec exec, CUgraphNode node,
						    const CUDA_KERNEL_NODE_PARAMS *p)
{
	CUresult (*set)(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1 *) = NULL;
	CUDA_KERNEL_NODE_PARAMS_v1 old;

	memcpy(&old, p, sizeof(old)); /* the newer begins as the older does */
#ifdef __SANITIZE_THREAD__            /* the library leaves dlsym to the runtime */
	if (cuGetProcAddress("cuGraphExecKernelNodeSetParams", (void **)&set, 11000, 0, NULL))
		return CUDA_ERROR_NOT_FOUND;
#else
	*(void **)&set = dlsym(RTLD_DEFAULT, "cuGraphExecKernelNodeSetParams");
#endif
	return set(exec, node, &old);
}

#endif
