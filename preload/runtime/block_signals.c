#include "preload/runtime/messages.h"

#include "preload/runtime/sandbox.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static const int ours[] = {SIGPIPE, SIGXFSZ, SIGTTOU};

enum { OURS = sizeof(ours) / sizeof(*ours) };

void gw_block_signals_begin(struct gw_blocked_signals *quiet)
{
	sigset_t set;

	sigemptyset(&set);
	for (int i = 0; i < OURS; i++)
		sigaddset(&set, ours[i]);
	sigfillset(&quiet->pending);
	if (!gw_sandboxed())
		sigpending(&quiet->pending);
	pthread_sigmask(SIG_BLOCK, &set, &quiet->before);
}

void gw_block_signals_end(const struct gw_blocked_signals *quiet)
{
	const struct timespec now = {0, 0};
	int saved = errno;

	/* What came can't be taken back then: it waits, blocked, for the end of the process. */
	if (gw_sandboxed())
		return;
	for (int i = 0; i < OURS; i++) {
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
