/*
 * Launches through every way of finding the function: cuGetProcAddress v1 and v2 with each
 * flag, dlsym and dlvsym. Nothing is linked: the driver is opened at run time.
 */
#include <cuda.h>
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* Data pointers become function pointers through this: ISO C has no cast for it. */
#define AS(type, pointer) (*(type *)(void *)&(void *){pointer})

static void *library;
static PFN_cuGetProcAddress_v12000 find_v2;
static PFN_cuGetProcAddress_v11030 find_v1;
static CUfunction increment;
static CUdeviceptr counter;

static void *need(void *pointer, const char *what)
{
	if (!pointer) {
		fprintf(stderr, "procaddr: %s was not found\n", what);
		exit(1);
	}
	return pointer;
}

static void *get(const char *name, int version, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status;
	void *pointer = NULL;
	if (find_v2(name, &pointer, version, flags, &status) != CUDA_SUCCESS)
		return NULL;
	return status == CU_GET_PROC_ADDRESS_SUCCESS ? pointer : NULL;
}

#define GET(name, version) AS(PFN_##name##_v##version, need(get(#name, version, 0), #name))

static void launch(const char *how, void *function)
{
	void *params[] = {&counter};
	CUresult result = AS(PFN_cuLaunchKernel_v4000, need(function, how))(
		increment, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL);
	printf("%s: %d\n", how, (int)result);
	if (result != CUDA_SUCCESS)
		exit(1);
}

static void *by_v1(cuuint64_t flags)
{
	void *pointer = NULL;
	return find_v1("cuLaunchKernel", &pointer, 7000, flags) == CUDA_SUCCESS ? pointer : NULL;
}

static void setup(void)
{
	CUcontext ctx;
	CUmodule module;
	CUdevice dev;
	if (GET(cuInit, 2000)(0) || GET(cuDeviceGet, 2000)(&dev, 0) ||
	    GET(cuDevicePrimaryCtxRetain, 7000)(&ctx, dev) || GET(cuCtxSetCurrent, 4000)(ctx) ||
	    GET(cuModuleLoadData, 2000)(&module, "gpuwatch-stand-in-module\n"
						 "kernel increment params=8 body=increment\n") ||
	    GET(cuModuleGetFunction, 2000)(&increment, module, "increment") ||
	    GET(cuMemAlloc, 3020)(&counter, sizeof(int)) || GET(cuMemsetD32, 3020)(counter, 0, 1)) {
		fprintf(stderr, "procaddr: set-up failed\n");
		exit(1);
	}
}

int main(void)
{
	int total = 0;
	library = need(dlopen("libcuda.so.1", RTLD_NOW), "libcuda.so.1");
	find_v2 = AS(PFN_cuGetProcAddress_v12000,
		     need(dlsym(library, "cuGetProcAddress_v2"), "cuGetProcAddress_v2"));
	find_v1 = AS(PFN_cuGetProcAddress_v11030,
		     need(dlsym(library, "cuGetProcAddress"), "cuGetProcAddress"));
	setup();
	launch("v2, default", get("cuLaunchKernel", 4000, 0));
	launch("v2, legacy", get("cuLaunchKernel", 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM));
	launch("v2, per thread",
	       get("cuLaunchKernel", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
	launch("v1, default", by_v1(0));
	launch("v1, per thread", by_v1(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
	launch("dlsym", dlsym(library, "cuLaunchKernel"));
	launch("dlsym _ptsz", dlsym(library, "cuLaunchKernel_ptsz"));
	/* The driver's symbols have no version: asking for one must go on finding nothing. */
	printf("dlvsym: %s\n", dlvsym(library, "cuLaunchKernel", "CUDA_1") ? "found" : "not found");
	find_v2 =
		AS(PFN_cuGetProcAddress_v12000, need(get("cuGetProcAddress", 12000, 0), "itself"));
	launch("v2 found by itself", get("cuLaunchKernel", 4000, 0));
	GET(cuCtxSynchronize, 2000)();
	GET(cuMemcpyDtoH, 3020)(&total, counter, sizeof total);
	GET(cuMemFree, 3020)(counter);
	printf("launches %d\n", total);
	return total == 8 ? 0 : 1;
}
