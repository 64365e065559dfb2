/* Looking at libraries from a child process, which may crash or hang. */
#include "cli/doctor/doctor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_MS = 20000 };

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Everything the child writes, until it ends; false when it takes too long. */
static bool collect(int fd, char *text, size_t size)
{
	long end = now_ms() + LIMIT_MS, left;
	size_t n = 0;

	while ((left = end - now_ms()) > 0) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		char rest[256];
		ssize_t got;

		if (poll(&p, 1, (int)left) <= 0)
			continue;
		got = n + 1 < size ? read(fd, text + n, size - 1 - n)
				   : read(fd, rest, sizeof(rest));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			text[n] = '\0';
			return true;
		}
		if (n + 1 < size)
			n += (size_t)got;
	}
	text[n] = '\0';
	return false;
}

static pid_t start(int ends[2], void (*function)(int fd, const void *arg), const void *arg)
{
	pid_t child;

	fflush(NULL);
	if (pipe(ends))
		return -1;
	child = fork();
	if (child)
		return child;
	close(ends[0]);
	/* What a driver prints must not get between our lines. */
	dup2(ends[1], 100);
	if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
		_exit(1);
	function(100, arg);
	_exit(0);
}

bool gw_probe(struct gw_probe *probe, void (*function)(int fd, const void *arg), const void *arg)
{
	int ends[2] = {-1, -1}, status = 0;
	pid_t child = start(ends, function, arg);
	bool ended;

	if (child < 0) {
		snprintf(probe->text, sizeof(probe->text), "no child process could be started: %s",
			 strerror(errno));
		return false;
	}
	close(ends[1]);
	ended = collect(ends[0], probe->text, sizeof(probe->text));
	close(ends[0]);
	if (!ended)
		kill(child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	if (!ended)
		snprintf(probe->text, sizeof(probe->text), "no answer within %d s",
			 LIMIT_MS / 1000);
	else if (WIFSIGNALED(status))
		snprintf(probe->text, sizeof(probe->text), "it crashed (%s)",
			 strsignal(WTERMSIG(status)));
	else
		return true;
	return false;
}

bool gw_probe_value(const struct gw_probe *probe, const char *key, unsigned n, char *out,
		    size_t size)
{
	size_t length = strlen(key);

	for (const char *p = probe->text; *p; p += strcspn(p, "\n"), p += *p == '\n')
		if (!strncmp(p, key, length) && p[length] == ' ' && !n--) {
			p += length + 1;
			snprintf(out, size, "%.*s", (int)strcspn(p, "\n"), p);
			return true;
		}
	return false;
}
