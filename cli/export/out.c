/* Where an export goes: whole or not at all. */
#include "cli/common/memory.h"
#include "cli/common/utf8.h"
#include "cli/export/export.h"
#include "cli/message.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool unwritable(const char *path, int error)
{
	bool denied = error == EACCES || error == EPERM || error == EROFS;

	gw_error("%s: can't be written: %s%s", path, strerror(error),
		 denied ? "; name a place that you may write" : gw_open_remedy(error));
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

static void write_now(struct export_out *out, const void *data, size_t size)
{
	if (size && !out->error && fwrite_unlocked(data, 1, size, out->file) != size)
		out->error = errno ? errno : EIO;
}

static void empty_buffer(struct export_out *out)
{
	write_now(out, out->buffer, out->used);
	out->used = 0;
	out->emptied++;
}

struct export_mark export_mark(const struct export_out *out)
{
	return (struct export_mark){out->used, out->emptied};
}

void export_keep(const struct export_out *out, struct export_mark from, struct export_text *text)
{
	if (from.emptied != out->emptied || from.used == out->used)
		return;
	text->length = out->used - from.used;
	text->data = gw_alloc(text->length);
	memcpy(text->data, out->buffer + from.used, text->length);
}

void export_write(struct export_out *out, const void *data, size_t size)
{
	if (!out->buffer)
		out->buffer = gw_alloc(EXPORT_BUFFER);
	if (size > EXPORT_BUFFER - out->used)
		empty_buffer(out);
	if (size > EXPORT_BUFFER) {
		write_now(out, data, size);
		return;
	}
	memcpy(out->buffer + out->used, data, size);
	out->used += size;
}

void export_string(struct export_out *out, const char *text)
{
	export_write(out, text, strlen(text));
}

void export_count(struct export_out *out, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	export_write(out, digits + at, sizeof(digits) - at);
}

/*
 * Nine significant digits of a float from 1 up to 10^9, as one number, and how many of them stand
 * behind the point. Its 24 bits times a power of ten below 2^30 are exact in 64, so what is cut off
 * says which way to round; half goes to the even digit, as in printf.
 */
static uint64_t nine_digits(float number, unsigned *behind)
{
	int exponent;
	uint64_t bits = (uint64_t)ldexp(frexp((double)number, &exponent), 24), power = 1, half,
		 rest;
	unsigned shift;

	*behind = 8;
	for (double tens = 10; number >= tens && *behind; tens *= 10)
		--*behind;
	for (unsigned i = 0; i < *behind; i++)
		power *= 10;
	bits *= power;
	if (exponent >= 24)
		return bits << (exponent - 24);
	shift = (unsigned)(24 - exponent);
	half = UINT64_C(1) << (shift - 1);
	rest = bits & (2 * half - 1);
	bits >>= shift;
	return bits + (rest > half || (rest == half && (bits & 1)));
}

void export_real(struct export_out *out, double number)
{
	char text[32];
	size_t at = sizeof(text);
	unsigned behind;
	uint64_t digits;

	if (!(number >= 1 && number < 999999999) || (double)(float)number != number) {
		export_write(out, text, (size_t)snprintf(text, sizeof(text), "%.9g", number));
		return;
	}
	digits = nine_digits((float)number, &behind);
	for (; behind && digits % 10 == 0; behind--)
		digits /= 10;
	for (; behind; behind--, digits /= 10) {
		text[--at] = (char)('0' + digits % 10);
		if (behind == 1)
			text[--at] = '.';
	}
	do
		text[--at] = (char)('0' + digits % 10);
	while (digits /= 10);
	export_write(out, text + at, sizeof(text) - at);
}

void export_print(struct export_out *out, const char *format, ...)
{
	char room[512], *text = room;
	va_list args, again;
	int length;

	va_start(args, format);
	va_copy(again, args);
	length = vsnprintf(room, sizeof(room), format, args);
	if (length >= (int)sizeof(room)) {
		text = gw_alloc((size_t)length + 1);
		vsnprintf(text, (size_t)length + 1, format, again);
	}
	if (length > 0)
		export_write(out, text, (size_t)length);
	if (text != room)
		free(text);
	va_end(again);
	va_end(args);
}

bool export_close(struct export_out *out, bool good)
{
	int error;

	empty_buffer(out);
	free(out->buffer);
	error = out->error;
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
		if ((unsigned char)*s < 0x20 || *s == 0x7f) {
			export_print(out, "\\u%04x", (unsigned)*s);
			continue;
		}
		if (*s == '"' || *s == '\\')
			export_write(out, "\\", 1);
		export_write(out, s, 1);
	}
	export_write(out, "\"", 1);
	free(utf8);
}
