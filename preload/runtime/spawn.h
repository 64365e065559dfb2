/* Threads of ours: the program's signals never land on them, and they are counted. */
#ifndef GW_SPAWN_H
#define GW_SPAWN_H

#include <stdbool.h>
#include <stdint.h>

/**
 * Run @p run in a detached thread named @p name (a literal of at most 15 bytes), all signals
 * blocked. False when no thread could be created.
 */
bool gw_spawn(const char *name, void (*run)(void));

/**
 * The calling thread, one of ours, runs at the lowest priority from now on: where a processor would
 * be idle (SCHED_IDLE), or, where that is refused, at nice 19. Where both are, and in a sandbox,
 * nothing changes. Not for a thread that calls the driver or libcupti: the program may wait for a
 * lock that it holds there, for as long as others keep the processors busy.
 */
void gw_lower_priority(void);

/** How many of ours run now. */
unsigned gw_spawned(void);

/** CPU time of all of ours since the start, those that have ended included, ns. A thread that ends
 * meanwhile may be missing from one answer. */
uint64_t gw_spawned_cpu_ns(void);

/** In a forked child none of them is there. */
void gw_spawn_forget(void);

#endif
