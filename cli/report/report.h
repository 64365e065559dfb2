/*
 * gpuwatch report: one set of rows and columns, printed as text, JSON or CSV.
 */
#ifndef GW_REPORT_H
#define GW_REPORT_H

#include "cli/log/model.h"

#include <jansson.h>
#include <stdbool.h>

enum gw_column {
#define COLUMN(id, name, title, kind, priority, by, meaning) GW_COLUMN_##id,
#include "cli/report/columns.def"
#undef COLUMN
	GW_COLUMNS
};

enum gw_column_kind { GW_KIND_TIME, GW_KIND_SHARE, GW_KIND_COUNT, GW_KIND_TEXT };

/** A row of columns.def. */
struct gw_column_info {
	const char *id, *name, *title;
	enum gw_column_kind kind;
	int priority;
	enum gw_by by; /**< GW_BY_KERNEL: always */
	const char *meaning;
};
extern const struct gw_column_info gw_columns_info[GW_COLUMNS];

/** A line of the report. */
struct gw_report_line {
	struct gw_row *row;
	double value[GW_COLUMNS]; /**< NaN when unknown, and for TEXT columns */
};

struct gw_report {
	struct gw_log_model model;
	struct gw_report_line *lines; /**< sorted; those that the filter and --top leave */
	size_t count, hidden;         /**< hidden: lines left out by --filter and --top */
	char **names; /**< by position in model.names: as the text calls the kernels */
	bool mangled, full_names, wide, verbose, stacks;
};

/** Whether @p column belongs into this report. */
bool gw_report_has(const struct gw_report *report, enum gw_column column);
/** Compute every value of @p line, whose row is set. */
void gw_report_values(const struct gw_report *report, struct gw_report_line *line);
/** Text of a TEXT column, into @p buffer where it is not stored already. */
const char *gw_report_cell(const struct gw_report *report, const struct gw_report_line *line,
			   enum gw_column column, char *buffer, size_t size);
/** The row's bound is limited by this: a memory level, a pipe, a cause of latency; "" when unknown.
 */
const char *gw_report_limiter(const struct gw_row_bound *bound);
/** The number of @p row's line in the report's table, from 1; 0: it is not shown. */
size_t gw_report_number(const struct gw_report *report, const struct gw_row *row);
/** The column called @p text: its id, or its name without regard to case; GW_COLUMNS if none. */
enum gw_column gw_report_column(const char *text);
/** Flags of a row: letters when @p letters, else names separated by spaces. */
const char *gw_report_flags(const struct gw_row *row, bool letters, char *buffer, size_t size);

void gw_report_text(struct gw_report *report);
void gw_report_json(struct gw_report *report);
/** What gw_report_json prints; @p kernels false: its list of kernels is empty. */
json_t *gw_report_document(struct gw_report *report, bool kernels);
void gw_report_csv(struct gw_report *report);
/** Where the launches of each line came from. */
void gw_report_stacks(struct gw_report *report, unsigned width);
json_t *gw_report_stacks_json(struct gw_report *report, const struct gw_row *row);
/** Violations of causality, as text on stdout. */
void gw_report_violations(const struct gw_report *report);

/** The first line of every output of a stand-in's log. */
#define GW_STAND_IN_NOTICE "times are scripted by the CPU stand-in, not measured on a GPU"

#endif
