/* The report for people. */
#include "cli/common/number.h"
#include "cli/log/rows.h"
#include "cli/message.h"
#include "cli/report/sections.h"
#include "cli/report/line.h"
#include "cli/report/report.h"
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Medians of a prediction and of the time are of different launches beyond this and twice the
 * error. */
static const double SAME_LAUNCHES = 0.05;

static const char *number(const struct gw_column_info *info, double value, struct gw_text *text)
{
	switch (info->kind) {
	case GW_KIND_TIME:
		gw_duration(text, value);
		/* Seconds have a letter less: the digits line up with those of other units. */
		if (value >= 0.9995e9)
			strcat(text->s, " ");
		return text->s;
	case GW_KIND_SHARE:
		return gw_percent(text, value);
	default:
		return gw_thousands(text, value);
	}
}

/*
 * In a row of launches that differ, the median prediction and the median time may be of different
 * ones: side by side they would look like an error that no launch has.
 */
static bool mixed(const struct gw_report_line *line)
{
	const double *v = line->value;

	return fabs(v[GW_COLUMN_predicted] / v[GW_COLUMN_med] - 1) >
	       SAME_LAUNCHES + 2 * v[GW_COLUMN_error];
}

static const char *cell(const struct gw_report *report, const struct gw_report_line *line,
			unsigned c, char *buffer, size_t size, struct gw_text *text)
{
	const struct gw_column_info *info = &gw_columns_info[c];

	if (info->kind == GW_KIND_TEXT)
		return gw_report_cell(report, line, c, buffer, size);
	if (c == GW_COLUMN_peak && line->value[c] > 1)
		return ">100%"; /* no share: that peak is too low */
	if (c == GW_COLUMN_predicted && mixed(line))
		return "mixed";
	if (c == GW_COLUMN_predicted && isnan(line->value[c]) &&
	    !isnan(line->value[GW_COLUMN_at_least])) {
		snprintf(buffer, size, "%s%s", gw_utf8() ? "≥" : ">=",
			 number(info, line->value[GW_COLUMN_at_least], text));
		return buffer;
	}
	return number(info, line->value[c], text);
}

static bool text_column(const struct gw_report *report, unsigned c)
{
	return *gw_columns_info[c].title && c != GW_COLUMN_name && gw_report_has(report, c);
}

static struct gw_table *build(const struct gw_report *report)
{
	struct gw_table_column columns[GW_COLUMNS + 3];
	struct gw_table *table;
	unsigned count = 0;

	columns[count++] = (struct gw_table_column){"#", true, false, 0};
	for (unsigned c = 0; c < GW_COLUMNS; c++)
		if (text_column(report, c))
			columns[count++] = (struct gw_table_column){
				gw_columns_info[c].title, gw_columns_info[c].kind != GW_KIND_TEXT,
				false, gw_columns_info[c].priority};
	columns[count++] = (struct gw_table_column){"", false, false, 2};
	columns[count++] = (struct gw_table_column){"Name", false, !report->full_names, 0};
	table = gw_table_new(columns, count);
	gw_table_drop_empty(table);
	for (size_t i = 0; i < report->count; i++) {
		const struct gw_report_line *line = &report->lines[i];
		char buffer[160];
		struct gw_text text;

		gw_table_cell(table, gw_thousands(&text, (double)(i + 1)));
		for (unsigned c = 0; c < GW_COLUMNS; c++)
			if (text_column(report, c))
				gw_table_cell(table,
					      cell(report, line, c, buffer, sizeof(buffer), &text));
		gw_table_cell(table, gw_report_flags(line->row, true, buffer, sizeof(buffer)));
		gw_table_cell(table, report->names[line->row->name]);
	}
	return table;
}

/* The meaning of the flags that occur. */
static void legend(const struct gw_report *report, unsigned width)
{
	struct report_line line = {.label = "", .width = width};
	bool any = false;

#define FLAG(name, letter, condition, meaning) \
	for (size_t i = 0; i < report->count; i++) { \
		const struct gw_row *row = report->lines[i].row; \
		if (!(condition)) \
			continue; \
		if (!any) { \
			putchar('\n'); \
			line = report_begin("Flags", width); \
		} \
		any = true; \
		report_part(&line, GW_INK_DIM, letter " " meaning); \
		break; \
	}
#include "cli/report/flags.def"
#undef FLAG
	if (any)
		putchar('\n');
}

static void rows(struct gw_report *report, unsigned width)
{
	struct gw_table *table = build(report);
	unsigned left = gw_table_print(table, stdout, report->wide ? 0 : width, 2);
	struct gw_text n;

	gw_table_free(table);
	gw_report_graphs(report, width);
	if (report->hidden)
		printf("\n  %s%s not shown%s\n", gw_ink(stdout, GW_INK_DIM),
		       gw_counted(&n, (double)report->hidden, "row", NULL),
		       gw_ink(stdout, GW_INK_OFF));
	if (report->stacks)
		gw_report_stacks(report, width);
	gw_report_fix_lines(report, width);
	legend(report, width);
	if (left)
		printf("%s\n  %s did not fit; --wide shows all%s\n", gw_ink(stdout, GW_INK_DIM),
		       gw_counted(&n, left, "column", NULL), gw_ink(stdout, GW_INK_OFF));
}

void gw_report_text(struct gw_report *report)
{
	struct gw_log_model *m = &report->model;
	unsigned width = gw_width();

	gw_report_header(report, width);
	if (report->verbose) {
		putchar('\n');
		gw_report_details(report, width);
	}
	putchar('\n');
	if (!m->row_count) {
		printf("  No kernel in %s.\n", m->file_count == 1 ? "this log" : "these logs");
		gw_report_graphs(report, width);
	}
	else if (!report->count)
		printf("  No kernel matches.\n");
	else
		rows(report, width);
}

void gw_report_violations(const struct gw_report *report)
{
	const struct gw_log_model *m = &report->model;
	uint64_t all = m->order[GW_ORDER_SELF] + m->order[GW_ORDER_LATER];
	struct gw_text a, b;

	printf("\nCausality check: %s\n",
	       all ? gw_counted(&a, (double)all, "violation", NULL) : "no violation");
	for (uint32_t i = 0; i < m->violation_count; i++) {
		const struct gw_violation *v = &m->violations[i];
		char path[512], name[256];

		gw_printable(path, sizeof(path), m->files[v->file].path);
		gw_printable(name, sizeof(name),
			     v->name == GW_INDEX_NONE ? "a kernel without a name"
						      : m->names[v->name].plain);
		printf("  %s, offset %llu: %s: ", path, (unsigned long long)v->offset, name);
		if (v->result == GW_ORDER_SELF)
			printf("uses %s measurements, only %s are before it\n",
			       gw_thousands(&a, (double)v->known),
			       gw_thousands(&b, (double)v->learnt));
		else
			printf("called at %llu ns, but uses %s measurements, the last of which "
			       "ended after that\n",
			       (unsigned long long)v->call_ns, gw_thousands(&a, (double)v->known));
	}
	if (all > m->violation_count)
		printf("  and %s more\n", gw_thousands(&a, (double)(all - m->violation_count)));
}
