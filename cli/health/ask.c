#include "cli/health/verdict.h"

#include "cli/common/memory.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_MOST = 4 << 20 };

/* A socket whose calls, connect() too, take @p seconds at most each. */
static int timed_socket(int family, unsigned seconds)
{
	const struct timeval limit = {.tv_sec = (time_t)seconds};
	const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	}
	return fd;
}

static int connect_unix(const char *path, unsigned seconds)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = timed_socket(AF_UNIX, seconds);
	strcpy(a.sun_path, path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		const int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

static int connect_to(const char *where, unsigned seconds)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
	const char *port = strrchr(where, ':');
	struct addrinfo *found;
	char address[256];
	int fd, error;

	if (!strncmp(where, "unix:", 5))
		return connect_unix(where + 5, seconds);
	errno = EINVAL;
	if (!port)
		return -1;
	snprintf(address, sizeof(address), "%.*s", (int)(port - where), where);
	if (*address == '[' && address[strlen(address) - 1] == ']') {
		address[strlen(address) - 1] = 0;
		memmove(address, address + 1, strlen(address));
	}
	if (getaddrinfo(address, port + 1, &hints, &found)) {
		errno = EINVAL;
		return -1;
	}
	fd = timed_socket(found->ai_family, seconds);
	error = fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) ? errno : 0;
	freeaddrinfo(found);
	if (error && fd >= 0)
		close(fd);
	errno = error;
	return error ? -1 : fd;
}

static bool send_all(int fd, const char *text, size_t size)
{
	while (size) {
		const ssize_t n = send(fd, text, size, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		text += n;
		size -= (size_t)n;
	}
	return true;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* All until the end, which comes before @p deadline, however little comes at a time. */
static char *receive(int fd, double deadline)
{
	size_t room = 0, got = 0;
	char *text = gw_grow(NULL, &room, 4096, 1);
	ssize_t n;

	while ((n = recv(fd, text + got, room - got - 1, 0)) > 0 && got + (size_t)n < ANSWER_MOST &&
	       now() < deadline) {
		got += (size_t)n;
		if (room - got < 2048)
			text = gw_grow(text, &room, 2 * room, 1);
	}
	text[got] = 0;
	if (!n)
		return text;
	free(text);
	return NULL;
}

/* The body of @p text, an answer, at its begin. */
static bool take_body(char *text, char *why, size_t room)
{
	char *body = strstr(text, "\r\n\r\n");
	unsigned status = 0;

	if (!body || sscanf(text, "HTTP/1.%*1[01] %3u", &status) != 1) {
		snprintf(why, room, "what answers there is no agent of gpuwatch");
		return false;
	}
	if (status == 200) {
		memmove(text, body + 4, strlen(body + 4) + 1);
		return true;
	}
	if (status == 401)
		snprintf(why, room, "it wants a token: --token-file names it");
	else
		snprintf(why, room, "it answers with status %u", status);
	return false;
}

char *health_ask(const char *where, const char *path, const char *token, unsigned seconds,
		 char *why, size_t room)
{
	const double deadline = now() + seconds;
	char request[2048], *text = NULL;
	int fd = connect_to(where, seconds), length;

	if (fd < 0) {
		snprintf(why, room, "%s", strerror(errno));
		return NULL;
	}
	length = snprintf(request, sizeof(request),
			  "GET %s HTTP/1.0\r\nHost: localhost\r\nAccept: application/json\r\n%s%s%s"
			  "\r\n",
			  path, token ? "Authorization: Bearer " : "", token ? token : "",
			  token ? "\r\n" : "");
	if (length < (int)sizeof(request) && send_all(fd, request, (size_t)length))
		text = receive(fd, deadline);
	if (!text)
		snprintf(why, room, "it does not answer within %u s", seconds);
	close(fd);
	if (text && !take_body(text, why, room)) {
		free(text);
		text = NULL;
	}
	return text;
}
