#include "cli/agent/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool write_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(fd, text, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		size -= (size_t)n;
	}
	return true;
}

bool agent_textfile(const char *folder, const char *text, size_t size, char *why, size_t room)
{
	char path[4200], part[4200];
	bool good;
	int fd, error;

	snprintf(path, sizeof(path), "%s/" AGENT_TEXTFILE, folder);
	/* Its end is not .prom: the collector leaves it alone. */
	snprintf(part, sizeof(part), "%s/." AGENT_TEXTFILE ".tmp", folder);
	fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	good = fd >= 0 && write_all(fd, text, size) && !fsync(fd);
	error = errno;
	if (fd >= 0 && close(fd) && good) {
		good = false;
		error = errno;
	}
	if (good && rename(part, path)) {
		good = false;
		error = errno;
	}
	if (!good) {
		if (fd >= 0)
			unlink(part);
		snprintf(why, room, "%s: %s", part, strerror(error));
	}
	return good;
}
