/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a kernel may wait for something outside itself: the host, another kernel, another GPU.
 * Such a wait is a loop around a load that sees what others write (volatile, atomic, acquire) or
 * around an atomic operation whose result is used. A kernel without one ends by itself.
 */
#ifndef GW_CODE_WAITS_H
#define GW_CODE_WAITS_H

#include "predictor/core/arena.h"
#include "predictor/code/binary/kernel.h"

/**
 * NULL when the code of @p kernel can't wait; else why it may, or why that can't be told, as a
 * static text. The arena is used for the meantime.
 */
const char *gw_code_waits(const struct gw_code_kernel *kernel, struct gw_arena *arena);

#endif
