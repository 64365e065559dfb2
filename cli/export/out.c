/* SPDX-License-Identifier: Apache-2.0 */
/* Where an export goes: whole or not at all. */
#include "cli/common/memory.h"
#include "cli/common/utf8.h"
#include "cli/export/export.h"
#include "cli/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool unwritable(const char *path, int error)
{
	gw_error("%s: can't be written: %s%s", path, strerror(error), gw_open_remedy(error));
	return false;
}

/* A new file beside @p path with the rights that open() would give it. */
static bool open_temporary(struct export_out *out)
{
	size_t size = strlen(out->path) + 8;
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	out->temporary = gw_alloc(size);
	snprintf(out->temporary, size, "%s.XXXXXX", out->path);
	fd = mkstemp(out->temporary);
	if (fd < 0)
		return unwritable(out->path, errno);
	if (fchmod(fd, 0666 & ~mask))
		errno = 0; /* a file system without rights */
	out->file = fdopen(fd, "wb");
	if (out->file)
		return true;
	close(fd);
	unlink(out->temporary);
	return unwritable(out->path, errno);
}

bool export_open(struct export_out *out, const char *path)
{
	struct stat status;
	bool there;

	*out = (struct export_out){.path = path};
	if (!strcmp(path, "-")) {
		out->path = "standard output";
		out->file = stdout;
		return true;
	}
	there = !stat(path, &status);
	if (there && S_ISDIR(status.st_mode))
		return unwritable(path, EISDIR);
	if (!there || S_ISREG(status.st_mode)) {
		if (open_temporary(out))
			return true;
		free(out->temporary);
		return false;
	}
	out->file = fopen(path, "wb");
	return out->file || unwritable(path, errno);
}

void export_write(struct export_out *out, const void *data, size_t size)
{
	if (size && !out->error && fwrite_unlocked(data, 1, size, out->file) != size)
		out->error = errno ? errno : EIO;
}

void export_print(struct export_out *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!out->error && vfprintf(out->file, format, args) < 0)
		out->error = errno ? errno : EIO;
	va_end(args);
}

bool export_close(struct export_out *out, bool good)
{
	int error = out->error;

	if (out->file == stdout) {
		if (fflush(stdout) && !error)
			error = errno;
		if (error)
			clearerr(stdout); /* said once, here */
	} else if (fclose(out->file) && !error) {
		error = errno;
	}
	good = good && !error;
	if (out->temporary && good && rename(out->temporary, out->path)) {
		error = errno;
		good = false;
	}
	if (out->temporary && !good)
		unlink(out->temporary);
	free(out->temporary);
	return error ? unwritable(out->path, error) : good;
}

void export_json_text(struct export_out *out, const char *text)
{
	char *utf8 = gw_to_utf8(text);

	export_write(out, "\"", 1);
	for (const char *s = utf8; *s; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			export_print(out, "\\u%04x", (unsigned)*s);
		else if (*s == '"' || *s == '\\')
			export_print(out, "\\%c", *s);
		else
			export_write(out, s, 1);
	}
	export_write(out, "\"", 1);
	free(utf8);
}
