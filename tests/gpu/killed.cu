/*
 * A program to be killed: what it has launched stands in a file that outlives it.
 *   killed FILE THREADS PAUSE_US
 * Each thread launches kernels of grids 1 to 7 into a stream of its own, and after every 50 a graph of five kernels of
 * grid 64. FILE is an array of 64-bit counts, mapped: per thread seven counts of returned calls by grid, then one of
 * returned graph launches. A count rises after its call has returned, so that at the end of the process at most one
 * launch a thread is in the log that the file lacks.
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 16, GRIDS = 7, COUNTS = GRIDS + 1, NODES = 5, NODE_GRID = 64, GRAPH_EACH = 50 };

static std::atomic<uint64_t> (*counts)[COUNTS];
static useconds_t pause_us;

static __global__ void of_stream()
{
}

static __global__ void of_graph()
{
}

static void check(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "killed: %s: %s\n", what, cudaGetErrorString(error));
	exit(1);
}

static cudaGraphExec_t graph_of(cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
	for (int i = 0; i < NODES; i++)
		of_graph<<<NODE_GRID, 32, 0, stream>>>();
	check(cudaStreamEndCapture(stream, &graph), "capture");
	check(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
	return exec;
}

static void *launch(void *arg)
{
	std::atomic<uint64_t> *mine = counts[(intptr_t)arg];
	cudaGraphExec_t exec;
	cudaStream_t stream;

	check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
	exec = graph_of(stream);
	for (uint64_t i = 1;; i++) {
		unsigned grid = 1 + i % GRIDS;

		of_stream<<<grid, 32, 0, stream>>>();
		check(cudaGetLastError(), "launch");
		mine[grid - 1]++;
		if (i % GRAPH_EACH == 0) {
			check(cudaGraphLaunch(exec, stream), "graph");
			mine[GRIDS]++;
		}
		if (pause_us)
			usleep(pause_us);
	}
	return nullptr;
}

int main(int argc, char **argv)
{
	const size_t bytes = sizeof(uint64_t) * THREADS * COUNTS;
	int file = argc == 4 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	int threads = argc == 4 ? atoi(argv[2]) : 0;

	if (file < 0 || threads < 1 || threads > THREADS || ftruncate(file, (off_t)bytes)) {
		fprintf(stderr, "usage: killed FILE THREADS PAUSE_US, with 1 to %d threads\n", THREADS);
		return 2;
	}
	counts = (decltype(counts))mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	pause_us = (useconds_t)atoi(argv[3]);
	check(cudaFree(nullptr), "context");
	for (intptr_t i = 1; i < threads; i++) {
		pthread_t thread;

		pthread_create(&thread, nullptr, launch, (void *)i);
	}
	launch(nullptr);
	return 0;
}
