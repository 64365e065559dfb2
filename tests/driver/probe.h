/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance probe's parts: the libraries' functions found at run time, and a trace that
 * says the same on every machine: handles are #1, #2 in order of appearance, ids are relative.
 */
#ifndef GW_TESTS_DRIVER_PROBE_H
#define GW_TESTS_DRIVER_PROBE_H

#include <cuda.h>
#include <cupti.h>
#include <stdint.h>

/* The names pass through cuda.h's renaming macros, so each is found by its newest symbol. */
#define PROBE_DRIVER(X)                                                                            \
	X(cuInit)                                                                                  \
	X(cuDriverGetVersion)                                                                      \
	X(cuGetErrorName)                                                                          \
	X(cuGetProcAddress)                                                                        \
	X(cuDeviceGet)                                                                             \
	X(cuDeviceGetCount)                                                                        \
	X(cuDeviceGetAttribute)                                                                    \
	X(cuDevicePrimaryCtxRetain)                                                                \
	X(cuDevicePrimaryCtxRelease)                                                               \
	X(cuDevicePrimaryCtxGetState)                                                              \
	X(cuCtxCreate)                                                                             \
	X(cuCtxDestroy)                                                                            \
	X(cuCtxGetCurrent)                                                                         \
	X(cuCtxSetCurrent)                                                                         \
	X(cuCtxPushCurrent)                                                                        \
	X(cuCtxPopCurrent)                                                                         \
	X(cuCtxGetDevice)                                                                          \
	X(cuCtxGetId)                                                                              \
	X(cuCtxSynchronize)                                                                        \
	X(cuModuleLoadData)                                                                        \
	X(cuModuleUnload)                                                                          \
	X(cuModuleGetFunction)                                                                     \
	X(cuModuleGetFunctionCount)                                                                \
	X(cuLibraryLoadData)                                                                       \
	X(cuLibraryUnload)                                                                         \
	X(cuLibraryGetKernel)                                                                      \
	X(cuLibraryGetKernelCount)                                                                 \
	X(cuLibraryGetModule)                                                                      \
	X(cuKernelGetFunction)                                                                     \
	X(cuKernelGetName)                                                                         \
	X(cuKernelGetLibrary)                                                                      \
	X(cuFuncGetName)                                                                           \
	X(cuFuncGetModule)                                                                         \
	X(cuFuncGetAttribute)                                                                      \
	X(cuMemAlloc)                                                                              \
	X(cuMemFree)                                                                               \
	X(cuMemcpyDtoH)                                                                            \
	X(cuMemsetD8)                                                                              \
	X(cuStreamCreate)                                                                          \
	X(cuStreamDestroy)                                                                         \
	X(cuStreamGetId)                                                                           \
	X(cuStreamGetFlags)                                                                        \
	X(cuStreamQuery)                                                                           \
	X(cuStreamSynchronize)                                                                     \
	X(cuStreamWaitEvent)                                                                       \
	X(cuStreamBeginCapture)                                                                    \
	X(cuStreamEndCapture)                                                                      \
	X(cuStreamIsCapturing)                                                                     \
	X(cuStreamGetCaptureInfo)                                                                  \
	X(cuEventCreate)                                                                           \
	X(cuEventRecord)                                                                           \
	X(cuEventQuery)                                                                            \
	X(cuEventSynchronize)                                                                      \
	X(cuEventElapsedTime)                                                                      \
	X(cuEventDestroy)                                                                          \
	X(cuLaunchKernel)                                                                          \
	X(cuLaunchKernelEx)                                                                        \
	X(cuLaunchCooperativeKernel)                                                               \
	X(cuGraphCreate)                                                                           \
	X(cuGraphDestroy)                                                                          \
	X(cuGraphAddKernelNode)                                                                    \
	X(cuGraphAddEmptyNode)                                                                     \
	X(cuGraphAddChildGraphNode)                                                                \
	X(cuGraphAddDependencies)                                                                  \
	X(cuGraphKernelNodeGetParams)                                                              \
	X(cuGraphKernelNodeSetParams)                                                              \
	X(cuGraphNodeGetType)                                                                      \
	X(cuGraphGetNodes)                                                                         \
	X(cuGraphGetRootNodes)                                                                     \
	X(cuGraphGetEdges)                                                                         \
	X(cuGraphNodeGetDependencies)                                                              \
	X(cuGraphNodeGetDependentNodes)                                                            \
	X(cuGraphChildGraphNodeGetGraph)                                                           \
	X(cuGraphClone)                                                                            \
	X(cuGraphNodeFindInClone)                                                                  \
	X(cuGraphInstantiate)                                                                      \
	X(cuGraphExecUpdate)                                                                       \
	X(cuGraphExecKernelNodeSetParams)                                                          \
	X(cuGraphNodeSetEnabled)                                                                   \
	X(cuGraphNodeGetEnabled)                                                                   \
	X(cuGraphLaunch)                                                                           \
	X(cuDeviceGetDevResource)                                                                  \
	X(cuDevResourceGenerateDesc)                                                               \
	X(cuGreenCtxCreate)                                                                        \
	X(cuCtxFromGreenCtx)                                                                       \
	X(cuGreenCtxStreamCreate)                                                                  \
	X(cuGraphExecDestroy)

#define PROBE_CUPTI(X)                                                                             \
	X(cuptiGetVersion)                                                                         \
	X(cuptiActivityRegisterCallbacks)                                                          \
	X(cuptiActivityEnable)                                                                     \
	X(cuptiActivityDisable)                                                                    \
	X(cuptiActivityFlushAll)                                                                   \
	X(cuptiActivityGetNextRecord)                                                              \
	X(cuptiActivityGetNumDroppedRecords)                                                       \
	X(cuptiGetTimestamp)                                                                       \
	X(cuptiGetContextId)                                                                       \
	X(cuptiGetStreamIdEx)                                                                      \
	X(cuptiGetGraphExecId)                                                                     \
	X(cuptiGetGraphId)                                                                         \
	X(cuptiGetGraphNodeId)                                                                     \
	X(cuptiSubscribe)                                                                          \
	X(cuptiUnsubscribe)                                                                        \
	X(cuptiEnableCallback)                                                                     \
	X(cuptiFinalize)

struct probe_api {
#define X(name) __typeof__(name) *name;
	PROBE_DRIVER(X)
	PROBE_CUPTI(X)
#undef X
};
extern struct probe_api d;
extern void *probe_driver;      /* dlopen's handle of libcuda.so.1 */
extern const void *probe_image; /* the kernels, as cuModuleLoadData takes them */

struct probe_kernels {
	CUmodule module;
	CUfunction empty, one, two, spin;
};

/* "#n" of a handle, "null" for NULL; the text lives until four more were asked for. */
const char *probe_handle(const void *handle);
/* Starts the numbers again: a value may come back as another object's, here or there. */
void probe_forget(void);
/* One line: the call's text, its result, then what `format` adds. */
void probe_line(int result, const char *call, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
#define TRACE(call, ...)                                                                           \
	do { /* the call before its outputs are read */                                            \
		int result_ = (int)d.call;                                                         \
		probe_line(result_, #call, __VA_ARGS__);                                           \
	} while (0)

/* The parts of the trace after the first three, in this order; each runs in its own process with a
 * current context and the kernels loaded. */
#define PROBE_SECTIONS(X)                                                                          \
	X(ids)                                                                                     \
	X(memory)                                                                                  \
	X(values)                                                                                  \
	X(kernel_handles)                                                                          \
	X(kernel_as_function)                                                                      \
	X(launches)                                                                                \
	X(streams_and_events)                                                                      \
	X(contexts)                                                                                \
	X(null_handles)                                                                            \
	X(capture)                                                                                 \
	X(capture_broken)                                                                          \
	X(capture_joined)                                                                          \
	X(capture_unjoined)                                                                        \
	X(capture_global)                                                                          \
	X(capture_thread_local)                                                                    \
	X(capture_relaxed)                                                                         \
	X(capture_blocking)                                                                        \
	X(graph_build)                                                                             \
	X(graph_exec)                                                                              \
	X(green)                                                                                   \
	X(cupti_ids)                                                                               \
	X(cupti_launches)                                                                          \
	X(cupti_graph_ids)                                                                         \
	X(cupti_graphs)                                                                            \
	X(cupti_running)                                                                           \
	X(cupti_callbacks)                                                                         \
	X(cupti_end)
#define X(name) void probe_##name(const struct probe_kernels *k);
PROBE_SECTIONS(X)
#undef X
void probe_errors_early(void);

#endif
