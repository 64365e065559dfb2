/* SPDX-License-Identifier: Apache-2.0 */
/* launch_many [launches [threads [streams [pause]]]]: every thread launches `launches` kernels
 * round robin on `streams` streams of its own, with so many microseconds between two; the sum of
 * what they incremented is printed. */
#include "client.h"
#include <pthread.h>
#include <unistd.h>

static CUcontext context;
static CUfunction increment;
static int launches = 1000, streams = 1, pause_us;

static void *run(void *sum)
{
	CUstream *stream = calloc((size_t)streams, sizeof *stream);
	CUdeviceptr *counter = calloc((size_t)streams, sizeof *counter);
	if (!stream || !counter)
		exit(1);
	CK(cuCtxSetCurrent(context));
	for (int i = 0; i < streams; i++) {
		CK(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
		CK(cuMemAlloc(&counter[i], sizeof(int)));
		CK(cuMemsetD32(counter[i], 0, 1));
	}
	for (int i = 0; i < launches; i++) {
		void *params[] = {&counter[i % streams]};
		CK(cuLaunchKernel(increment, 1 + (unsigned)i % 3, 1, 1, 32, 1, 1, 0,
		                  stream[i % streams], params, NULL));
		if (pause_us)
			usleep((useconds_t)pause_us);
	}
	for (int i = 0; i < streams; i++) {
		int value;
		CK(cuStreamSynchronize(stream[i]));
		CK(cuMemcpyDtoH(&value, counter[i], sizeof value));
		*(long *)sum += value;
		CK(cuMemFree(counter[i]));
		CK(cuStreamDestroy(stream[i]));
	}
	free(stream);
	free(counter);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t *thread;
	long *sums, sum = 0;
	CUmodule module;
	launches = argc > 1 ? atoi(argv[1]) : launches;
	streams = argc > 3 ? atoi(argv[3]) : streams;
	pause_us = argc > 4 ? atoi(argv[4]) : 0;
	if (launches < 0 || threads < 1 || threads > 1024 || streams < 1 || streams > 1024 ||
	    pause_us < 0 || pause_us >= 1000000)
		return 2;
	context = client_start();
	CK(cuModuleLoadData(&module, CLIENT_IMAGE));
	CK(cuModuleGetFunction(&increment, module, "increment"));
	thread = calloc((size_t)threads, sizeof *thread);
	sums = calloc((size_t)threads, sizeof *sums);
	if (!thread || !sums)
		return 1;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, run, &sums[i]) != 0)
			return 1;
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		sum += sums[i];
	}
	CK(cuModuleUnload(module));
	CK(cuDevicePrimaryCtxRelease(0));
	printf("launched %ld of %ld\n", sum, (long)launches * threads);
	free(thread);
	free(sums);
	return sum == (long)launches * threads ? 0 : 1;
}
