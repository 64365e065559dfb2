/*
 * When gpuwatch begins and ends in a process. Nothing happens before the driver is used;
 * the log is opened at the first launch; a forked child begins anew at its own first launch.
 */
#ifndef GW_LIFECYCLE_H
#define GW_LIFECYCLE_H

#include <stdbool.h>

/** cuInit succeeded: reserve the tables, start the worker, begin to hook. Idempotent. */
void gw_on_driver_ready(void);

/**
 * A context is about to be made: the measuring library is attached if that is still to be done. The
 * caller waits for it, bounded.
 */
void gw_before_context_create(void);

/**
 * exit() begins: in mode audit it is held for what was begun and gives answers, as
 * GPUWATCH_EXIT_WAIT allows; once, never in a forked child, never in a sandbox.
 */
void gw_hold_exit(void);

/** exit() begins: the worker comes out of the driver. Waits for it, at most a few seconds. */
void gw_quiesce(void);

/**
 * Called by a wrapper while nothing is active: begins, or begins anew in a forked child.
 * @p init: the call is cuInit, whose end decides. False when the call is to pass through.
 */
bool gw_activate(bool init);

/**
 * exit() begins. Where another thread may launch on, the log is closed now, and libcupti not called
 * any more: before anything that it launches through is taken down.
 */
void gw_shutdown_if_threads_remain(void);

/** Whether driver functions are handed out wrapped in this process. */
bool gw_hooking(void);

#endif
