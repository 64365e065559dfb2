/* RFC 4180: one row per launch, a line of names first. */
#include "cli/export/export.h"

#include <string.h>

static void begin(struct export *e)
{
	for (unsigned i = 0; i < EXPORT_COLUMNS; i++)
		export_print(e->out, "%s%s", export_names[i],
			     i + 1 < EXPORT_COLUMNS ? "," : "\r\n");
}

/* Quoted always: a name may hold what a reader takes for the end of a row or field. */
static void put_text(struct export_out *out, const char *text)
{
	const char *end;

	export_write(out, "\"", 1);
	while ((end = strchr(text, '"'))) {
		export_write(out, text, (size_t)(end - text));
		export_write(out, "\"\"", 2);
		text = end + 1;
	}
	export_write(out, text, strlen(text));
	export_write(out, "\"", 1);
}

static void put(struct export *e, unsigned column, const struct export_value *value)
{
	if (column)
		export_write(e->out, ",", 1);
	if (!value->known)
		return;
	if (export_kinds[column] == EXPORT_REAL)
		export_real(e->out, value->real);
	else if (export_kinds[column] == EXPORT_TEXT)
		put_text(e->out, value->text);
	else
		export_count(e->out, value->count);
}

static void launch(struct export *e, const struct export_row *row)
{
	struct export_text *text = &row->config->text[0];
	struct export_value values[EXPORT_COLUMNS];
	struct export_mark from;

	export_values(row, values);
	for (unsigned i = 0; i < EXPORT_OF_CONFIG; i++)
		put(e, i, &values[i]);
	from = export_mark(e->out);
	if (text->data) {
		export_write(e->out, text->data, text->length);
	} else {
		for (unsigned i = EXPORT_OF_CONFIG; i < EXPORT_AFTER_CONFIG; i++)
			put(e, i, &values[i]);
		export_keep(e->out, from, text);
	}
	for (unsigned i = EXPORT_AFTER_CONFIG; i < EXPORT_COLUMNS; i++)
		put(e, i, &values[i]);
	export_write(e->out, "\r\n", 2);
}

const struct export_format export_csv = {.begin = begin, .launch = launch};
