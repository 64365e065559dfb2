#include "preload/runtime/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic pid_t process;
static _Atomic int injected, exit_watched;
static pthread_t main_thread; /* whose exit() is noticed */

static void note(void)
{
	atomic_store(&process, getpid());
}

/* Only the forking thread is left, and it may be another one. */
static void in_child(void)
{
	note();
	if (!pthread_equal(main_thread, pthread_self()))
		atomic_store(&exit_watched, 0);
}

__attribute__((constructor)) static void watch(void)
{
	note();
	pthread_atfork(NULL, NULL, in_child);
}

bool gw_process_ours(void)
{
	return atomic_load(&process) == getpid();
}

void gw_process_exit_watched(void)
{
	main_thread = pthread_self();
	atomic_store(&exit_watched, 1);
}

bool gw_exit_watched(void)
{
	return atomic_load(&exit_watched) != 0;
}

void gw_injection_begin(void)
{
	atomic_store(&injected, 1);
}

bool gw_injection_active(void)
{
	/* Pairs with the store in gw_injection_begin(). */
	return atomic_load_explicit(&injected, memory_order_acquire) != 0;
}
