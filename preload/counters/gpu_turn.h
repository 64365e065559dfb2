/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU has one sampler of counters. Processes of one user that share a GPU take turns by a lock on
 * a file in the folder of live segments, one file a GPU: who is refused by the driver has paid for
 * the attempt, and learns nothing of when to try again. The counters' thread only.
 */
#ifndef GW_GPU_TURN_H
#define GW_GPU_TURN_H

#include <stdbool.h>
#include <stdint.h>

/** Start without a turn; in a forked child, which has none of the parent's locks. */
void gw_gpu_turn_start(void);

/**
 * Take the turn on @p device, an ordinal. False: another process has it, or this one has just given
 * it back and others have the first try. True also where there is no folder to agree in.
 */
bool gw_gpu_turn_take(uint32_t device);

/** Give it back; harmless where it was not taken. */
void gw_gpu_turn_give(void);

#endif
