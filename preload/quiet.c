/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/quiet.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static const int ours[] = {SIGPIPE, SIGXFSZ};

void gw_quiet_begin(struct gw_quiet *quiet)
{
	sigset_t set;

	sigemptyset(&set);
	for (int i = 0; i < 2; i++)
		sigaddset(&set, ours[i]);
	sigpending(&quiet->pending);
	pthread_sigmask(SIG_BLOCK, &set, &quiet->before);
}

void gw_quiet_end(const struct gw_quiet *quiet)
{
	const struct timespec now = {0, 0};
	int saved = errno;

	for (int i = 0; i < 2; i++) {
		sigset_t one;

		if (sigismember(&quiet->pending, ours[i]))
			continue;
		sigemptyset(&one);
		sigaddset(&one, ours[i]);
		while (sigtimedwait(&one, NULL, &now) < 0 && errno == EINTR)
			;
	}
	pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
	errno = saved;
}
