/* SPDX-License-Identifier: Apache-2.0 */
/* Launches for deep counters: kernels of tests/code/waits, whose image CODE_IMAGE names. */
#include "client.h"
#include "tool.h"

#include <pthread.h>

static uint64_t zeros[4];

static void launch(const char *name, unsigned blocks, CUstream stream)
{
	void *params[] = {zeros, zeros, zeros, zeros};

	CK(cuLaunchKernel(client_function(name), blocks, 1, 1, 64, 1, 1, 0, stream, params, NULL));
}

/* Loads the image and launches each kernel once, so that the library may get ready. */
static void load(void)
{
	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&client_context, 0));
	CK(cuCtxSetCurrent(client_context));
	CK(cuModuleLoadData(&client_module, client_image()));
	launch("runs_straight", 1, NULL);
	CK(cuCtxSynchronize());
	client_nap(1000);
	for (int i = 0; i < 2; i++) { /* the first time its code is asked about */
		launch("runs_straight", 1, NULL);
		launch("runs_loop", 1, NULL);
		launch("runs_ncclNamed", 1, NULL);
		launch("waits_volatile", 1, NULL);
		CK(cuCtxSynchronize());
		client_nap(150);
	}
}

static void counts(void)
{
	load();
	for (int i = 0; i < 20; i++) {
		launch("runs_loop", 10, NULL);
		launch("runs_loop", 20, NULL);
		CK(cuCtxSynchronize());
	}
	client_nap(100);
	puts("counted");
}

/* Grids 10 and 20 before another tool comes, 40 while it is there and when it has gone. */
static void tool(void)
{
	counts();
	tool_takes();
	for (int i = 0; i < 20; i++)
		launch("runs_loop", 40, NULL);
	CK(cuCtxSynchronize());
	tool_goes();
	client_nap(1500);
	for (int i = 0; i < 20; i++)
		launch("runs_loop", 40, NULL);
	CK(cuCtxSynchronize());
}

static void refused(void)
{
	CUstream stream;
	CUgraph graph;
	CUgraphExec exec;
	void *params[] = {zeros, zeros, zeros, zeros};

	load();
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch("runs_loop", 30, stream);
	CK(cuStreamEndCapture(stream, &graph));
	CK(cuGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 10; i++) {
		launch("waits_volatile", 30, NULL);
		launch("runs_ncclNamed", 30, NULL);
		CK(cuLaunchCooperativeKernel(client_function("runs_loop"), 31, 1, 1, 64, 1, 1, 0,
		                             NULL, params));
		CK(cuGraphLaunch(exec, stream));
		CK(cuCtxSynchronize());
	}
	CK(cuGraphExecDestroy(exec));
	CK(cuGraphDestroy(graph));
	CK(cuStreamDestroy(stream));
	puts("refused");
}

/* Launches and tells whether what runs in `other` ended before the call came back. */
static int waits(unsigned blocks, CUstream stream, CUstream other)
{
	bool running = cuStreamQuery(other) == CUDA_ERROR_NOT_READY;

	launch("runs_loop", blocks, stream);
	return running && cuStreamQuery(other) == CUDA_SUCCESS;
}

/* Another stream is busy for half a second: launches must not wait for that. */
static void busy(void)
{
	CUstream stream;
	uint64_t ns = 500000000;
	void *params[] = {&ns};
	int waited = 0;

	load();
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CK(cuLaunchKernel(client_function("spin"), 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
	for (int i = 0; i < 5 && cuStreamQuery(stream) == CUDA_ERROR_NOT_READY; i++)
		waited += waits(40, NULL, stream);
	printf("launched at once: %d\n", !waited);
	CK(cuCtxSynchronize());
	CK(cuStreamDestroy(stream));
}

/* The same of a kernel that runs since before the library was ready to count: for EARLY_MS, which
 * on a machine that is busy with others may be over before anything else is launched. */
static void early(void)
{
	CUstream streams[2];
	const char *ms = getenv("EARLY_MS");
	uint64_t ns = (uint64_t)atol(ms ? ms : "0") * 1000000;
	void *params[] = {&ns};
	int waited = 0;

	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&client_context, 0));
	CK(cuCtxSetCurrent(client_context));
	CK(cuModuleLoadData(&client_module, client_image()));
	for (int i = 0; i < 2; i++)
		CK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	CK(cuLaunchKernel(client_function("spin"), 1, 1, 1, 32, 1, 1, 0, streams[0], params, NULL));
	client_nap(500);
	for (int i = 0; i < 4 && cuStreamQuery(streams[0]) == CUDA_ERROR_NOT_READY; i++) {
		waited += waits(40, streams[1], streams[0]);
		client_nap(200);
	}
	printf("launched at once: %d\n", !waited);
	CK(cuCtxSynchronize());
}

static void *launch_many(void *arg)
{
	CUstream stream;

	CK(cuCtxSetCurrent(client_context));
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < 200; i++) {
		launch("runs_loop", 100 + (unsigned)(uintptr_t)arg * 10 + i % 5, stream);
		if (i % 4 == 0)
			CK(cuStreamSynchronize(stream));
	}
	CK(cuStreamSynchronize(stream));
	CK(cuStreamDestroy(stream));
	return NULL;
}

static void threads(void)
{
	pthread_t thread[6];

	load();
	for (uintptr_t i = 0; i < 6; i++)
		pthread_create(&thread[i], NULL, launch_many, (void *)i);
	for (int i = 0; i < 6; i++)
		pthread_join(thread[i], NULL);
	puts("all threads");
}

/* The context goes and comes back. */
static void reset(void)
{
	load();
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 5; k++)
			launch("runs_loop", 50, NULL);
		CK(cuCtxSynchronize());
		CK(cuDevicePrimaryCtxReset(0));
		CK(cuDevicePrimaryCtxRetain(&client_context, 0));
		CK(cuCtxSetCurrent(client_context));
		CK(cuModuleLoadData(&client_module, client_image()));
	}
	puts("reset");
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
	        {"counts", counts}, {"tool", tool},       {"refused", refused}, {"busy", busy},
	        {"early", early},   {"threads", threads}, {"reset", reset},     {NULL, NULL},
	};

	return client_main(argc, argv, list);
}
