/* SPDX-License-Identifier: Apache-2.0 */
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

static void put_count(struct export_out *out, uint64_t count)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + count % 10);
	while (count /= 10);
	export_write(out, digits + at, sizeof(digits) - at);
}

static void launch(struct export *e, const struct export_row *row)
{
	struct export_value values[EXPORT_COLUMNS];

	export_values(row, values);
	for (unsigned i = 0; i < EXPORT_COLUMNS; i++) {
		if (i)
			export_write(e->out, ",", 1);
		if (!values[i].known)
			continue;
		if (export_kinds[i] == EXPORT_COUNT || export_kinds[i] == EXPORT_TIME)
			put_count(e->out, values[i].count);
		else if (export_kinds[i] == EXPORT_REAL)
			export_print(e->out, "%.9g", values[i].real);
		else
			put_text(e->out, values[i].text);
	}
	export_write(e->out, "\r\n", 2);
}

const struct export_format export_csv = {.begin = begin, .launch = launch};
