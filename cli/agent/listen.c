#include "cli/agent/http.h"

#include "cli/message.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3, BACKLOG = 64 }; /* the former by systemd's protocol */

bool agent_activated(void)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");

	return pid && fds && strtol(pid, NULL, 10) == (long)getpid() && strtol(fds, NULL, 10) >= 1;
}

static int handed_over(bool *local)
{
	struct sockaddr_storage a;
	socklen_t size = sizeof(a);

	if (getsockname(FIRST_FD, (struct sockaddr *)&a, &size)) {
		gw_error("agent: LISTEN_FDS is set, and descriptor 3 is no socket: %s; start the "
			 "agent by its socket unit, or unset LISTEN_FDS",
			 strerror(errno));
		return -1;
	}
	/* The unit chose the address. */
	*local = true;
	fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC);
	return FIRST_FD;
}

static int fails(int fd, const char *where, int error)
{
	gw_error("agent: --listen=%s: %s%s", where, strerror(error),
		 error == EADDRINUSE      ? "; another process, perhaps another agent, has it"
		 : error == EADDRNOTAVAIL ? "; name an address of this machine"
		 : error == EACCES
			 ? "; name a port from 1024 on, or a path in a folder that you may write in"
			 : gw_open_remedy(error));
	if (fd >= 0)
		close(fd);
	return -1;
}

static int listen_unix(const char *where, const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct stat st;
	mode_t mask;
	int fd, error;

	if (strlen(path) >= sizeof(a.sun_path))
		return fails(-1, where, ENAMETOOLONG);
	strcpy(a.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fails(fd, where, errno);
	/* One that nobody listens on any more is of an agent that was killed. */
	if (!lstat(path, &st) && S_ISSOCK(st.st_mode) &&
	    connect(fd, (struct sockaddr *)&a, sizeof(a)) && errno == ECONNREFUSED)
		unlink(path);
	close(fd);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	mask = umask(0117); /* rw-rw----: the group decides who reads */
	error = fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, BACKLOG) ? errno
											    : 0;
	umask(mask);
	return error ? fails(fd, where, error) : fd;
}

static bool loopback(const struct addrinfo *a)
{
	static const unsigned char six[16] = {[15] = 1};

	if (a->ai_family == AF_INET)
		return ((const unsigned char *)a->ai_addr)[4] == 127;
	return a->ai_family == AF_INET6 && !memcmp((const unsigned char *)a->ai_addr + 8, six, 16);
}

static int listen_at(const struct addrinfo *a, const char *where)
{
	const int on = 1;
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fails(fd, where, errno);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, BACKLOG))
		return fails(fd, where, errno);
	return fd;
}

/* NULL after a message. */
static struct addrinfo *address_of(const char *where)
{
	const struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
				       .ai_socktype = SOCK_STREAM};
	char address[128] = "";
	const char *port = strrchr(where, ':');
	const size_t length = port ? (size_t)(port - where) : 0;
	struct addrinfo *found;

	if (length >= 2 && where[0] == '[' && where[length - 1] == ']')
		snprintf(address, sizeof(address), "%.*s", (int)length - 2, where + 1);
	else
		snprintf(address, sizeof(address), "%.*s", (int)length, where);
	/* getaddrinfo() takes a port modulo 65,536. */
	if (port && *address && strlen(port + 1) <= 5 && atoi(port + 1) <= UINT16_MAX &&
	    !getaddrinfo(address, port + 1, &hints, &found))
		return found;
	gw_error("agent: --listen=%s: must be a number such as 127.0.0.1:9464 or [::1]:9464, "
		 "unix:PATH, or none",
		 where);
	return NULL;
}

static bool is_unix(const char *where)
{
	return !strncmp(where, "unix:", 5) && where[5];
}

bool agent_listen_good(const char *where)
{
	struct addrinfo *found;

	if (!strcmp(where, "none") || is_unix(where))
		return true;
	found = address_of(where);
	if (found)
		freeaddrinfo(found);
	return found;
}

int agent_listen(const char *where, bool *local)
{
	struct addrinfo *found;
	int fd;

	if (agent_activated())
		return handed_over(local);
	*local = true;
	if (is_unix(where))
		return listen_unix(where, where + 5);
	found = address_of(where);
	if (!found)
		return -1;
	*local = loopback(found);
	fd = listen_at(found, where);
	freeaddrinfo(found);
	return fd;
}

void agent_listen_end(const char *where)
{
	if (!agent_activated() && is_unix(where))
		unlink(where + 5);
}
