/*
 * Spans, deadlines and waits, all by CLOCK_MONOTONIC: the wall clock is the administrator's, and a
 * step of it may neither shorten nor prolong a wait.
 */
#ifndef GW_DEADLINE_H
#define GW_DEADLINE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#define GW_MS UINT64_C(1000000) /**< in ns */

/** The moment @p ns from now, as gw_steady_ns() counts. */
uint64_t gw_deadline_in(uint64_t ns);

/**
 * Wait on @p condition until it is signalled or @p deadline has passed; false: it has. As every
 * wait on a condition it may return without either.
 */
bool gw_deadline_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t deadline);

/**
 * Wait until @p post is posted, however often, or until @p deadline; false: nobody has. A signal
 * ends it early.
 */
bool gw_deadline_wait_post(sem_t *post, uint64_t deadline);

/** Sleep for @p ns; a signal ends it early. */
void gw_pause(uint64_t ns);

/** Look every @p pause ns whether @p state is zero, until @p deadline; whether it became so. */
bool gw_pause_while(const _Atomic int *state, uint64_t pause, uint64_t deadline);

/** CPU time of the calling thread, ns; 0 where the system does not say. */
uint64_t gw_thread_cpu_ns(void);

#endif
