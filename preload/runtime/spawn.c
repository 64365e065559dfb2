/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/runtime/spawn.h"

#include "preload/runtime/sandbox.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

struct task {
	const char *name;
	void (*run)(void);
};

static _Atomic unsigned running;

/*
 * A thread's first steps are system calls of libc's (rseq, set_robust_list, an arena of its own at
 * the first free()): until they are done gw_spawn's caller counts as making them.
 */
static void *begin(void *arg)
{
	struct task t = *(struct task *)arg;

	free(arg);
	pthread_setname_np(pthread_self(), t.name);
	gw_sandbox_leave();
	t.run();
	atomic_fetch_sub(&running, 1);
	return NULL;
}

bool gw_spawn(const char *name, void (*run)(void))
{
	struct task *t = malloc(sizeof(*t));
	pthread_t thread;
	sigset_t all, before;
	int failed;

	if (!t || !gw_sandbox_enter()) {
		free(t);
		return false;
	}
	*t = (struct task){name, run};
	atomic_fetch_add(&running, 1);
	/* The program's signals are the program's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&thread, NULL, begin, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed) {
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

void gw_spawn_forget(void)
{
	atomic_store(&running, 0);
}
