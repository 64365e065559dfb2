#include "preload/runtime/spawn.h"

#include "preload/runtime/arch/arch.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/own_files.h"
#include "preload/runtime/sandbox.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct task {
	const char *name;
	void (*run)(void);
};

enum { CLOCKS = 16 };

static _Atomic unsigned running;
static _Atomic uint64_t ended_ns; /* CPU time of threads that have ended */

/* CPU clocks of those that run, which are never 0: that is a free place. One that finds none is not
 * counted. */
static _Atomic clockid_t clocks[CLOCKS];

static int clock_in(void)
{
	clockid_t own;

	if (pthread_getcpuclockid(pthread_self(), &own))
		return -1;
	for (int i = 0; i < CLOCKS; i++) {
		clockid_t none = 0;

		if (atomic_compare_exchange_strong(&clocks[i], &none, own))
			return i;
	}
	return -1;
}

/* A thread that sees the sum finds no clock: gw_spawned_cpu_ns() reads it first. */
static void clock_out(int i)
{
	uint64_t ns = gw_thread_cpu_ns();

	if (i < 0)
		return;
	atomic_store(&clocks[i], 0);
	atomic_fetch_add(&ended_ns, ns);
}

/* What a thread inherits of the program's that made it, and what is not for our work: traps of
 * floating-point arithmetic, which knows NaN here, and the priority of real time. */
static void leave_inherited(void)
{
	const struct sched_param none = {0};
	const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	gw_float_defaults();
	if (policy == SCHED_FIFO || policy == SCHED_RR)
		sched_setscheduler(0, SCHED_OTHER, &none);
}

/*
 * A thread's first steps are system calls of libc's (rseq, set_robust_list, an arena of its own at
 * the first free()): until they are done gw_spawn's caller counts as making them.
 */
static void *begin(void *arg)
{
	struct task t = *(struct task *)arg;
	int own = clock_in();

	free(arg);
	pthread_setname_np(pthread_self(), t.name);
	leave_inherited();
	gw_sandbox_leave();
	t.run();
	clock_out(own);
	atomic_fetch_sub(&running, 1);
	return NULL;
}

bool gw_spawn(const char *name, void (*run)(void))
{
	struct task *t = malloc(sizeof(*t));
	pthread_t thread;

	if (!t || !gw_sandbox_enter()) {
		free(t);
		return false;
	}
	*t = (struct task){name, run};
	atomic_fetch_add(&running, 1);
	if (!gw_thread_make(&thread, begin, t)) {
		gw_sandbox_leave();
		atomic_fetch_sub(&running, 1);
		free(t);
		return false;
	}
	pthread_detach(thread);
	return true;
}

/* Both calls mean the calling thread alone. */
void gw_lower_priority(void)
{
	const struct sched_param none = {0};

	if (!gw_sandbox_enter())
		return;
	if (sched_setscheduler(0, SCHED_IDLE, &none))
		(void)!setpriority(PRIO_PROCESS, (id_t)gettid(), 19);
	gw_sandbox_leave();
}

unsigned gw_spawned(void)
{
	return atomic_load(&running);
}

/* What has ended first: a thread that ends meanwhile is missing once, and never counts twice. */
uint64_t gw_spawned_cpu_ns(void)
{
	uint64_t sum = atomic_load(&ended_ns);
	struct timespec t;

	for (int i = 0; i < CLOCKS; i++) {
		const clockid_t clock = atomic_load(&clocks[i]);

		if (clock && !clock_gettime(clock, &t))
			sum += (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
	}
	return sum;
}

void gw_spawn_forget(void)
{
	atomic_store(&running, 0);
	atomic_store(&ended_ns, 0);
	for (int i = 0; i < CLOCKS; i++)
		atomic_store(&clocks[i], 0);
}
