#ifndef GW_THREADS_H
#define GW_THREADS_H

#include "preload/maps/state.h"

#include <stdbool.h>

/**
 * Prepare for the ends of threads. @p allowed says whether this process may record
 * launches, which it may start over for, at the first of a thread. Idempotent.
 */
void gw_threads_init(bool (*allowed)(void));

/** Keep one ring ready for the next thread that launches, so that it meets no page faults. Worker
 * only. */
void gw_threads_spare(void);

/**
 * About once a second by @p now_ns, CLOCK_MONOTONIC: give back most of the rings of threads that
 * have not launched for long, and notice threads that ended without their destructors. Worker only.
 */
void gw_threads_tend(uint64_t now_ns);

/** Nobody has the record of @p t any more, and its ring is empty: what was used of it is given
 * back. Worker only, before the record is free. */
void gw_thread_rest(struct gw_thread *t);

/** Whether another thread than the calling one has launched and not ended. Any thread, once
 * RUNNING. */
bool gw_threads_others(void);

/**
 * A launch while not all hooks act: whether it passes through, as in mode idle. The first one has
 * the live segment made, by which gpuwatch ctl finds the process. Any thread, once RUNNING.
 */
bool gw_threads_idle(void);

/** In a forked child: forget the parent's spare ring, whose pages are shared with it. */
void gw_threads_abandon(void);

#endif
