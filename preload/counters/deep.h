/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deep counters, GPUWATCH_COUNTERS=range: launches are counted one at a time by the range
 * profiler, each configuration in a few launches until all counters are known.
 *
 * This is the exception to never blocking the application: the thread that launches a kernel to be
 * counted waits until the context is idle, for a bounded time; the range then ends when the kernel
 * does, and until then every other thread's launch waits. CUPTI's wait for the kernel can't be
 * bounded, so a kernel that waits for something itself would hang the program: cooperative
 * launches, graphs, kernels of NCCL and NVSHMEM, and kernels whose code may wait or isn't known,
 * are never counted.
 */
#ifndef GW_DEEP_H
#define GW_DEEP_H

#include "preload/hook/call.h"

#include <stdbool.h>

/** Start with nothing counted; says what is asked for when it is. */
void gw_deep_start(void);

/** Worker, once a cycle: prepare sets and kernels, take what was counted. */
void gw_deep_tick(void);

/** Around every launch while counting is on (GW_HOT_DEEP in gw_hot.events). */
GW_COLD void gw_deep_begin(struct gw_call *call, CUstream stream);
GW_COLD void gw_deep_end(struct gw_call *call, CUresult result);

/** Around a graph launch: nothing is counted then. */
GW_COLD void gw_deep_graph(struct gw_call *call, CUstream stream);

/** A stream is about to go; a context is (@p still_there), or has gone. */
void gw_deep_stream_gone(CUstream stream);
void gw_deep_context_gone(CUcontext context, bool still_there);

/**
 * Another tool is to have libcupti: nothing is counted any more. Waits, bounded, for a launch that
 * is being counted. Worker only.
 */
void gw_deep_yield(void);

/** The program ends: where counting was asked for and could not begin, say why. Worker only. */
void gw_deep_over(void);

/** The program ends: libcupti is not asked for what was counted any more. */
void gw_deep_stop(void);

#endif
