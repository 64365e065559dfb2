/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/runtime/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic pid_t process;
static _Atomic int injected;

static void note(void)
{
	atomic_store(&process, getpid());
}

__attribute__((constructor)) static void watch(void)
{
	note();
	pthread_atfork(NULL, NULL, note);
}

bool gw_process_ours(void)
{
	return atomic_load(&process) == getpid();
}

void gw_injection_begin(void)
{
	atomic_store(&injected, 1);
}

bool gw_injection_active(void)
{
	return atomic_load_explicit(&injected, memory_order_acquire) != 0;
}
