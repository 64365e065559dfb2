#include "cli/message.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool colour_out, colour_err, utf8;

void gw_message_init(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool allowed = !(no_color && *no_color) && !(term && !strcmp(term, "dumb"));

	/* LC_CTYPE alone: numbers keep their point, whatever the locale. */
	setlocale(LC_CTYPE, "");
	utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	colour_out = allowed && isatty(STDOUT_FILENO);
	colour_err = allowed && isatty(STDERR_FILENO);
}

static void say(const char *kind, enum gw_ink ink, const char *format, va_list args)
{
	/* One buffer and one write: a message stays whole beside those of other processes. */
	char text[2048], clean[sizeof(text)], line[2200];
	int length;

	vsnprintf(text, sizeof(text), format, args);
	length = snprintf(line, sizeof(line), "%sgpuwatch:%s %s%s\n", gw_ink(stderr, ink),
			  gw_ink(stderr, GW_INK_OFF), kind,
			  gw_printable(clean, sizeof(clean), text));
	fflush(stdout);
	fwrite(line, 1, (size_t)length, stderr);
}

int gw_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("", GW_INK_BAD, format, args);
	va_end(args);
	return 2;
}

const char *gw_open_remedy(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		return "; check its name";
	case EACCES:
	case EPERM:
		return "; read it as its owner, or have its owner allow it";
	default:
		return "";
	}
}

void gw_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("", GW_INK_DIM, format, args);
	va_end(args);
}

void gw_warning(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("warning: ", GW_INK_WARN, format, args);
	va_end(args);
}

const char *gw_ink(FILE *stream, enum gw_ink ink)
{
	static const char *const codes[] = {"\033[0m",  "\033[1m",  "\033[2m",
					    "\033[32m", "\033[33m", "\033[31m"};

	return (stream == stdout ? colour_out : stream == stderr && colour_err) ? codes[ink] : "";
}

unsigned gw_width(void)
{
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	long width = 120;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		width = size.ws_col;
	else if (columns && strtol(columns, NULL, 10) > 0)
		width = strtol(columns, NULL, 10);
	return width < 60 ? 60 : width > 10000 ? 10000 : (unsigned)width;
}

bool gw_utf8(void)
{
	return utf8;
}

/*
 * Whether the three bytes at @p s are a line or paragraph separator or a mark that turns the
 * direction of what follows: text that holds one does not read as it is stored.
 */
static bool turns(const unsigned char *s)
{
	unsigned code = (unsigned)((s[0] & 0x0f) << 12 | (s[1] & 0x3f) << 6 | (s[2] & 0x3f));

	return code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

/* Bytes of the well-formed UTF-8 character at @p s that may be printed; 0 when there is none. */
static size_t character(const unsigned char *s)
{
	size_t length = *s < 0x80                 ? 1
			: *s >= 0xc2 && *s < 0xe0 ? 2
			: *s >= 0xe0 && *s < 0xf0 ? 3
			: *s >= 0xf0 && *s < 0xf5 ? 4
						  : 0;

	if (length == 1)
		return *s >= 0x20 && *s != 0x7f;
	for (size_t i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* C1 control characters, overlong forms, surrogates, beyond Unicode */
	if (length == 2 && *s == 0xc2 && s[1] < 0xa0)
		return 0;
	if (length == 3 && turns(s))
		return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
	    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

char *gw_printable(char *out, size_t size, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n = 0;

	while (*s && n + 1 < size) {
		size_t length = character(s);

		if (n + length + 1 > size)
			break;
		if (length)
			memcpy(out + n, s, length);
		else
			out[n] = '?';
		n += length ? length : 1;
		s += length ? length : 1;
	}
	out[n] = '\0';
	return out;
}

size_t gw_columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}
