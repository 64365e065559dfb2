/*
 * soak THREADS LAUNCHES RATE plain|churn SECONDS [BURST]: THREADS threads launch LAUNCHES kernels
 * in all, at most RATE a second (0: as fast as they can), and no more after SECONDS (0: all). With
 * `churn` each thread makes and ends a stream, a graph and a module all 500 launches. BURST: so
 * many more at each minute, a million a second, and these all 10,000 launches. Prints ten times a
 * second, in runs of more than 1,000 s each ten seconds, "seconds launched resident-KiB", and at
 * the end "ran N": kernels that the driver took, nodes of graphs included. It waits for 2% of its
 * time before it ends: exit() waits for a late worker for 5 s at most.
 */
#include "tests/campaign/clients/common.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { TURN = 500, NODES = 2, THREADS_MAX = 1024 };

static CUcontext context;
static _Atomic uint64_t ran, taken;
static _Atomic bool done;
static uint64_t launches_all;
static double rate, began, limit, burst;
static bool churn;

static void launch(CUfunction f, CUstream stream, uint64_t i)
{
	CK(cuLaunchKernel(f, 1 + (unsigned)(i % 5), 1, 1, 64, 1, 1, 0, stream, NULL, NULL));
	atomic_fetch_add(&ran, 1);
}

static void run_graph(CUfunction f, CUstream stream)
{
	CUDA_KERNEL_NODE_PARAMS params = {.func = f,
					  .gridDimX = 9,
					  .gridDimY = 1,
					  .gridDimZ = 1,
					  .blockDimX = 32,
					  .blockDimY = 1,
					  .blockDimZ = 1};
	CUgraph graph;
	CUgraphExec exec;
	CUgraphNode node, before = NULL;

	CK(cuGraphCreate(&graph, 0));
	for (int i = 0; i < NODES; i++) {
		CK(cuGraphAddKernelNode(&node, graph, before ? &before : NULL, before ? 1 : 0,
					&params));
		before = node;
	}
	CK(cuGraphInstantiate(&exec, graph, 0));
	CK(cuGraphLaunch(exec, stream));
	atomic_fetch_add(&ran, NODES);
	CK(cuStreamSynchronize(stream));
	CK(cuGraphExecDestroy(exec));
	CK(cuGraphDestroy(graph));
}

/* What comes and goes: all of it is used once. */
static void come_and_go(void)
{
	CUmodule module;
	CUfunction f;
	CUstream stream;

	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CK(cuModuleLoadData(&module, CLIENT_IMAGE));
	CK(cuModuleGetFunction(&f, module, "empty"));
	launch(f, stream, 0);
	run_graph(f, stream);
	CK(cuStreamSynchronize(stream));
	CK(cuModuleUnload(module));
	CK(cuStreamDestroy(stream));
}

/* How many may have been launched by now. */
static double due(void)
{
	const double since = seconds_now() - began, minutes = (double)(unsigned)(since / 60);
	const double more = (since - 60 * minutes) * 1e6;

	return since * rate +
	       (minutes < 1 ? 0 : burst * (minutes - 1) + (more < burst ? more : burst));
}

static void *launches(void *unused)
{
	CUfunction f;
	CUstream stream;
	uint64_t i = 0;

	(void)unused;
	CK(cuCtxSetCurrent(context));
	f = kernel_named("empty");
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	while (atomic_fetch_add(&taken, 1) < launches_all) {
		launch(f, stream, i++);
		if (churn && i % (burst > 0 ? 20 * TURN : TURN) == 0)
			come_and_go();
		while (rate > 0 && (double)atomic_load(&taken) > due())
			usleep(2000);
		if (limit > 0 && i % TURN == 0 && seconds_now() - began > limit)
			break;
	}
	CK(cuStreamSynchronize(stream));
	return NULL;
}

static long resident_kib(void)
{
	long pages = 0, all = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file) {
		if (fscanf(file, "%ld %ld", &all, &pages) != 2)
			pages = 0;
		fclose(file);
	}
	return pages * 4;
}

static void *samples(void *unused)
{
	(void)unused;
	while (!atomic_load(&done)) {
		printf("%.1f %llu %ld\n", seconds_now() - began,
		       (unsigned long long)atomic_load(&ran), resident_kib());
		fflush(stdout);
		for (int i = 0; i < (limit > 1000 ? 100 : 1) && !atomic_load(&done); i++)
			usleep(100000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned threads = argc == 6 || argc == 7 ? (unsigned)atoi(argv[1]) : 0;
	pthread_t thread[THREADS_MAX], sampler;

	if (!threads || threads > THREADS_MAX)
		return 2;
	launches_all = strtoull(argv[2], NULL, 10);
	rate = atof(argv[3]);
	churn = !strcmp(argv[4], "churn");
	limit = atof(argv[5]);
	burst = argc == 7 ? atof(argv[6]) : 0;
	began = seconds_now();
	context = client_start();
	if (pthread_create(&sampler, NULL, samples, NULL))
		return 2;
	for (unsigned t = 0; t < threads; t++)
		if (pthread_create(&thread[t], NULL, launches, NULL))
			return 2;
	for (unsigned t = 0; t < threads; t++)
		pthread_join(thread[t], NULL);
	if (strcmp(argv[4], "killed"))
		usleep((useconds_t)((seconds_now() - began) * 2e4));
	atomic_store(&done, true);
	pthread_join(sampler, NULL);
	printf("ran %llu\n", (unsigned long long)atomic_load(&ran));
	fflush(stdout);
	if (!strcmp(argv[4], "killed"))
		kill(getpid(), SIGKILL);
	return 0;
}
