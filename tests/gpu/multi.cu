/*
 * Several GPUs in one process. `multi CASE`; exit status 77 where there is only one. Every device
 * gets launches of its own shapes and of shared ones, so that a launch counted on the wrong
 * device shows.
 */
#include "kernels.h"

#include <cuda.h>
#include <pthread.h>

enum { MOST = 8, STREAMS = 3, BYTES = 1 << 20 };

static int devices;

/* A tally for each device; run_case's own, on the first, stays empty. */
static void open_all(struct tally *all)
{
	for (int d = 0; d < devices; d++) {
		all[d] = (struct tally){NULL, 0, 0};
		CHECK(cudaSetDevice(d));
		tally_open(&all[d]);
	}
}

static void close_all(struct tally *t, struct tally *all)
{
	for (int d = 0; d < devices; d++) {
		CHECK(cudaSetDevice(d));
		tally_close(&all[d]);
		t->ran += all[d].ran;
		t->counted += all[d].counted;
	}
	CHECK(cudaSetDevice(0));
}

static void launch_some(struct tally *t, int device, cudaStream_t stream)
{
	bump<<<1, 32, 0, stream>>>(t->sum); /* the same on all */
	bump<<<2 + device, 32, 0, stream>>>(t->sum);
	bump_shared<<<1 + device, 64, 256, stream>>>(t->sum);
	t->ran += 3;
}

/* Streams of each device, launched into in turn; the default streams too. */
static void case_streams(struct tally *t)
{
	struct tally all[MOST];
	cudaStream_t streams[MOST][STREAMS];

	open_all(all);
	for (int d = 0; d < devices; d++) {
		CHECK(cudaSetDevice(d));
		for (int s = 0; s < STREAMS; s++)
			CHECK(cudaStreamCreateWithFlags(&streams[d][s], cudaStreamNonBlocking));
	}
	for (int round = 0; round < 10; round++)
		for (int d = 0; d < devices; d++) {
			CHECK(cudaSetDevice(d));
			launch_some(&all[d], d, 0);
			launch_some(&all[d], d, cudaStreamPerThread);
			for (int s = 0; s < STREAMS; s++)
				launch_some(&all[d], d, streams[d][s]);
		}
	close_all(t, all);
}

/* A stream of another device than the current one: the runtime launches where the stream is. */
static void case_elsewhere(struct tally *t)
{
	struct tally all[MOST];
	cudaStream_t streams[MOST];

	open_all(all);
	for (int d = 0; d < devices; d++) {
		CHECK(cudaSetDevice(d));
		CHECK(cudaStreamCreate(&streams[d]));
		launch_some(&all[d], d, streams[d]);
	}
	for (int round = 0; round < 10; round++)
		for (int d = 0; d < devices; d++) {
			const int other = (d + 1) % devices;
			cudaEvent_t event;

			CHECK(cudaSetDevice(d));
			CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
			launch_some(&all[d], d, streams[d]);
			CHECK(cudaEventRecord(event, streams[d]));
			CHECK(cudaSetDevice(other));
			CHECK(cudaStreamWaitEvent(streams[other], event, 0));
			launch_some(&all[other], other, streams[other]);
			CHECK(cudaEventDestroy(event));
		}
	close_all(t, all);
}

struct worker {
	struct tally tally;
	int device;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *w = (struct worker *)arg;
	cudaStream_t stream;

	CHECK(cudaSetDevice(w->device));
	tally_open(&w->tally);
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int i = 0; i < 200; i++)
		launch_some(&w->tally, w->device, i % 2 ? stream : cudaStreamPerThread);
	tally_close(&w->tally);
	CHECK(cudaStreamDestroy(stream));
	return NULL;
}

/* Two threads a device, all at once. */
static void case_threads(struct tally *t)
{
	struct worker workers[2 * MOST] = {};

	for (int i = 0; i < 2 * devices; i++) {
		workers[i].device = i % devices;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			exit(1);
	}
	for (int i = 0; i < 2 * devices; i++) {
		pthread_join(workers[i].thread, NULL);
		t->ran += workers[i].tally.ran;
		t->counted += workers[i].tally.counted;
	}
}

/* Contexts made by the driver API, two a device, pushed and popped in turn. */
static void case_contexts(struct tally *t)
{
	CUcontext contexts[2 * MOST], popped;
	struct tally all[2 * MOST] = {};

	for (int i = 0; i < 2 * devices; i++) {
		CUdevice device;

		CHECK_DRIVER(cuDeviceGet(&device, i % devices));
		CHECK_DRIVER(cuCtxCreate(&contexts[i], NULL, 0, device));
		tally_open(&all[i]);
		CHECK_DRIVER(cuCtxPopCurrent(&popped));
	}
	for (int round = 0; round < 10; round++)
		for (int i = 0; i < 2 * devices; i++) {
			CHECK_DRIVER(cuCtxPushCurrent(contexts[i]));
			launch_some(&all[i], i % devices, 0);
			CHECK_DRIVER(cuCtxPopCurrent(&popped));
		}
	for (int i = 0; i < 2 * devices; i++) {
		CHECK_DRIVER(cuCtxPushCurrent(contexts[i]));
		tally_close(&all[i]);
		CHECK_DRIVER(cuCtxDestroy(contexts[i]));
		t->ran += all[i].ran;
		t->counted += all[i].counted;
	}
}

/* One call, a kernel on each device: deprecated, and the only launch of its kind. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void case_cooperative(struct tally *t)
{
	CUDA_LAUNCH_PARAMS params[MOST] = {};
	void *args[MOST][1];
	struct tally all[MOST];
	cudaFunction_t functions[MOST];
	cudaStream_t streams[MOST];
	CUresult result = CUDA_SUCCESS;

	open_all(all);
	for (int d = 0; d < devices; d++) {
		CHECK(cudaSetDevice(d));
		CHECK(cudaStreamCreateWithFlags(&streams[d], cudaStreamNonBlocking));
		CHECK(cudaGetFuncBySymbol(&functions[d], (const void *)bump_cooperative));
		args[d][0] = &all[d].sum;
		params[d].function = (CUfunction)functions[d];
		params[d].gridDimX = 4;
		params[d].blockDimX = 64;
		params[d].gridDimY = params[d].gridDimZ = params[d].blockDimY = params[d].blockDimZ = 1;
		params[d].hStream = streams[d];
		params[d].kernelParams = args[d];
	}
	for (int round = 0; round < 5 && result == CUDA_SUCCESS; round++) {
		result = cuLaunchCooperativeKernelMultiDevice(params, (unsigned)devices, 0);
		for (int d = 0; d < devices; d++) {
			all[d].ran += result == CUDA_SUCCESS;
			CHECK(cudaSetDevice(d));
			launch_some(&all[d], d, streams[d]);
		}
	}
	printf("cooperative on %d devices: error %d\n", devices, (int)result);
	close_all(t, all);
}
#pragma GCC diagnostic pop

/* Copies from device to device, by peer access and by call, beside kernels of both. */
static void case_peer(struct tally *t)
{
	struct tally all[MOST];
	char *memory[MOST];
	cudaStream_t streams[MOST];

	open_all(all);
	for (int d = 0; d < devices; d++) {
		int can = 0, other = (d + 1) % devices;

		CHECK(cudaSetDevice(d));
		CHECK(cudaStreamCreate(&streams[d]));
		CHECK(cudaMalloc(&memory[d], BYTES));
		CHECK(cudaMemset(memory[d], d + 1, BYTES));
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaDeviceCanAccessPeer(&can, d, other));
		if (can)
			CHECK(cudaDeviceEnablePeerAccess(other, 0));
	}
	for (int round = 0; round < 10; round++)
		for (int d = 0; d < devices; d++) {
			const int other = (d + 1) % devices;

			CHECK(cudaSetDevice(d));
			launch_some(&all[d], d, streams[d]);
			CHECK(cudaMemcpyPeerAsync(memory[other], other, memory[d], d, BYTES, streams[d]));
			launch_some(&all[d], d, streams[d]);
		}
	close_all(t, all);
}

/* A graph a device, launched in turn and into each other's order by events. */
static void case_graphs(struct tally *t)
{
	struct tally all[MOST];
	cudaStream_t streams[MOST];
	cudaGraphExec_t execs[MOST];

	open_all(all);
	for (int d = 0; d < devices; d++) {
		cudaGraph_t graph;

		CHECK(cudaSetDevice(d));
		CHECK(cudaStreamCreateWithFlags(&streams[d], cudaStreamNonBlocking));
		CHECK(cudaStreamBeginCapture(streams[d], cudaStreamCaptureModeThreadLocal));
		for (int i = 0; i < 4; i++)
			launch_some(&all[d], d, streams[d]);
		all[d].ran = 0;
		CHECK(cudaStreamEndCapture(streams[d], &graph));
		CHECK(cudaGraphInstantiate(&execs[d], graph, 0));
		CHECK(cudaGraphDestroy(graph));
	}
	for (int round = 0; round < 10; round++)
		for (int d = 0; d < devices; d++) {
			CHECK(cudaSetDevice(d));
			CHECK(cudaGraphLaunch(execs[d], streams[d]));
			all[d].ran += 4 * 3;
			launch_some(&all[d], d, streams[d]);
		}
	close_all(t, all);
}

/* One graph with nodes on all devices: captured across them by events. */
static void case_across(struct tally *t)
{
	struct tally all[MOST];
	cudaStream_t streams[MOST];
	cudaEvent_t fork, joins[MOST];
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	open_all(all);
	for (int d = 0; d < devices; d++) {
		CHECK(cudaSetDevice(d));
		CHECK(cudaStreamCreateWithFlags(&streams[d], cudaStreamNonBlocking));
		CHECK(cudaEventCreateWithFlags(&joins[d], cudaEventDisableTiming));
		launch_some(&all[d], d, streams[d]); /* loads the kernels before the capture */
		CHECK(cudaDeviceSynchronize());
	}
	CHECK(cudaSetDevice(0));
	CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
	CHECK(cudaEventRecord(fork, streams[0]));
	for (int d = devices - 1; d >= 0; d--) {
		CHECK(cudaSetDevice(d));
		if (d)
			CHECK(cudaStreamWaitEvent(streams[d], fork, 0));
		launch_some(&all[d], d, streams[d]);
		all[d].ran -= 3;
		if (d)
			CHECK(cudaEventRecord(joins[d], streams[d]));
	}
	for (int d = 1; d < devices; d++)
		CHECK(cudaStreamWaitEvent(streams[0], joins[d], 0));
	CHECK(cudaStreamEndCapture(streams[0], &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int round = 0; round < 10; round++) {
		CHECK(cudaGraphLaunch(exec, streams[0]));
		for (int d = 0; d < devices; d++)
			all[d].ran += 3;
	}
	CHECK(cudaStreamSynchronize(streams[0]));
	close_all(t, all);
}

/* The last device is reset and used again while the others go on. */
static void case_reset(struct tally *t)
{
	const int last = devices - 1;
	struct tally all[MOST];

	open_all(all);
	for (int round = 0; round < 3; round++) {
		for (int d = 0; d < devices; d++) {
			CHECK(cudaSetDevice(d));
			for (int i = 0; i < 10; i++)
				launch_some(&all[d], d, 0);
		}
		CHECK(cudaSetDevice(last));
		tally_close(&all[last]);
		CHECK(cudaDeviceReset());
		tally_open(&all[last]);
	}
	close_all(t, all);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{"streams", case_streams},         {"elsewhere", case_elsewhere},
		{"threads", case_threads},         {"contexts", case_contexts},
		{"cooperative", case_cooperative}, {"peer", case_peer},
		{"graphs", case_graphs},           {"across", case_across},
		{"reset", case_reset},
	};

	CHECK(cudaGetDeviceCount(&devices));
	if (devices < 2) {
		printf("there is only one GPU here\n");
		return 77;
	}
	devices = devices < MOST ? devices : MOST;
	return run_case(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
