/*
 * Preloaded, it sets CLOCK_REALTIME of its process: the program by moved_clock_set(), or, by what
 * stands in the environment, nobody: MOVED_CLOCK=FIRST,PERIOD,SECONDS moves it by
 * SECONDS (which may be negative) FIRST ms after the start, back PERIOD ms later, and so on; with a
 * PERIOD of 0 once. What waits by that clock waits by the clock as it is set, also where it is set
 * meanwhile: as the kernel does it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { SECOND = 1000000000, MS = 1000000, SLICE = 5 * MS };

static int64_t begin, first, period, by; /* ns */
static _Atomic int64_t set;              /* ns, by the program */

void moved_clock_set(int seconds);

/* As the kernel has it: functions of the C library may be others' here. */
static int64_t raw(clockid_t clock)
{
	struct timespec t;

	syscall(SYS_clock_gettime, clock, &t);
	return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

__attribute__((constructor)) static void start(void)
{
	const char *text = getenv("MOVED_CLOCK");
	char *end;

	begin = raw(CLOCK_MONOTONIC);
	if (!text)
		return;
	first = strtoll(text, &end, 10) * MS;
	period = strtoll(end + 1, &end, 10) * MS;
	by = strtoll(end + 1, &end, 10) * SECOND;
}

static int64_t moved(void)
{
	int64_t since = raw(CLOCK_MONOTONIC) - begin - first;

	if (!begin || since < 0 || (period && since / period % 2))
		return set;
	return set + by;
}

EXPORT void moved_clock_set(int seconds)
{
	set += (int64_t)seconds * SECOND;
}

static int64_t now(void)
{
	return raw(CLOCK_REALTIME) + moved();
}

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ns / SECOND, ns % SECOND};
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
		return (int)syscall(SYS_clock_gettime, clock, t);
	*t = timespec_of(now());
	return 0;
}

EXPORT int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	int64_t ns = now();

	(void)zone;
	*t = (struct timeval){ns / SECOND, ns % SECOND / 1000};
	return 0;
}

EXPORT time_t time(time_t *t)
{
	time_t s = now() / SECOND;

	if (t)
		*t = s;
	return s;
}

EXPORT int timespec_get(struct timespec *t, int base)
{
	*t = timespec_of(now());
	return base;
}

/* The next moment to look at the clock, by the clock of the kernel; @p until is by ours. */
static struct timespec look_at(const struct timespec *until)
{
	int64_t left = (int64_t)until->tv_sec * SECOND + until->tv_nsec - now();

	return timespec_of(raw(CLOCK_REALTIME) + (left < 0 ? 0 : left < SLICE ? left : SLICE));
}

static int over(const struct timespec *until)
{
	return now() >= (int64_t)until->tv_sec * SECOND + until->tv_nsec;
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict c, pthread_mutex_t *restrict m,
				  const struct timespec *restrict until)
{
	static int (*_Atomic next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	int r;

	if (!next)
		next = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))dlsym(
			RTLD_NEXT, "pthread_cond_timedwait");
	do {
		struct timespec t = look_at(until);

		r = next(c, m, &t);
	} while (r == ETIMEDOUT && !over(until));
	return r;
}

EXPORT int sem_timedwait(sem_t *restrict s, const struct timespec *restrict until)
{
	static int (*_Atomic next)(sem_t *, const struct timespec *);
	int r;

	if (!next)
		next = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
	do {
		struct timespec t = look_at(until);

		r = next(s, &t);
	} while (r && errno == ETIMEDOUT && !over(until));
	return r;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
			   struct timespec *left)
{
	if (clock != CLOCK_REALTIME || flags != TIMER_ABSTIME)
		return syscall(SYS_clock_nanosleep, clock, flags, t, left) ? errno : 0;
	while (!over(t)) {
		struct timespec until = look_at(t);

		if (syscall(SYS_clock_nanosleep, clock, flags, &until, left))
			return errno;
	}
	return 0;
}
