/* What the stand-in's tests share: a context, a stream, kernels, zeroed memory. */
#ifndef GW_TESTS_DRIVER_TEST_SUPPORT_H
#define GW_TESTS_DRIVER_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEST_HEAD "gpuwatch-stand-in-module\n"
#define TEST_IMAGE \
	TEST_HEAD "kernel empty regs=21 static=64 ns=700\n" \
		  "kernel increment ns=1000 params=8 body=increment\n" \
		  "kernel fill ns=1000 params=8,4,4 body=fill\n" \
		  "kernel spin ns=@0 params=8 body=spin\n"

struct fixture {
	CUcontext context;
	CUmodule module;
	CUfunction empty, increment, fill, spin;
	CUstream stream;
	CUdeviceptr memory; /* 1 KiB of zeroes */
};

static inline uint64_t steady_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A kernel of @p ns, and then what @p ask answers at once: again where this thread was held up for
 * as long as the kernel takes, so that the answer could be of either side of its end. */
#define WHILE_IT_RUNS(f, on, ns, ask) \
	do { \
		unsigned long long spin_ns = (ns); \
		void *spin_params[] = {&spin_ns}; \
		uint64_t spin_begin = steady_ns(); \
		assert_int_equal( \
			cuLaunchKernel((f)->spin, 1, 1, 1, 1, 1, 1, 0, on, spin_params, NULL), 0); \
		ask; \
		if (steady_ns() - spin_begin < spin_ns) \
			break; \
		assert_int_equal(cuStreamSynchronize(on), 0); \
	} while (1)

static inline int fixture_make(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);
	if (!f || cuInit(0) || cuDevicePrimaryCtxRetain(&f->context, 0) ||
	    cuCtxSetCurrent(f->context) || cuModuleLoadData(&f->module, TEST_IMAGE) ||
	    cuModuleGetFunction(&f->empty, f->module, "empty") ||
	    cuModuleGetFunction(&f->increment, f->module, "increment") ||
	    cuModuleGetFunction(&f->fill, f->module, "fill") ||
	    cuModuleGetFunction(&f->spin, f->module, "spin") ||
	    cuStreamCreate(&f->stream, CU_STREAM_NON_BLOCKING) || cuMemAlloc(&f->memory, 1024) ||
	    cuMemsetD8(f->memory, 0, 1024))
		return -1;
	*state = f;
	return 0;
}

static inline int fixture_drop(void **state)
{
	struct fixture *f = *state;
	int failed = cuMemFree(f->memory) || cuStreamDestroy(f->stream) ||
		     cuModuleUnload(f->module) || cuDevicePrimaryCtxRelease(0);
	free(f);
	return failed ? -1 : 0;
}

static inline CUDA_KERNEL_NODE_PARAMS node_of(CUfunction function, void **params)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = function,
					 .gridDimX = 2,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = 32,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = params};
}

#endif
