/*
 * A GPU has one sampler of counters. Processes of one user that share a GPU take turns by a lock on
 * a file in the folder of live segments, one file a GPU: a process that the driver refuses has paid
 * for the attempt, and does not know when to try again. With it goes the lock for which ncu waits,
 * which stops with an error where the driver refuses it. The locks are the process's: they go with
 * it, however it ends, and no forked child has them. The counters' thread only.
 */
#ifndef GW_GPU_TURN_H
#define GW_GPU_TURN_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GW_GPU_TURN_TRY_MS = 250,   /**< how often who has no turn may try again */
	GW_GPU_TURN_AFTER_MS = 300, /**< so long others have the first try of who gave one back */
	GW_GPU_TURN_MOST_MS = 10000 /**< so long one has it; then it begins no other window */
};

/**
 * Start without a turn, in a forked child, too. @p segment: the path of the live segment, whose
 * folder is the one in which processes meet; empty: there is none, and nobody waits.
 */
void gw_gpu_turn_start(const char *segment);

/**
 * Take the turn on @p device, an ordinal. False: another process has it, or this one has just given
 * it back. True also where there is no folder, or the file can't be made.
 */
bool gw_gpu_turn_take(uint32_t device);

/** Whether it has been held for long enough. False where there is none. */
bool gw_gpu_turn_over(void);

/** Give it back; harmless where it was not taken. */
void gw_gpu_turn_give(void);

#endif
