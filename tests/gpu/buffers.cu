/* SPDX-License-Identifier: Apache-2.0
 *
 * When do activity records lose their times? libcupti keeps times in buffers on the GPU, of 100,000
 * kernels each, and has room for so many buffers; whether it uses them again shows here.
 *   buffers stream|graph ACTION LIMIT KERNELS
 * LIMIT: CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT. ACTION, each 10,000 kernels: none; flush, of what is
 * finished; forced, of all; toggle, the kind off and on again; graph, the graph is made anew; bare: without libcupti, for
 * another to record.
 * Prints one JSON object: records, those with both times 0, those that end before they start, the
 * number of the first of either, and by how much the free memory shrank.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <dlfcn.h>

enum { NODES = 100, ROUND = 100, SIZE = 4 << 20 };

static struct {
	decltype(&cuptiActivityRegisterCallbacks) on;
	decltype(&cuptiActivitySetAttribute) attribute;
	decltype(&cuptiActivityEnable) enable;
	decltype(&cuptiActivityDisable) disable;
	decltype(&cuptiActivityFlushAll) flush;
	decltype(&cuptiActivityGetNextRecord) next;
	decltype(&cuptiActivityGetNumDroppedRecords) lost;
} cupti;

static unsigned long records, zero, wrong, first, dropped;

static __global__ void empty()
{
}

static void check(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "buffers: %s: %s\n", what, cudaGetErrorString(error));
	exit(1);
}

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = (uint8_t *)aligned_alloc(8, SIZE);
	*size = SIZE;
	*most = 0;
}

static void CUPTIAPI completed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	CUpti_Activity *record = nullptr;
	size_t n = 0;

	while (cupti.next(buffer, valid, &record) == CUPTI_SUCCESS) {
		auto *k = (const CUpti_ActivityKernel10 *)record;

		if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			continue;
		records++;
		zero += !k->start && !k->end;
		wrong += (k->start || k->end) && k->end <= k->start;
		if (k->end <= k->start && !first)
			first = records;
	}
	if (cupti.lost(nullptr, 0, &n) == CUPTI_SUCCESS)
		dropped += n;
	free(buffer);
}

template <typename F> static void get(void *library, F &f, const char *name)
{
	f = (F)dlsym(library, name);
	if (!f) {
		fprintf(stderr, "buffers: no %s: %s\n", name, dlerror());
		exit(1);
	}
}

static void attach(size_t limit)
{
	const char *path = getenv("GPU_ORACLE_CUPTI");
	void *library = dlopen(path ? path : "libcupti.so.13", RTLD_NOW);
	size_t size = sizeof limit;

	get(library, cupti.on, "cuptiActivityRegisterCallbacks");
	get(library, cupti.attribute, "cuptiActivitySetAttribute");
	get(library, cupti.enable, "cuptiActivityEnable");
	get(library, cupti.disable, "cuptiActivityDisable");
	get(library, cupti.flush, "cuptiActivityFlushAll");
	get(library, cupti.next, "cuptiActivityGetNextRecord");
	get(library, cupti.lost, "cuptiActivityGetNumDroppedRecords");
	if (cupti.attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &size, &limit) ||
	    cupti.on(requested, completed) || cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) {
		fprintf(stderr, "buffers: CUPTI refuses\n");
		exit(1);
	}
}

static cudaGraphExec_t make(cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "capture");
	for (int i = 0; i < NODES; i++)
		empty<<<1, 32, 0, stream>>>();
	check(cudaStreamEndCapture(stream, &graph), "capture");
	check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
	check(cudaGraphDestroy(graph), "destroy");
	return exec;
}

int main(int argc, char **argv)
{
	bool graph = argc == 5 && !strcmp(argv[1], "graph");
	const char *action = argc == 5 ? argv[2] : "";
	size_t free_before, free_after, total;
	cudaStream_t stream;
	cudaGraphExec_t exec;

	if (argc != 5) {
		fprintf(stderr, "usage: %s stream|graph ACTION LIMIT KERNELS\n", argv[0]);
		return 2;
	}
	bool bare = !strcmp(action, "bare");

	if (!bare)
		attach(strtoul(argv[3], nullptr, 10));
	check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
	exec = make(stream);
	check(cudaStreamSynchronize(stream), "start");
	check(cudaMemGetInfo(&free_before, &total), "memory");
	for (long left = atol(argv[4]); left > 0; left -= NODES * ROUND) {
		for (int i = 0; i < ROUND && graph; i++)
			check(cudaGraphLaunch(exec, stream), "launch");
		for (int i = 0; i < NODES * ROUND && !graph; i++)
			empty<<<1, 32, 0, stream>>>();
		check(cudaStreamSynchronize(stream), "run");
		if (!strcmp(action, "flush") || !strcmp(action, "forced"))
			cupti.flush(action[1] == 'o' ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
		if (!strcmp(action, "toggle")) {
			cupti.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
			cupti.flush(0);
			cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
		}
		if (!strcmp(action, "graph")) {
			check(cudaGraphExecDestroy(exec), "destroy");
			exec = make(stream);
		}
	}
	check(cudaMemGetInfo(&free_after, &total), "memory");
	if (!bare)
		cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	printf("{\"how\": \"%s\", \"action\": \"%s\", \"limit\": %s, \"records\": %lu, \"zero\": %lu, "
	       "\"wrong\": %lu, \"first\": %lu, \"dropped\": %lu, \"shrank_mb\": %.1f}\n",
	       argv[1], action, argv[3], records, zero, wrong, first, dropped,
	       ((double)free_before - (double)free_after) / 1e6);
	return 0;
}
