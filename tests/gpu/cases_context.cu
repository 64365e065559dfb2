/*
 * Contexts that come and go while the program launches.
 */
#include "cases.h"

#include <cuda.h>

void case_reset(struct tally *t)
{
	for (int round = 0; round < 3; round++) {
		cudaStream_t stream;

		if (!t->sum)
			tally_open(t);
		CHECK(cudaStreamCreate(&stream));
		for (int i = 0; i < 10; i++) {
			bump<<<1 + round, 32>>>(t->sum);
			bump_shared<<<1, 64, 256, stream>>>(t->sum);
			t->ran += 2;
		}
		tally_close(t);
		CHECK(cudaDeviceReset());
	}
}

static CUcontext create_context(void)
{
	CUcontext context;
	CUdevice device;

	CHECK_DRIVER(cuDeviceGet(&device, 0));
	CHECK_DRIVER(cuCtxCreate(&context, NULL, 0, device));
	return context;
}

void case_destroy(struct tally *t)
{
	tally_close(t);
	for (int round = 0; round < 4; round++) {
		CUcontext context = create_context();
		cudaStream_t stream;

		tally_open(t);
		CHECK(cudaStreamCreate(&stream));
		for (int i = 0; i < 10; i++) {
			bump<<<1 + round, 32>>>(t->sum);
			bump<<<1, 64, 0, stream>>>(t->sum);
			t->ran += 2;
		}
		tally_close(t); /* the stream is left to the context's end */
		CHECK_DRIVER(cuCtxDestroy(context));
	}
}

void case_contexts(struct tally *t)
{
	struct tally other = {NULL, 0, 0};
	CUcontext second = create_context(), popped;

	tally_open(&other);
	CHECK_DRIVER(cuCtxPopCurrent(&popped));
	for (int i = 0; i < 20; i++) {
		bump<<<1, 32>>>(t->sum);
		CHECK_DRIVER(cuCtxPushCurrent(second));
		bump<<<2, 32>>>(other.sum);
		bump_shared<<<2, 64, 256>>>(other.sum);
		CHECK_DRIVER(cuCtxPopCurrent(&popped));
		t->ran += 3;
	}
	CHECK_DRIVER(cuCtxPushCurrent(second));
	tally_close(&other);
	CHECK_DRIVER(cuCtxDestroy(second));
	t->counted += other.counted;
}
