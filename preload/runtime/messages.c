#include "preload/runtime/messages.h"

#include "preload/runtime/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* Flags of an open file that its owner may change while it stays the same. */
enum { CHANGING = O_NONBLOCK | O_APPEND | O_ASYNC };

static struct {
	struct stat stat;
	int flags;
	bool open;
} at_start;

__attribute__((constructor)) static void remember(void)
{
	int saved = errno;

	if (!gw_sandboxed() && !getauxval(AT_SECURE)) {
		at_start.flags = fcntl(STDERR_FILENO, F_GETFL);
		at_start.open = at_start.flags >= 0 && !fstat(STDERR_FILENO, &at_start.stat);
	}
	errno = saved;
}

static bool is_the_same(int fd)
{
	const struct stat *then = &at_start.stat;
	struct stat now;
	int flags = fcntl(fd, F_GETFL);

	return at_start.open && flags >= 0 && !((flags ^ at_start.flags) & ~CHANGING) &&
	       !fstat(fd, &now) && now.st_dev == then->st_dev && now.st_ino == then->st_ino &&
	       now.st_rdev == then->st_rdev && (now.st_mode & S_IFMT) == (then->st_mode & S_IFMT);
}

/*
 * Between a look at a number and a write to it another thread may have put another file there. So
 * both are of a duplicate under a number that no open() gives, near the end of the table, and it is
 * held for these few calls only: a pipe's reader waits for the end of all duplicates. Without a
 * free number nothing is said.
 */
static int duplicate(void)
{
	static const int from[] = {1000, 200, 3};
	int fd = -1;

	for (int i = 0; fd < 0 && i < 3; i++)
		fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, from[i]);
	return fd;
}

/* The program waits for nobody who does not read its stderr on our account. */
static bool writable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, 0) == 1 && p.revents == POLLOUT;
}

static void write_all(int fd, const char *text, size_t size)
{
	while (size && writable(fd)) {
		/* A pipe that is writable has room for so much. */
		ssize_t n = write(fd, text, size < PIPE_BUF ? size : PIPE_BUF);

		if (n <= 0)
			return;
		text += n;
		size -= (size_t)n;
	}
}

/* A duplicate of what was stderr at the start, -1 where that is gone. */
static int open_stderr(void)
{
	int fd;

	if (!at_start.open || !gw_sandbox_enter())
		return -1;
	fd = duplicate();
	if (fd >= 0 && is_the_same(fd))
		return fd;
	if (fd >= 0)
		close(fd);
	gw_sandbox_leave();
	return -1;
}

static void close_stderr(int fd)
{
	close(fd);
	gw_sandbox_leave();
}

void gw_message(const char *text, size_t size)
{
	struct gw_blocked_signals quiet;
	int saved = errno, fd = open_stderr();

	if (fd >= 0) {
		gw_block_signals_begin(&quiet);
		write_all(fd, text, size);
		gw_block_signals_end(&quiet);
		close_stderr(fd);
	}
	errno = saved;
}

bool gw_message_terminal(void)
{
	int saved = errno, fd = open_stderr();
	bool terminal = fd >= 0 && isatty(fd);

	if (fd >= 0)
		close_stderr(fd);
	errno = saved;
	return terminal;
}
