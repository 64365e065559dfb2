#include "cli/report/line.h"

#include "cli/common/kernel_name.h"
#include "cli/common/memory.h"
#include "cli/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_PART = 16 }; /* columns in which a part that is cut short still says something */

struct report_line report_begin(const char *label, unsigned width)
{
	printf("  %s%-*s%s", gw_ink(stdout, GW_INK_BOLD), REPORT_LABEL - 1, label,
	       gw_ink(stdout, GW_INK_OFF));
	return (struct report_line){.label = label, .width = width};
}

void report_break(struct report_line *line)
{
	if (!line->column)
		return;
	printf("\n  %*s", REPORT_LABEL - 1, "");
	line->column = 0;
}

/* The start of @p text in @p room columns; free() it. */
static char *cut(const char *text, size_t room)
{
	char *fitted = gw_copy(text);

	gw_kernel_names_fit(&fitted, 1, room);
	return fitted;
}

void report_part(struct report_line *line, enum gw_ink ink, const char *format, ...)
{
	char raw[1024], text[1024], *fitted;
	size_t room = line->width - REPORT_LABEL - 3 - line->reserved;
	size_t used = line->column ? line->column + 3 : 0, left = used < room ? room - used : 0;
	va_list args;

	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	gw_printable(text, sizeof(text), raw);
	if (line->brief && line->column && gw_columns(text) > left && left < LEAST_PART)
		return;
	fitted = line->brief ? cut(text, left) : gw_shorten(text, room);
	if (line->column && line->column + 3 + gw_columns(fitted) > room)
		report_break(line);
	if (line->column) {
		printf(" %s ", gw_utf8() ? "·" : "|");
		line->column += 3;
	} else {
		printf(" ");
	}
	printf("%s%s%s", gw_ink(stdout, ink), fitted,
	       *gw_ink(stdout, ink) ? gw_ink(stdout, GW_INK_OFF) : "");
	line->column += gw_columns(fitted);
	free(fitted);
}

void report_finish(struct report_line *line, const char *nothing)
{
	if (!line->column)
		report_part(line, GW_INK_DIM, "%s", nothing);
	putchar('\n');
}

void report_wrapped(const char *text, unsigned width, unsigned indent)
{
	size_t column = indent;
	char word[1024];

	while (*text) {
		size_t length = strcspn(text, " ");

		snprintf(word, sizeof(word), "%.*s", (int)length, text);
		if (column > indent && column + 1 + gw_columns(word) > width) {
			printf("\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		fputs(word, stdout);
		column += gw_columns(word);
		text += length;
		text += strspn(text, " ");
	}
	putchar('\n');
}

void report_sentence(unsigned indent, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("%*s", (int)indent, "");
	report_wrapped(text, gw_width(), indent);
}
