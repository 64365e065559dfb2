/*
 * The beginning of exit(), before any exit handler. Libraries that are opened late register their
 * static objects' destructors late, and those run before every handler that was registered
 * earlier; a thread of ours that uses such a library has to stop before all of them.
 *
 * Two ways lead there. A call of exit() comes through our own (exit_hook.c), on whatever thread.
 * libc's own calls do not: for these (main returns) the main thread has a thread-local object,
 * whose destruction is the first thing that exit() does. It is not destroyed where the main thread
 * ends by pthread_exit(): then the worker is among the last threads, and ends what is ours
 * (pipeline.c).
 */
#ifndef GW_EXIT_WATCH_H
#define GW_EXIT_WATCH_H

/** exit() begins, on the calling thread: it may be held for answers; then sampling of counters
 * ends, and the worker is out of the driver. May be called again. */
void gw_exit_begins(void);

#endif
