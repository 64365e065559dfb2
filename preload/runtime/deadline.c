#include "preload/runtime/deadline.h"

#include "preload/runtime/clock.h"

#include <stdatomic.h>
#include <time.h>

enum { SECOND = 1000000000 };

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / SECOND), (long)(ns % SECOND)};
}

uint64_t gw_deadline_in(uint64_t ns)
{
	return gw_steady_ns() + ns;
}

bool gw_deadline_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t deadline)
{
	const struct timespec until = timespec_of(deadline);

	return !pthread_cond_clockwait(condition, lock, CLOCK_MONOTONIC, &until);
}

bool gw_deadline_wait_post(sem_t *post, uint64_t deadline)
{
	const struct timespec until = timespec_of(deadline);

	if (sem_clockwait(post, CLOCK_MONOTONIC, &until) != 0)
		return false;
	while (!sem_trywait(post))
		;
	return true;
}

/* nanosleep() takes no clock; Linux counts it by CLOCK_MONOTONIC. */
void gw_pause(uint64_t ns)
{
	const struct timespec span = timespec_of(ns);

	nanosleep(&span, NULL);
}

bool gw_pause_while(const _Atomic int *state, uint64_t pause, uint64_t deadline)
{
	while (atomic_load(state)) {
		if (gw_steady_ns() >= deadline)
			return false;
		gw_pause(pause);
	}
	return true;
}

uint64_t gw_thread_cpu_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		return 0;
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}
