/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of ours: the program's signals never land on them, and they are counted. */
#ifndef GW_SPAWN_H
#define GW_SPAWN_H

#include <stdbool.h>

/**
 * Run @p run in a detached thread named @p name (a literal of at most 15 bytes), all signals
 * blocked. False when no thread could be created.
 */
bool gw_spawn(const char *name, void (*run)(void));

/**
 * The same for a thread that never holds what the program waits for, at the lowest priority: it
 * runs where a processor would be idle (SCHED_IDLE), or, where that is refused, at nice 19. Where
 * both are, it runs as any other. A thread that calls the driver or libcupti is no such thread: the
 * program may wait for a lock that it holds there, for as long as others keep the processors busy.
 */
bool gw_spawn_lowest(const char *name, void (*run)(void));

/** How many of ours run now. */
unsigned gw_spawned(void);

/** In a forked child none of them is there. */
void gw_spawn_forget(void);

#endif
