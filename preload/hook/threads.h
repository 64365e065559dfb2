/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GW_THREADS_H
#define GW_THREADS_H

#include <stdbool.h>

/** Prepare for threads to be told of their end. Idempotent. */
void gw_threads_init(void);

/** Keep one ring ready for the next thread that launches, so that it meets no page faults. Worker
 * only. */
void gw_threads_spare(void);

/** Whether another thread than the calling one has launched and not ended. Any thread, once
 * RUNNING. */
bool gw_threads_others(void);

/** In a forked child: forget the parent's spare ring, whose pages are shared with it. */
void gw_threads_abandon(void);

#endif
