/* The worker: from launch events and activity records to observations, predictions and the log. */
#ifndef GW_PIPELINE_H
#define GW_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Have the worker attach for the first time (gw_attach_first). False where it will not, because the
 * program is at its end. Does not wait.
 */
bool gw_pipeline_attach(void);

/** Start the worker thread; @p forbidden: it must not measure. False when that fails. */
bool gw_pipeline_start(bool forbidden);

/**
 * exit() begins: hold it, for @p most ns and a tenth of the program's run time at most, until the
 * analyses that wait and the counter window under way are finished.
 */
void gw_pipeline_hold(uint64_t most);

/**
 * exit() begins: have the worker come out of the driver and its libraries, before any of their
 * objects are destroyed, and rest until gw_pipeline_finish(). Waits for it, at most a few seconds.
 */
void gw_pipeline_leave(void);

/**
 * At exit, while the driver is still there: have the last records, write them, print the
 * summary. Waits for the worker, at most a few seconds.
 */
void gw_pipeline_finish(void);

/**
 * After the driver has gone: have the worker write what was launched since and close the log. Not
 * done by the caller, for exit() may be called on a signal handler's stack, of some KiB, and in the
 * midst of malloc(). Waits for it, at most some seconds.
 */
void gw_pipeline_close(void);

/** In a forked child: forget the parent's worker and log without touching them. */
void gw_pipeline_abandon(void);

#endif
