#include "cli/table.h"

#include "cli/common/kernel_name.h"
#include "cli/common/memory.h"
#include "cli/message.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	GAP = 2,            /* spaces between columns */
	ELASTIC_MIN = 40,   /* room in which names read well: other columns leave for it */
	ELASTIC_LEAST = 20, /* and that they always have */
};

struct gw_table {
	struct gw_table_column *columns;
	unsigned count;
	char **cells;
	size_t used, room;
	bool drop_empty;
};

struct gw_table *gw_table_new(const struct gw_table_column *columns, unsigned count)
{
	struct gw_table *t = gw_alloc(sizeof(*t));

	t->columns = gw_alloc(count * sizeof(*columns));
	memcpy(t->columns, columns, count * sizeof(*columns));
	t->count = count;
	return t;
}

void gw_table_free(struct gw_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->used; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table->columns);
	free(table);
}

void gw_table_cell(struct gw_table *table, const char *text)
{
	size_t size = strlen(text) + 1;

	GW_GROW(table->cells, &table->room, table->used + 1);
	table->cells[table->used] = gw_alloc(size);
	gw_printable(table->cells[table->used++], size, text);
}

void gw_table_cellf(struct gw_table *table, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	gw_table_cell(table, text);
}

/* Byte offset of the column-th character of @p text. */
static size_t byte_of(const char *text, size_t column)
{
	size_t i = 0;

	for (; text[i]; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80 && column-- == 0)
			break;
	return i;
}

char *gw_shorten(const char *text, size_t columns)
{
	size_t length = gw_columns(text), size = strlen(text) + 4, head, tail;
	const char *dots = gw_utf8() ? "…" : "..", *end;
	size_t mark = gw_columns(dots);
	char *out = gw_alloc(size);

	if (length <= columns || columns <= mark) {
		size_t bytes = byte_of(text, length <= columns ? length : columns);

		memcpy(out, text, bytes);
		out[bytes] = '\0';
		return out;
	}
	/* The head says more than the tail: namespace and function against parameter types. */
	head = (columns - mark) * 2 / 3;
	tail = columns - mark - head;
	end = text + byte_of(text, length - tail);
	snprintf(out, size, "%.*s%s%s", (int)byte_of(text, head), text, dots, end);
	return out;
}

void gw_table_drop_empty(struct gw_table *table)
{
	table->drop_empty = true;
}

/* Whether column @p c says nothing in any row. */
static bool empty(const struct gw_table *t, unsigned c)
{
	for (size_t i = c; i < t->used; i += t->count)
		if (*t->cells[i] && strcmp(t->cells[i], "-"))
			return false;
	return true;
}

/* The elastic column's cells, cut to @p width: what differs stays different. */
static void fit_names(const struct gw_table *t, unsigned c, size_t width)
{
	size_t rows = t->used / t->count;
	char **names = gw_alloc((rows + 1) * sizeof(*names));

	for (size_t i = 0; i < rows; i++)
		names[i] = t->cells[i * t->count + c];
	gw_kernel_names_fit(names, rows, width);
	for (size_t i = 0; i < rows; i++)
		t->cells[i * t->count + c] = names[i];
	free(names);
}

/* Widths of all columns, the elastic one at its full length. */
static void measure(const struct gw_table *t, size_t *widths)
{
	for (unsigned c = 0; c < t->count; c++)
		widths[c] = gw_columns(t->columns[c].title);
	for (size_t i = 0; i < t->used; i++) {
		size_t n = gw_columns(t->cells[i]);

		if (n > widths[i % t->count])
			widths[i % t->count] = n;
	}
}

/* Take from an elastic column what the row, @p need wide, has beyond @p width. */
static void narrow(size_t *elastic, size_t need, size_t width)
{
	size_t fixed = need - *elastic, left = fixed < width ? width - fixed : 0;

	if (left < *elastic)
		*elastic = left > ELASTIC_LEAST       ? left
			   : *elastic < ELASTIC_LEAST ? *elastic
						      : ELASTIC_LEAST;
}

/* Decide what is shown within @p width; a column that leaves gets shown[c] false. */
static unsigned fit(const struct gw_table *t, size_t *widths, bool *shown, size_t width)
{
	unsigned left = 0;

	for (;;) {
		size_t need = 0, full;
		unsigned elastic = t->count, worst = t->count;

		for (unsigned c = 0; c < t->count; c++) {
			if (!shown[c])
				continue;
			need += (need ? GAP : 0) + widths[c];
			if (t->columns[c].elastic)
				elastic = c;
			if (t->columns[c].priority &&
			    (worst == t->count ||
			     t->columns[c].priority > t->columns[worst].priority))
				worst = c;
		}
		if (need <= width)
			return left;
		if (elastic < t->count) {
			const bool last = worst == t->count || t->columns[worst].priority < 0;
			const size_t least = last ? ELASTIC_LEAST : ELASTIC_MIN;

			full = widths[elastic];
			if (full > least && need - full + least <= width) {
				widths[elastic] = width - (need - full);
				return left;
			}
		}
		if (worst == t->count || (elastic == t->count && t->columns[worst].priority < 0)) {
			if (elastic < t->count)
				narrow(&widths[elastic], need, width);
			return left;
		}
		shown[worst] = false;
		left++;
	}
}

static void print_cell(FILE *out, const char *text, size_t width, bool right, bool last)
{
	char *fitted = gw_shorten(text, width);
	int pad = (int)(width - gw_columns(fitted));

	if (right)
		fprintf(out, "%*s%s", pad, "", fitted);
	else
		fprintf(out, "%s%*s", fitted, last ? 0 : pad, "");
	free(fitted);
}

unsigned gw_table_print(const struct gw_table *table, FILE *out, unsigned width, unsigned indent)
{
	size_t *widths = gw_alloc(table->count * sizeof(*widths));
	bool *shown = gw_alloc(table->count * sizeof(*shown));
	unsigned left, last = 0;

	measure(table, widths);
	for (unsigned c = 0; c < table->count; c++)
		shown[c] = !(table->drop_empty && empty(table, c));
	left = fit(table, widths, shown, width ? width - indent : SIZE_MAX);
	for (unsigned c = 0; c < table->count; c++)
		if (table->columns[c].elastic)
			fit_names(table, c, widths[c]);
	for (unsigned c = 0; c < table->count; c++)
		if (shown[c])
			last = c;
	for (size_t row = 0; row <= table->used / table->count; row++) {
		bool first = true;

		fprintf(out, "%*s%s", (int)indent, "", row ? "" : gw_ink(out, GW_INK_BOLD));
		for (unsigned c = 0; c < table->count; c++) {
			if (!shown[c])
				continue;
			fprintf(out, "%*s", first ? 0 : GAP, "");
			print_cell(out,
				   row ? table->cells[(row - 1) * table->count + c]
				       : table->columns[c].title,
				   widths[c], table->columns[c].right, c == last);
			first = false;
		}
		fprintf(out, "%s\n", row ? "" : gw_ink(out, GW_INK_OFF));
	}
	free(widths);
	free(shown);
	return left;
}

void gw_table_show(struct gw_table *table, unsigned indent)
{
	gw_table_print(table, stdout, gw_width(), indent);
	gw_table_free(table);
}
