/* SPDX-License-Identifier: Apache-2.0 */
/* The report for programs: JSON (docs/user/json-schema.md) and CSV. */
#include "cli/common/json.h"
#include "cli/log/rows.h"
#include "cli/common/memory.h"
#include "cli/report/report.h"
#include "cli/report/sections.h"
#include "cli/report/runs.h"
#include "cli/message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *counters(const uint64_t *values)
{
	json_t *o = json_object();

#define COUNTER(name, meaning) \
	json_object_set_new(o, #name, gw_json_count(values[GW_COUNTER_##name]));
#include "predictor/log/counter.def"
#undef COUNTER
	return o;
}

static json_t *file_json(const struct gw_file *f)
{
	json_t *o = json_object(), *missing = json_array();
	char text[300];

	json_object_set_new(o, "path", gw_json_text(f->path));
	json_object_set_new(o, "read", json_boolean(!f->skipped));
	json_object_set_new(o, "whole", json_boolean(gw_log_whole(&f->status)));
	if (f->skipped)
		json_array_append_new(missing, gw_json_text(f->status.error));
	for (unsigned n = 0; !f->skipped && gw_log_complaint(&f->status, n, text, sizeof(text));
	     n++)
		json_array_append_new(missing, gw_json_text(text));
	json_object_set_new(o, "missing", missing);
	json_object_set_new(o, "damaged_bytes", gw_json_count(f->status.damaged_bytes));
	json_object_set_new(o, "missing_blocks", gw_json_count(f->status.missing_blocks));
	json_object_set_new(o, "records", gw_json_count(f->status.records));
	if (!f->status.header)
		return o;
	json_object_set_new(o, "pid", gw_json_count(f->header.pid));
	json_object_set_new(o, "ppid", gw_json_count(f->header.ppid));
	json_object_set_new(o, "start_ns", gw_json_count(f->header.start_ns));
	json_object_set_new(o, "stand_in", json_boolean(f->header.flags & GW_HEADER_STAND_IN));
	json_object_set_new(o, "injected", json_boolean(f->header.flags & GW_HEADER_INJECTED));
#define KEY(name) json_object_set_new(o, #name, gw_json_text(f->text[GW_TEXT_##name]));
	GW_HEADER_TEXTS(KEY)
#undef KEY
	json_object_set_new(o, "counters", f->counted ? counters(f->counters) : json_null());
	return o;
}

static json_t *gpu_json(struct gw_gpu *g)
{
	json_t *o = json_object();

	json_object_set_new(o, "name", gw_json_text(g->name));
	json_object_set_new(o, "uuid", gw_json_text(g->uuid));
	json_object_set_new(o, "launches", gw_json_count(g->launches));
#define NUMBER(field) json_object_set_new(o, #field, gw_json_count(g->record.field))
	NUMBER(ordinal);
	NUMBER(compute_capability);
	NUMBER(sm_count);
	NUMBER(sm_clock_khz);
	NUMBER(mem_clock_khz);
	NUMBER(driver_version);
	NUMBER(memory);
#undef NUMBER
	json_object_set_new(o, "clocks", gw_report_clocks_json(&g->clocks));
	json_object_set_new(o, "idle", gw_report_idle_json(&g->gaps));
	json_object_set_new(o, "spent", gw_report_spent_json(&g->gaps.spent));
	return o;
}

static json_t *line_json(struct gw_report *report, const struct gw_report_line *line)
{
	json_t *o = json_object();
	char buffer[200];

	for (unsigned c = 0; c < GW_COLUMNS; c++) {
		const struct gw_column_info *info = &gw_columns_info[c];
		double scale = info->kind == GW_KIND_SHARE ? 100 : 1;

		if (!gw_report_has(report, c))
			continue;
		json_object_set_new(o, info->name,
				    info->kind == GW_KIND_TEXT
					    ? gw_json_text(gw_report_cell(report, line, c, buffer,
									  sizeof(buffer)))
					    : gw_json_number(line->value[c] * scale));
	}
	json_object_set_new(o, "basis", gw_report_basis_json(line->row));
	json_object_set_new(o, "code_analysis", gw_report_code_json(&report->model, line->row));
	json_object_set_new(o, "verdict", gw_report_bound_json(line->row));
	if (report->stacks)
		json_object_set_new(o, "stacks", gw_report_stacks_json(report, line->row));
	if (!report->mangled)
		json_object_set_new(o, "Mangled",
				    gw_json_text(report->model.names[line->row->name].mangled));
	return o;
}

static json_t *prediction_json(struct gw_row *all)
{
	double single = all->scored_single ? (double)all->scored_single : NAN;
	json_t *o = json_object();

	json_object_set_new(o, "measured", gw_json_count(all->measured));
	json_object_set_new(o, "predicted_before", gw_json_count(all->scored - all->late));
	json_object_set_new(o, "predicted_late", gw_json_count(all->late));
	json_object_set_new(o, "unknown", gw_json_count(all->measured - all->scored));
	json_object_set_new(o, "at_least", gw_json_count(all->at_least));
	json_object_set_new(o, "share_predicted", gw_json_number(gw_row_known(all)));
	json_object_set_new(o, "median_error", gw_json_number(gw_quantile(&all->error, 0.5)));
	json_object_set_new(o, "mape", gw_json_number(gw_row_mape(all)));
	json_object_set_new(o, "within_10", gw_json_number((double)all->within10 / single));
	json_object_set_new(o, "within_25", gw_json_number((double)all->within25 / single));
	json_object_set_new(o, "interval", gw_json_number(0.90));
	json_object_set_new(o, "coverage", gw_json_number(gw_row_coverage(all)));
	json_object_set_new(o, "exact", json_boolean(gw_row_exact(all)));
	json_object_set_new(o, "basis", gw_report_basis_json(all));
	return o;
}

static json_t *order_json(const struct gw_log_model *m)
{
	json_t *o = json_object(), *list = json_array();
	uint64_t untimed = 0;

	for (size_t i = 0; i < m->file_count; i++)
		untimed += m->files[i].untimed;
	for (uint32_t i = 0; i < m->violation_count; i++) {
		const struct gw_violation *v = &m->violations[i];
		json_t *one = json_object();

		json_object_set_new(one, "path", gw_json_text(m->files[v->file].path));
		json_object_set_new(one, "offset", gw_json_count(v->offset));
		json_object_set_new(one, "name",
				    v->name == GW_INDEX_NONE
					    ? json_null()
					    : gw_json_text(m->names[v->name].plain));
		json_object_set_new(one, "kind",
				    json_string(v->result == GW_ORDER_SELF ? "number" : "time"));
		json_object_set_new(one, "uses", gw_json_count(v->known));
		json_array_append_new(list, one);
	}
	json_object_set_new(o, "proven", gw_json_count(m->order[GW_ORDER_PROVEN]));
	json_object_set_new(o, "unproven", gw_json_count(m->order[GW_ORDER_UNPROVEN]));
	json_object_set_new(o, "violations",
			    gw_json_count(m->order[GW_ORDER_SELF] + m->order[GW_ORDER_LATER]));
	json_object_set_new(o, "untimed", gw_json_count(untimed));
	json_object_set_new(o, "violation_list", list);
	return o;
}

static json_t *reasons_json(const struct gw_log_model *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->reason_count; i++) {
		json_t *o = json_object();

		json_object_set_new(o, "code", gw_json_count(m->reasons[i].code));
		json_object_set_new(o, "reason", gw_json_text(m->reasons[i].text));
		json_object_set_new(o, "processes", gw_json_count(m->reasons[i].files));
		json_array_append_new(list, o);
	}
	return list;
}

/* How many runs the logs are of, and the time from the first of them to the last. */
static json_t *runs_json(const struct gw_log_model *m)
{
	struct gw_span all;
	size_t runs = gw_report_runs(m, &all);

	return json_pack("{s:o,s:o,s:o}", "count", gw_json_count(runs), "from_ns",
			 gw_json_count(all.from), "to_ns", gw_json_count(all.to));
}

json_t *gw_report_document(struct gw_report *report, bool kernels)
{
	struct gw_log_model *m = &report->model;
	json_t *o = json_object(), *list;
	uint64_t lost = 0;

	if (m->stand_in)
		json_object_set_new(o, "notice", json_string(GW_STAND_IN_NOTICE));
	json_object_set_new(o, "schema", json_string("gpuwatch-report-2"));
	json_object_set_new(o, "stand_in", json_boolean(m->stand_in));
	json_object_set_new(o, "processes", list = json_array());
	for (size_t i = 0; i < m->file_count; i++) {
		json_array_append_new(list, file_json(&m->files[i]));
		lost += m->files[i].lost_names + m->files[i].without_place;
	}
	json_object_set_new(o, "devices", list = json_array());
	for (size_t i = 0; i < m->gpu_count; i++)
		json_array_append_new(list, gpu_json(&m->gpus[i]));
	json_object_set_new(o, "launches", gw_json_count(m->all.launches));
	json_object_set_new(o, "measured", gw_json_count(m->all.measured));
	json_object_set_new(o, "total_ns", gw_json_number(m->all.total));
	json_object_set_new(o, "without_name", gw_json_count(lost));
	json_object_set_new(o, "counters", counters(m->counters));
	json_object_set_new(o, "degraded", reasons_json(m));
	json_object_set_new(o, "code_analysis", gw_report_codes_json(m));
	json_object_set_new(o, "prediction", prediction_json(&m->all));
	json_object_set_new(o, "causality", order_json(m));
	json_object_set_new(o, "verdict", gw_report_bound_json(&m->all));
	json_object_set_new(o, "fix_first", gw_report_fixes_json(report));
	json_object_set_new(o, "expected", gw_report_expected_json(m));
	json_object_set_new(o, "graphs", gw_report_graphs_json(m));
	json_object_set_new(o, "graphs_by_bound", gw_report_graphs_bound_json(m));
	json_object_set_new(o, "slow", gw_report_slow_json(m));
	json_object_set_new(o, "runs", runs_json(m));
	json_object_set_new(o, "hidden_rows", gw_json_count(report->hidden));
	json_object_set_new(o, "kernels", list = json_array());
	for (size_t i = 0; kernels && i < report->count; i++)
		json_array_append_new(list, line_json(report, &report->lines[i]));
	return o;
}

void gw_report_json(struct gw_report *report)
{
	gw_json_print(gw_report_document(report, true));
}

/*
 * Names come from the recorded program. Spreadsheets run a cell that begins with one of
 * these characters as a formula; with an apostrophe in front they show it.
 */
static void csv_text(const char *raw)
{
	size_t size = strlen(raw) + 1;
	char *clean = gw_alloc(size);
	const char *text = gw_printable(clean, size, raw);
	bool quote = strpbrk(text, ",\"") != NULL;

	if (quote)
		putchar('"');
	if (*text && strchr("=+-@", *text))
		putchar('\'');
	for (; *text; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	if (quote)
		putchar('"');
	free(clean);
}

/* Whole numbers as such, others with one decimal, as nsys prints them; unknown is empty. */
static void csv_number(double value, bool whole)
{
	if (isnan(value))
		return;
	if (whole || value == floor(value))
		printf("%.0f", value);
	else
		printf(fabs(value) < 10 ? "%.3f" : "%.1f", value);
}

void gw_report_csv(struct gw_report *report)
{
	char buffer[200];

	if (report->model.stand_in)
		printf("# " GW_STAND_IN_NOTICE "\n");
	for (size_t i = 0; i <= report->count; i++) {
		bool first = true;

		for (unsigned c = 0; c < GW_COLUMNS; c++) {
			const struct gw_column_info *info = &gw_columns_info[c];
			const struct gw_report_line *line = i ? &report->lines[i - 1] : NULL;

			if (!gw_report_has(report, c))
				continue;
			if (!first)
				putchar(',');
			first = false;
			if (!line)
				csv_text(info->name);
			else if (info->kind == GW_KIND_TEXT)
				csv_text(gw_report_cell(report, line, c, buffer, sizeof(buffer)));
			else
				csv_number(line->value[c] * (info->kind == GW_KIND_SHARE ? 100 : 1),
					   info->kind == GW_KIND_COUNT);
		}
		putchar('\n');
	}
}
