/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/live/log_table.h"

#include "preload/runtime/sandbox.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NUMBERS_MOST = 1 << 20 };

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif

/* Without close_range(): one by one, below the limit that numbers had or have. */
static void close_all(void)
{
	struct rlimit limit = {NUMBERS_MOST, NUMBERS_MOST};
	rlim_t most;

	getrlimit(RLIMIT_NOFILE, &limit);
	most = limit.rlim_max < NUMBERS_MOST ? limit.rlim_max : NUMBERS_MOST;
	for (rlim_t i = 0; i < most; i++)
		close((int)i);
}

/*
 * A table of files of this thread's own, with nothing in it: no number of ours can be taken over by
 * the program, and no file of the program's, or end of a pipe, stays open for our sake. Locks by
 * fcntl() belong to the program's table and stay. close_range() is allowed where unshare() is not,
 * in containers above all.
 */
static bool leave_table(void)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) == 0)
		return true;
#endif
	if (unshare(CLONE_FILES) != 0)
		return false;
	close_all();
	return true;
}

bool gw_log_own_table(void)
{
	bool left;

	if (!gw_sandbox_enter()) {
		errno = EPERM;
		return false;
	}
	left = leave_table();
	gw_sandbox_leave();
	return left;
}
