/*
 * Programs that go on for long enough to be measured in windows. Every launch waits its turn, so
 * that its start shows which call it was.
 */
#include "client.h"

#include <pthread.h>
#include <time.h>

enum { GAP_US = 60 };

static void nap(unsigned us)
{
	struct timespec t = {0, (long)us * 1000};

	nanosleep(&t, NULL);
}

static void launch_apart(CUstream stream, unsigned grid, int n)
{
	for (int i = 0; i < n; i++) {
		CK(cuLaunchKernel(client_kernel, grid, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
		nap(GAP_US);
	}
}

static void steady(void)
{
	client_start();
	launch_apart(NULL, 1, 3000);
	CK(cuCtxSynchronize());
}

/* Rests until it has earned a window and more; then it launches a sixth of the time. */
static void bursts(void)
{
	client_start();
	launch_apart(NULL, 1, 1);
	for (int i = 0; i < 6; i++)
		nap(250000);
	for (int i = 0; i < 12; i++) {
		launch_apart(NULL, 1, 350);
		nap(250000);
	}
	CK(cuCtxSynchronize());
}

/* Long kernels: of short ones the time that the GPU waits for the call may be most of what is read.
 */
static void rarely(void)
{
	client_start();
	client_kernel = client_function("long");
	for (int i = 0; i < 60; i++) {
		launch_apart(NULL, 1, 1);
		nap(40000);
	}
	CK(cuCtxSynchronize());
}

static CUgraphExec graph_of(CUstream stream, unsigned grid)
{
	CUgraph graph;
	CUgraphExec exec;

	CK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch_apart(stream, grid, 3);
	CK(cuStreamEndCapture(stream, &graph));
	CK(cuGraphInstantiate(&exec, graph, 0));
	CK(cuGraphDestroy(graph));
	return exec;
}

/* Made while somebody measures, launched among plain launches, and made anew now and then. */
static void graphs(void)
{
	CUstream stream;
	CUgraphExec exec[8];

	client_start();
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	launch_apart(stream, 1, 1500);
	for (unsigned i = 0; i < 8; i++)
		exec[i] = graph_of(stream, 10 + i);
	for (unsigned i = 0; i < 1600; i++) {
		if (i % 100 == 99) {
			CK(cuStreamSynchronize(stream));
			CK(cuGraphExecDestroy(exec[i / 100 & 7]));
			exec[i / 100 & 7] = graph_of(stream, 20 + i / 100);
		}
		CK(cuGraphLaunch(exec[i & 7], stream));
		launch_apart(stream, 2, 1);
	}
	CK(cuCtxSynchronize());
}

CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream);

/* As a model makes words: one graph after the other, each waited for, on each kind of stream. */
static void decode_on(CUstream stream, CUresult (*launch)(CUgraphExec, CUstream))
{
	CUfunction kernel = client_function("short");
	CUstream capturing;
	CUgraphExec exec;
	CUgraph graph;

	CK(cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING));
	CK(cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (unsigned i = 0; i < 40; i++)
		CK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, capturing, NULL, NULL));
	CK(cuStreamEndCapture(capturing, &graph));
	CK(cuGraphInstantiate(&exec, graph, 0));
	CK(cuGraphDestroy(graph));
	for (int i = 0; i < 1200; i++) {
		CK(launch(exec, stream));
		CK(cuCtxSynchronize());
	}
	CK(cuGraphExecDestroy(exec));
	CK(cuStreamDestroy(capturing));
}

static void decode(void)
{
	CUstream stream;

	client_start();
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	decode_on(stream, cuGraphLaunch);
	decode_on(NULL, cuGraphLaunch);
	decode_on(NULL, cuGraphLaunch_ptsz);
}

static void *many(void *arg)
{
	CUstream stream;

	CK(cuCtxSetCurrent(client_context));
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 60; i++) {
		for (int k = 0; k < 60; k++)
			CK(cuLaunchKernel(client_kernel, (unsigned)(uintptr_t)arg, 1, 1, 32, 1, 1,
					  0, stream, NULL, NULL));
		CK(cuStreamSynchronize(stream));
		nap(12000);
	}
	CK(cuStreamDestroy(stream));
	return NULL;
}

static void threads(void)
{
	pthread_t t[16];

	client_start();
	for (uintptr_t i = 0; i < 16; i++)
		pthread_create(&t[i], NULL, many, (void *)(i + 1));
	for (int i = 0; i < 16; i++)
		pthread_join(t[i], NULL);
	CK(cuCtxSynchronize());
}

/* Leaves without waiting for what it launched. */
static void leave(void)
{
	client_start();
	launch_apart(NULL, 1, 1000);
	fflush(stdout);
	exit(7);
}

static void forks(void)
{
	pid_t pid;

	client_start();
	launch_apart(NULL, 1, 800);
	pid = fork();
	if (pid == 0) {
		client_launch(5, 10);
		exit(3);
	}
	client_reap("child", pid);
	launch_apart(NULL, 2, 800);
	CK(cuCtxSynchronize());
}

/* Contexts and streams come and go, the primary context is reset. */
static void contexts(void)
{
	client_start();
	for (int i = 0; i < 12; i++) {
		CUcontext context;
		CUmodule module;
		CUfunction f;
		CUstream stream;

		CK(cuCtxCreate(&context, NULL, 0, 0));
		CK(cuModuleLoadData(&module, CLIENT_IMAGE));
		CK(cuModuleGetFunction(&f, module, "short"));
		CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		for (unsigned k = 0; k < 50; k++) {
			CK(cuLaunchKernel(f, 1 + k % 3, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
			nap(GAP_US);
		}
		CK(cuCtxSynchronize());
		CK(cuCtxDestroy(context));
		CK(cuCtxSetCurrent(client_context));
		launch_apart(NULL, 7, 100);
		if (i % 4 == 3) {
			CK(cuCtxSynchronize());
			CK(cuDevicePrimaryCtxReset(0));
			CK(cuDevicePrimaryCtxRetain(&client_context, 0));
			CK(cuCtxSetCurrent(client_context));
			CK(cuModuleLoadData(&client_module, CLIENT_IMAGE));
			client_kernel = client_function("empty");
		}
	}
}

/* A capture that lasts: a window must neither begin nor end in it. */
static void capture(void)
{
	CUstream stream;
	CUgraph graph;

	client_start();
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	launch_apart(NULL, 1, 100);
	for (int i = 0; i < 4; i++) {
		CK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
		launch_apart(stream, 2, 10);
		launch_apart(NULL, 3, 600);
		CK(cuStreamEndCapture(stream, &graph));
		CK(cuGraphDestroy(graph));
		launch_apart(NULL, 1, 300);
	}
	CK(cuCtxSynchronize());
}

/* Captures that end with their streams, then launches as before. */
static void capture_dropped(void)
{
	CUstream stream;

	client_start();
	for (int i = 0; i < 3; i++) {
		CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		CK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
		launch_apart(stream, 2, 10);
		CK(cuStreamDestroy(stream));
	}
	launch_apart(NULL, 4, 3000);
	CK(cuCtxSynchronize());
}

/* Kernels run on far beyond the window that they were launched in; one of so many met one. */
static void endless(void)
{
	unsigned long long ns = 2000000000;
	void *params[] = {&ns};
	CUstream stream;

	client_start();
	launch_apart(NULL, 1, 300);
	for (int i = 0; i < 12; i++) {
		CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		CK(cuLaunchKernel(client_function("spin"), 1, 1, 1, 1, 1, 1, 0, stream, params,
				  NULL));
		launch_apart(NULL, 2, 40);
	}
	launch_apart(NULL, 2, 3000);
	CK(cuCtxSynchronize());
	launch_apart(NULL, 3, 1000);
}

/* Graphs with a conditional node are made in mid-run, their bodies' kernels are not run. */
static void branches(void)
{
	client_start();
	launch_apart(NULL, 1, 3000);
	for (int i = 0; i < 40; i++) {
		CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
		CUgraph graph;
		CUgraphNode node;

		CK(cuGraphCreate(&graph, 0));
		CK(cuGraphConditionalHandleCreate(&p.conditional.handle, graph, client_context, 0,
						  1));
		p.conditional.type = CU_GRAPH_COND_TYPE_IF;
		p.conditional.size = 1;
		p.conditional.ctx = client_context;
		CK(cuGraphAddNode(&node, graph, NULL, NULL, 0, &p));
		CK(cuGraphDestroy(graph));
		launch_apart(NULL, 2, 75);
	}
	CK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
		{"steady", steady},     {"bursts", bursts},   {"rarely", rarely},
		{"graphs", graphs},     {"decode", decode},   {"threads", threads},
		{"leave", leave},       {"forks", forks},     {"contexts", contexts},
		{"capture", capture},   {"endless", endless}, {"dropped", capture_dropped},
		{"branches", branches}, {NULL, NULL}};

	return client_main(argc, argv, list);
}
