/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/runtime/small_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

size_t gw_small_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	n = n > 0 ? n : 0;
	text[n] = 0;
	return (size_t)n;
}

const char *gw_stat_field(const char *stat, unsigned number)
{
	const char *at = strrchr(stat, ')');

	for (unsigned field = 2; at && field < number; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at;
}
