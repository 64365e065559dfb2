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

#define COUNTER(name, meaning) gw_set_count(o, #name, values[GW_COUNTER_##name]);
#include "predictor/log/counter.def"
#undef COUNTER
	return o;
}

static json_t *file_json(const struct gw_file *f)
{
	json_t *o = json_object(), *missing = json_array();
	char text[300];

	gw_set_text(o, "path", f->path);
	gw_set_bool(o, "read", !f->skipped);
	gw_set_bool(o, "whole", gw_log_whole(&f->status));
	if (f->skipped)
		json_array_append_new(missing, gw_json_text(f->status.error));
	for (unsigned n = 0; !f->skipped && gw_log_complaint(&f->status, n, text, sizeof(text));
	     n++)
		json_array_append_new(missing, gw_json_text(text));
	json_object_set_new(o, "missing", missing);
	gw_set_count(o, "damaged_bytes", f->status.damaged_bytes);
	gw_set_count(o, "missing_blocks", f->status.missing_blocks);
	gw_set_count(o, "records", f->status.records);
	if (!f->status.header)
		return o;
	gw_set_count(o, "pid", f->header.pid);
	gw_set_count(o, "ppid", f->header.ppid);
	gw_set_count(o, "start_ns", f->header.start_ns);
	gw_set_bool(o, "stand_in", f->header.flags & GW_HEADER_STAND_IN);
	gw_set_bool(o, "injected", f->header.flags & GW_HEADER_INJECTED);
#define KEY(name) gw_set_text(o, #name, f->text[GW_TEXT_##name]);
	GW_HEADER_TEXTS(KEY)
#undef KEY
	json_object_set_new(o, "counters", f->counted ? counters(f->counters) : json_null());
	return o;
}

static json_t *gpu_json(struct gw_gpu *g)
{
	json_t *o = json_object();

	gw_set_text(o, "name", g->name);
	gw_set_text(o, "uuid", g->uuid);
	gw_set_count(o, "launches", g->launches);
#define NUMBER(field) gw_set_count(o, #field, g->record.field)
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
		gw_set_text(o, "Mangled", report->model.names[line->row->name].mangled);
	return o;
}

static json_t *prediction_json(struct gw_row *all)
{
	double single = all->scored_single ? (double)all->scored_single : NAN;
	json_t *o = json_object();

	gw_set_count(o, "measured", all->measured);
	gw_set_count(o, "predicted_before", all->scored - all->late);
	gw_set_count(o, "predicted_late", all->late);
	gw_set_count(o, "unknown", all->measured - all->scored);
	gw_set_count(o, "at_least", all->at_least);
	gw_set_number(o, "share_predicted", gw_row_known(all));
	gw_set_number(o, "median_error", gw_quantile(&all->error, 0.5));
	gw_set_number(o, "mape", gw_row_mape(all));
	gw_set_number(o, "within_10", (double)all->within10 / single);
	gw_set_number(o, "within_25", (double)all->within25 / single);
	gw_set_number(o, "interval", 0.90);
	gw_set_number(o, "coverage", gw_row_coverage(all));
	gw_set_bool(o, "exact", gw_row_exact(all));
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

		gw_set_text(one, "path", m->files[v->file].path);
		gw_set_count(one, "offset", v->offset);
		json_object_set_new(one, "name",
				    v->name == GW_INDEX_NONE
					    ? json_null()
					    : gw_json_text(m->names[v->name].plain));
		gw_set_text(one, "kind", v->result == GW_ORDER_SELF ? "number" : "time");
		gw_set_count(one, "uses", v->known);
		json_array_append_new(list, one);
	}
	gw_set_count(o, "proven", m->order[GW_ORDER_PROVEN]);
	gw_set_count(o, "unproven", m->order[GW_ORDER_UNPROVEN]);
	gw_set_count(o, "violations", m->order[GW_ORDER_SELF] + m->order[GW_ORDER_LATER]);
	gw_set_count(o, "untimed", untimed);
	json_object_set_new(o, "violation_list", list);
	return o;
}

static json_t *reasons_json(const struct gw_log_model *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->reason_count; i++) {
		json_t *o = json_object();

		gw_set_count(o, "code", m->reasons[i].code);
		gw_set_text(o, "reason", m->reasons[i].text);
		gw_set_count(o, "processes", m->reasons[i].files);
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
		gw_set_text(o, "notice", GW_STAND_IN_NOTICE);
	gw_set_text(o, "schema", "gpuwatch-report-2");
	gw_set_bool(o, "stand_in", m->stand_in);
	json_object_set_new(o, "processes", list = json_array());
	for (size_t i = 0; i < m->file_count; i++) {
		json_array_append_new(list, file_json(&m->files[i]));
		lost += m->files[i].lost_names + m->files[i].without_place;
	}
	json_object_set_new(o, "devices", list = json_array());
	for (size_t i = 0; i < m->gpu_count; i++)
		json_array_append_new(list, gpu_json(&m->gpus[i]));
	gw_set_count(o, "launches", m->all.launches);
	gw_set_count(o, "measured", m->all.measured);
	gw_set_number(o, "total_ns", m->all.total);
	gw_set_count(o, "without_name", lost);
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
	gw_set_count(o, "hidden_rows", report->hidden);
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
