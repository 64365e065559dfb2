#include "preload/runtime/sandbox.h"

#include "preload/runtime/process.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

enum { WAIT_MS = 5000 }; /* how long the program waits at most for calls that are under way */

static _Atomic int sandboxed;
static _Atomic int inside; /* threads that make other calls than those of sandbox.def */

bool gw_sandboxed(void)
{
	return atomic_load_explicit(&sandboxed, memory_order_relaxed) != 0;
}

void gw_sandbox_from_start(void)
{
	atomic_store_explicit(&sandboxed, 1, memory_order_relaxed);
}

/* Both sides say first what they do, then look for the other. */
bool gw_sandbox_enter(void)
{
	if (gw_sandboxed())
		return false;
	atomic_fetch_add(&inside, 1);
	if (!atomic_load(&sandboxed))
		return true;
	atomic_fetch_sub(&inside, 1);
	return false;
}

void gw_sandbox_leave(void)
{
	atomic_fetch_sub(&inside, 1);
}

/* Of a forked child's threads none is inside. */
static void forked(void)
{
	atomic_store(&inside, 0);
}

__attribute__((constructor)) static void at_load(void)
{
	pthread_atfork(NULL, NULL, forked);
}

static void begin(void)
{
	const struct timespec pause = {0, 100000};
	int saved = errno;

	/* In a child of vfork() this is the parent's memory, and the sandbox is not for the parent.
	 */
	if (gw_sandboxed() || !gw_process_ours())
		return;
	atomic_store(&sandboxed, 1);
	for (int i = 0; i < WAIT_MS * 10 && atomic_load(&inside) > 0; i++)
		nanosleep(&pause, NULL);
	errno = saved;
}

static int by_first(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

void gw_sandbox_prepare(void)
{
	char items[64][32] = {{0}};

	/* The first time that more than 1 KiB is sorted libc asks how much memory there is. */
	qsort(items, sizeof(items) / sizeof(*items), sizeof(*items), by_first);
}

/* Without a filter it is a question: is there seccomp? */
void gw_sandbox_prctl(int option, unsigned long mode, unsigned long filter)
{
	/* An unprivileged process must say PR_SET_NO_NEW_PRIVS first, and may then use any way. */
	if (option == PR_SET_NO_NEW_PRIVS ||
	    (option == PR_SET_SECCOMP && (mode == SECCOMP_MODE_STRICT || filter)))
		begin();
}

void gw_sandbox_seccomp(unsigned operation, const void *filter)
{
	if (operation == SECCOMP_SET_MODE_STRICT ||
	    (operation == SECCOMP_SET_MODE_FILTER && filter))
		begin();
}
