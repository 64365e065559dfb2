/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of exit(), before any exit handler. Libraries that are opened late register their
 * static objects' destructors late, and those run before every handler that was registered
 * earlier; who uses such a library on a thread of ours has to stop before all of them. The first
 * thing exit() does is to destroy the calling thread's thread-local objects: so the main thread
 * has one. Not seen that way is a call of exit() on another thread: pm.c has handlers for that.
 */
#ifndef GW_EXIT_WATCH_H
#define GW_EXIT_WATCH_H

#include <stdbool.h>

/** Whether the main thread's exit will be noticed in this process. */
bool gw_exit_watched(void);

/** In a forked child: only the forking thread is left, and it may be another one. */
void gw_exit_watch_forked(void);

#endif
