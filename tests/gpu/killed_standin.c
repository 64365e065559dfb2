/*
 * killed.cu for the stand-in driver, so that killed.py runs without a GPU: the same arguments, the
 * same file. KILLED_LIES in the environment: it counts launches of grid 1 that it does not make.
 */
#include "tests/driver/clients/tasks.h"

#include <cuda.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CK(call) CHECK_CALL(call, 1)

enum { THREADS = 16, GRIDS = 7, COUNTS = GRIDS + 1, NODES = 5, NODE_GRID = 64, GRAPH_EACH = 50 };

static _Atomic uint64_t (*counts)[COUNTS];
static useconds_t pause_us;
static CUcontext context;
static CUfunction of_stream, of_graph;

static CUgraphExec graph_of(CUstream stream)
{
	CUgraph graph;
	CUgraphExec exec;

	CK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	for (int i = 0; i < NODES; i++)
		CK(cuLaunchKernel(of_graph, NODE_GRID, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	CK(cuStreamEndCapture(stream, &graph));
	CK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

static void *launch(void *arg)
{
	_Atomic uint64_t *mine = counts[(intptr_t)arg];
	CUgraphExec exec;
	CUstream stream;

	CK(cuCtxSetCurrent(context));
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	exec = graph_of(stream);
	if (getenv("KILLED_LIES"))
		atomic_fetch_add(&mine[0], 100);
	for (uint64_t i = 1;; i++) {
		unsigned grid = (unsigned)(1 + i % GRIDS);

		CK(cuLaunchKernel(of_stream, grid, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
		atomic_fetch_add(&mine[grid - 1], 1);
		if (i % GRAPH_EACH == 0) {
			CK(cuGraphLaunch(exec, stream));
			atomic_fetch_add(&mine[GRIDS], 1);
		}
		/* Never faster than a processor that many processes share can write the log. */
		usleep(pause_us < 200 ? 200 : pause_us);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const char image[] =
		"gpuwatch-stand-in-module\nkernel of_stream ns=800\nkernel of_graph ns=800\n";
	const size_t bytes = sizeof(uint64_t) * THREADS * COUNTS;
	int file = argc == 4 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	int threads = argc == 4 ? atoi(argv[2]) : 0;
	CUmodule module;

	if (file < 0 || threads < 1 || threads > THREADS || ftruncate(file, (off_t)bytes))
		return 2;
	counts = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (counts == MAP_FAILED)
		return 2;
	pause_us = (useconds_t)atoi(argv[3]);
	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&context, 0));
	CK(cuCtxSetCurrent(context));
	CK(cuModuleLoadData(&module, image));
	CK(cuModuleGetFunction(&of_stream, module, "of_stream"));
	CK(cuModuleGetFunction(&of_graph, module, "of_graph"));
	for (intptr_t i = 1; i < threads; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, launch, (void *)i);
	}
	launch(NULL);
	return 0;
}
