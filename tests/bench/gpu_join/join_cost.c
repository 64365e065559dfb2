/* SPDX-License-Identifier: Apache-2.0
 *
 * What it costs to know which launch an activity record belongs to: 20,000 empty launches
 * bare, with kernel activity alone (join.c's way: in order), with external correlation ids
 * pushed around each launch, and with a callback on each launch. Behind the choice in
 * docs/internals/architecture.md; needs a GPU and the CUDA toolkit.
 *   nvcc -arch=sm_90 -cubin -o kernels.cubin tests/driver/kernels.cu
 *   cc -O2 -o join_cost tests/bench/gpu_join/join_cost.c -lcuda -lcupti
 *   ./join_cost kernels.cubin KERNEL
 */
#include <cuda.h>
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LAUNCHES = 20000, RUNS = 15, BUFFER = 1 << 20 };

static CUfunction kernel;
static CUstream stream;
static unsigned long records;

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int result = (int)(call);                                                          \
		if (result) {                                                                      \
			fprintf(stderr, "join_cost: %s: %d\n", #call, result);                     \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*size = BUFFER;
	*buffer = aligned_alloc(8, BUFFER);
	*most = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t id, uint8_t *buffer, size_t size,
                               size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)id;
	(void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		records += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	free(buffer);
}

static void CUPTIAPI called(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                            const void *info)
{
	(void)data;
	(void)domain;
	(void)id;
	(void)info;
}

static double run(int correlate)
{
	double begin = now();

	for (uint64_t i = 0, popped; i < LAUNCHES; i++) {
		if (correlate)
			cuptiActivityPushExternalCorrelationId(
			        CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, i);
		cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL);
		if (correlate)
			cuptiActivityPopExternalCorrelationId(
			        CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &popped);
	}
	CHECK(cuStreamSynchronize(stream));
	return (now() - begin) / LAUNCHES;
}

static int ascending(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

static void measure(const char *name, int correlate)
{
	double times[RUNS];

	run(correlate);
	records = 0;
	for (int i = 0; i < RUNS; i++)
		times[i] = run(correlate);
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	qsort(times, RUNS, sizeof(*times), ascending);
	printf("%-38s median %.0f ns a launch, least %.0f, most %.0f, %lu records\n", name,
	       times[RUNS / 2], times[0], times[RUNS - 1], records);
}

int main(int argc, char **argv)
{
	CUpti_SubscriberHandle subscriber;
	CUdevice device;
	CUcontext context;
	CUmodule module;

	if (argc != 3) {
		fprintf(stderr, "usage: %s FILE.cubin KERNEL\n", argv[0]);
		return 2;
	}
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoad(&module, argv[1]));
	CHECK(cuModuleGetFunction(&kernel, module, argv[2]));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	measure("bare", 0);
	CHECK(cuptiActivityRegisterCallbacks(requested, completed));
	CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	measure("kernel activity", 0);
	CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));
	measure("kernel activity, external correlation", 1);
	CHECK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));
	CHECK(cuptiSubscribe(&subscriber, called, NULL));
	CHECK(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
	                          CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
	measure("kernel activity, launch callback", 0);
	CHECK(cuptiUnsubscribe(subscriber));
	measure("kernel activity again", 0);
	return 0;
}
