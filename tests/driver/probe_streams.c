/* The probe: ids, memory, green contexts, and what a call does to a capture it is no part of. */
#include "probe.h"
#include <stdio.h>

/* Stream and context ids as they are: programs see them, and they repeat in every process. */
void probe_ids(const struct probe_kernels *k)
{
	CUcontext first = NULL, second = NULL;
	CUstream a = NULL, b = NULL;
	unsigned long long id = 0;
	uint32_t cupti = 0;
	(void)k;
	d.cuCtxGetCurrent(&first);
	TRACE(cuCtxGetId(first, &id), "first %llu", id);
	TRACE(cuStreamGetId(NULL, &id), "legacy %llu", id);
	d.cuStreamCreate(&a, CU_STREAM_NON_BLOCKING);
	TRACE(cuStreamGetId(a, &id), "a %llu", id);
	d.cuStreamCreate(&b, CU_STREAM_DEFAULT);
	TRACE(cuStreamGetId(b, &id), "b %llu", id);
	TRACE(cuStreamGetId(CU_STREAM_PER_THREAD, &id), "per thread %llu", id);
	TRACE(cuptiGetStreamIdEx(first, a, 0, &cupti), "a %u", cupti);
	TRACE(cuptiGetStreamIdEx(first, b, 0, &cupti), "b %u", cupti);
	d.cuCtxCreate(&second, NULL, 0, 0);
	TRACE(cuCtxGetId(second, &id), "second %llu", id);
	TRACE(cuptiGetContextId(second, &cupti), "second %u", cupti);
	TRACE(cuStreamGetId(NULL, &id), "legacy %llu", id);
	TRACE(cuptiGetStreamIdEx(second, NULL, 0, &cupti), "legacy %u", cupti);
	d.cuStreamCreate(&a, CU_STREAM_NON_BLOCKING);
	TRACE(cuStreamGetId(a, &id), "a %llu", id);
	TRACE(cuptiGetStreamIdEx(second, a, 0, &cupti), "a %u", cupti);
}

void probe_memory(const struct probe_kernels *k)
{
	CUdeviceptr memory = 0;
	void *params[] = {&memory};
	int out[4] = {9, 9, 9, 9};
	TRACE(cuMemAlloc(&memory, sizeof out), "%s", memory ? "memory" : "null");
	TRACE(cuMemsetD8(memory, 0, sizeof out), "%s", "");
	TRACE(cuLaunchKernel(k->one, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "%s", "");
	TRACE(cuMemcpyDtoH(out, memory, sizeof out), "%d %d %d", out[0], out[1], out[2]);
	TRACE(cuLaunchKernel(k->two, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), "%s", "");
	TRACE(cuMemcpyDtoH(out, memory, sizeof out), "%d %d %d", out[0], out[1], out[2]);
	TRACE(cuMemFree(memory), "%s", "");
	TRACE(cuMemFree(memory), "freed before");
}

/* A green context over the whole device, and a kernel on a stream of it. */
void probe_green(const struct probe_kernels *k)
{
	CUdevResource resource;
	CUdevResourceDesc desc = NULL;
	CUgreenCtx green = NULL;
	CUcontext context = NULL;
	CUlibrary library = NULL;
	CUkernel kernel = NULL;
	CUstream stream = NULL;
	(void)k;
	TRACE(cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM), "%s", "");
	TRACE(cuDevResourceGenerateDesc(&desc, &resource, 1), "%s", desc ? "made" : "null");
	TRACE(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM), "%s",
	      green ? "made" : "null");
	TRACE(cuCtxFromGreenCtx(&context, green), "%s", context ? "a context" : "null");
	TRACE(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_DEFAULT, 0), "blocking");
	TRACE(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0), "%s",
	      stream ? "made" : "null");
	TRACE(cuCtxSetCurrent(context), "%s", "");
	d.cuLibraryLoadData(&library, probe_image, NULL, NULL, 0, NULL, NULL, 0);
	d.cuLibraryGetKernel(&kernel, library, "empty");
	TRACE(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL), "%s",
	      "");
	TRACE(cuStreamSynchronize(stream), "%s", "");
	TRACE(cuStreamDestroy(stream), "%s", "");
}

/* ---- calls beside a capture ---- */

struct beside {
	const struct probe_kernels *k;
	CUstream other;
	CUevent event; /* recorded before */
};

enum beside_call {
	LAUNCH_OTHER,
	LAUNCH_LEGACY,
	SYNCHRONIZE_OTHER,
	QUERY_EVENT,
	SYNCHRONIZE_EVENT,
	SYNCHRONIZE_CONTEXT,
	CREATE_EVENT,
	ATTRIBUTE,
	ALLOCATE,
	LOAD_MODULE,
	BESIDE_CALLS
};

static void call_beside(enum beside_call call, const struct beside *x)
{
	CUdeviceptr memory;
	CUmodule module;
	CUevent event;
	int value;
	switch (call) {
	case LAUNCH_OTHER:
		TRACE(cuLaunchKernel(x->k->empty, 1, 1, 1, 32, 1, 1, 0, x->other, NULL, NULL),
		      "other stream");
		break;
	case LAUNCH_LEGACY:
		TRACE(cuLaunchKernel(x->k->empty, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL),
		      "legacy stream");
		break;
	case SYNCHRONIZE_OTHER:
		TRACE(cuStreamSynchronize(x->other), "other stream");
		break;
	case QUERY_EVENT:
		TRACE(cuEventQuery(x->event), "recorded before");
		break;
	case SYNCHRONIZE_EVENT:
		TRACE(cuEventSynchronize(x->event), "recorded before");
		break;
	case SYNCHRONIZE_CONTEXT:
		TRACE(cuCtxSynchronize(), "%s", "");
		break;
	case CREATE_EVENT:
		TRACE(cuEventCreate(&event, 0), "%s", "");
		break;
	case ATTRIBUTE:
		TRACE(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, x->k->empty), "%s",
		      "");
		break;
	case ALLOCATE:
		TRACE(cuMemAlloc(&memory, 16), "%s", "");
		break;
	default:
		TRACE(cuModuleLoadData(&module, probe_image), "%s", "");
	}
}

static void beside_capture(const struct probe_kernels *k, CUstreamCaptureMode mode, unsigned flags)
{
	printf("capture mode %d of a stream with flags %u\n", (int)mode, flags);
	for (int call = 0; call < BESIDE_CALLS; call++) {
		struct beside x = {.k = k};
		CUstreamCaptureStatus state = (CUstreamCaptureStatus)9;
		CUgraph graph = NULL;
		CUstream a;
		d.cuStreamCreate(&a, flags);
		d.cuStreamCreate(&x.other, CU_STREAM_NON_BLOCKING);
		d.cuEventCreate(&x.event, 0);
		d.cuEventRecord(x.event, x.other);
		d.cuStreamSynchronize(x.other);
		d.cuStreamBeginCapture(a, mode);
		call_beside((enum beside_call)call, &x);
		TRACE(cuStreamIsCapturing(a, &state), "status %d", (int)state);
		TRACE(cuStreamEndCapture(a, &graph), "graph %s", graph ? "made" : "null");
		d.cuCtxSynchronize();
	}
}

void probe_capture_global(const struct probe_kernels *k)
{
	beside_capture(k, CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_NON_BLOCKING);
}

void probe_capture_thread_local(const struct probe_kernels *k)
{
	beside_capture(k, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_NON_BLOCKING);
}

void probe_capture_relaxed(const struct probe_kernels *k)
{
	beside_capture(k, CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_NON_BLOCKING);
}

void probe_capture_blocking(const struct probe_kernels *k)
{
	beside_capture(k, CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_DEFAULT);
}
