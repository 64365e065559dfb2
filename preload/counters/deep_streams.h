/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that were launched into since they were last seen idle: what has to be asked before a
 * launch is counted. Copies alone don't count: a copy ends by itself.
 */
#ifndef GW_DEEP_STREAMS_H
#define GW_DEEP_STREAMS_H

#include "preload/runtime/driver.h"

#include <stdbool.h>
#include <stdint.h>

/** Start with none. */
void gw_deep_streams_start(void);

/** Something was launched into @p stream (@p pt: 0 means the calling thread's own) by the thread
 * of that serial, in its current context. */
void gw_deep_streams_used(CUstream stream, uint32_t pt, uint32_t serial);

/**
 * Wait, for a bounded time, until all streams of @p context are idle. False when they aren't, or
 * when one can't be asked: another thread's own stream, one too many, or one that answers an error.
 */
bool gw_deep_streams_idle(CUcontext context, uint32_t serial);

/** A stream, or all of a context, must not be asked any more. */
void gw_deep_streams_gone(CUstream stream);
void gw_deep_streams_context_gone(CUcontext context);

#endif
