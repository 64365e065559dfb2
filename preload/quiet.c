/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/quiet.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

ssize_t gw_quiet_write(int fd, const void *data, size_t size)
{
	const struct timespec now = {0};
	sigset_t ours, before, pending;
	ssize_t n;
	int saved;

	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGXFSZ);
	/* Both are sent to the thread that writes: those that wait already are not ours. */
	sigpending(&pending);
	if (sigismember(&pending, SIGPIPE))
		sigdelset(&ours, SIGPIPE);
	if (sigismember(&pending, SIGXFSZ))
		sigdelset(&ours, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &ours, &before);
	n = write(fd, data, size);
	saved = errno;
	if (n < 0 && (saved == EPIPE || saved == EFBIG))
		sigtimedwait(&ours, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return n;
}
