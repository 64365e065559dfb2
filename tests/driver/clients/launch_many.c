/* launch_many [launches [threads [streams [pause [kernels]]]]]: every thread launches `launches`
 * kernels round robin on `streams` streams of its own, with so many microseconds between two; the
 * sum of what they incremented is printed. Each of the kernels has three grids. */
#include "client.h"
#include <pthread.h>
#include <unistd.h>

static CUcontext context;
enum { KERNELS = 4096 };
static CUmodule module;
static CUfunction increment[KERNELS];
static int launches = 1000, streams = 1, pause_us, kernels = 1;

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
		CK(cuLaunchKernel(increment[i / 3 % kernels], 1 + (unsigned)i % 3, 1, 1, 32, 1, 1,
				  0, stream[i % streams], params, NULL));
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

static void load(void)
{
	char *image = malloc(sizeof CLIENT_IMAGE + (size_t)kernels * 80), *end = image, name[32];

	if (!image)
		exit(1);
	end += sprintf(end, "%s", CLIENT_IMAGE);
	for (int i = 1; i < kernels; i++)
		end += sprintf(end, "kernel increment_%d regs=12 ns=1000 params=8 body=increment\n",
			       i);
	CK(cuModuleLoadData(&module, image));
	CK(cuModuleGetFunction(&increment[0], module, "increment"));
	for (int i = 1; i < kernels; i++) {
		snprintf(name, sizeof name, "increment_%d", i);
		CK(cuModuleGetFunction(&increment[i], module, name));
	}
	free(image);
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t *thread;
	long *sums, sum = 0;
	launches = argc > 1 ? atoi(argv[1]) : launches;
	streams = argc > 3 ? atoi(argv[3]) : streams;
	pause_us = argc > 4 ? atoi(argv[4]) : 0;
	kernels = argc > 5 ? atoi(argv[5]) : 1;
	if (kernels < 1 || kernels > KERNELS || launches < 0 || threads < 1 || threads > 1024 ||
	    streams < 1 || streams > 1024 || pause_us < 0 || pause_us >= 1000000)
		return 2;
	context = client_start();
	load();
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
