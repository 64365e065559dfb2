/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sources of a program's instructions are not the same number in all threads of the grid:
 * those that come from a thread's or a block's own index, from memory, or from what is not
 * modelled.
 */
#ifndef GW_CODE_IR_VARY_H
#define GW_CODE_IR_VARY_H

#include "predictor/code/ir/reach.h"

/**
 * Of each operand of the program that @p r was prepared on (gw_reach_init()) that is a source:
 * whether it varies among threads. What differs only in the path that a thread has come by counts
 * as alike. NULL when @p arena has no room.
 */
const uint8_t *gw_ir_vary(const struct gw_reach *r, struct gw_arena *arena);

#endif
