/*
 * How the worker sleeps. A launch makes no system call, so while a program launches the worker
 * looks at the rings by itself, more often than they can run over. Where nothing was launched for
 * long it may sleep for longer, for then the first launch rings: what a launch looks at for stream
 * captures (gw_hot.captures) sends it through gw_bell_launched() once.
 */
#ifndef GW_BELL_H
#define GW_BELL_H

#include <stdbool.h>
#include <stdint.h>

/** Nobody has rung, nobody sleeps; in a forked child too. */
void gw_bell_start(void);

/** Sleep until it rings, or until @p deadline. Worker only. */
void gw_bell_sleep(uint64_t deadline);

/**
 * The same, and a launch rings. @p pending: whether there are launches to be looked at. One that
 * had begun before this call, and is not committed yet, may lie there until @p deadline. Worker
 * only.
 */
void gw_bell_sleep_until_launch(uint64_t deadline, bool (*pending)(void));

/** Wake the worker. Any thread, a signal handler too. */
void gw_bell_ring(void);

/** Called by a launch that found gw_hot.captures not zero: wake the worker if it sleeps. */
void gw_bell_launched(void);

#endif
