/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/groups/graph.h"

#include <math.h>

enum { FEW = 100, MANY = 600 }; /* nodes: starting a graph costs the same for both */

/* A chain of @p nodes, ready to launch. */
static CUresult chain(struct gw_bench *b, CUfunction f, size_t nodes, CUgraph *graph,
                      CUgraphExec *exec)
{
	CUDA_KERNEL_NODE_PARAMS node = {.func = f,
	                                .gridDimX = 1,
	                                .gridDimY = 1,
	                                .gridDimZ = 1,
	                                .blockDimX = 32,
	                                .blockDimY = 1,
	                                .blockDimZ = 1};
	CUgraphNode last = NULL;
	CUresult r = b->cu->cuGraphCreate(graph, 0);

	for (size_t i = 0; i < nodes && !r; i++) {
		CUgraphNode before = last;

		r = b->cu->cuGraphAddKernelNode_v2(&last, *graph, i ? &before : NULL, i ? 1 : 0,
		                                   &node);
	}
	return r ? r : b->cu->cuGraphInstantiateWithFlags(exec, *graph, 0);
}

/* Seconds of one launch of @p exec, between two events. */
static CUresult run_graph(struct gw_bench *b, CUgraphExec exec, CUevent begin, CUevent end,
                          double *seconds)
{
	float ms = 0;
	CUresult r = b->cu->cuEventRecord(begin, b->stream);

	r = r ? r : b->cu->cuGraphLaunch(exec, b->stream);
	r = r ? r : b->cu->cuEventRecord(end, b->stream);
	r = r ? r : b->cu->cuEventSynchronize(end);
	r = r ? r : b->cu->cuEventElapsedTime(&ms, begin, end);
	*seconds = ms / 1e3;
	return r;
}

static bool has_graphs(const struct gw_cuda *cu)
{
	return cu->cuGraphCreate && cu->cuGraphAddKernelNode_v2 &&
	       cu->cuGraphInstantiateWithFlags && cu->cuGraphLaunch && cu->cuGraphExecDestroy &&
	       cu->cuGraphDestroy;
}

size_t gw_graph_periods(struct gw_bench *b, CUfunction f, double *seconds, size_t count)
{
	const struct gw_cuda *cu = b->cu;
	CUgraph graph[2] = {NULL, NULL};
	CUgraphExec exec[2] = {NULL, NULL};
	CUevent begin = NULL, end = NULL;
	double few = NAN, many = NAN;
	size_t n = 0;
	CUresult r;

	if (!has_graphs(cu))
		return 0;
	r = cu->cuEventCreate(&begin, CU_EVENT_DEFAULT);
	r = r ? r : cu->cuEventCreate(&end, CU_EVENT_DEFAULT);
	r = r ? r : chain(b, f, FEW, &graph[0], &exec[0]);
	r = r ? r : chain(b, f, MANY, &graph[1], &exec[1]);
	/* The first launch of a graph uploads it: it is the warm-up. */
	for (size_t i = 0; i <= count && !r; i++) {
		r = run_graph(b, exec[0], begin, end, &few);
		r = r ? r : run_graph(b, exec[1], begin, end, &many);
		if (i && !r)
			seconds[n++] = (many - few) / (MANY - FEW);
	}
	if (r)
		gw_bench_note(b, "graph: %s", gw_cuda_error(cu, r));
	for (int i = 0; i < 2; i++) {
		if (exec[i])
			cu->cuGraphExecDestroy(exec[i]);
		if (graph[i])
			cu->cuGraphDestroy(graph[i]);
	}
	if (begin)
		cu->cuEventDestroy_v2(begin);
	if (end)
		cu->cuEventDestroy_v2(end);
	return n;
}
