#include "cli/html/page.h"

#include "cli/common/basis.h"
#include "cli/common/json.h"
#include "cli/common/kernel_name.h"
#include "cli/common/memory.h"
#include "cli/log/rows.h"
#include "cli/log/verdict.h"
#include "cli/report/fix.h"
#include "cli/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	COARSEST = 4, /* points that are one in a row whose times are not shown finely */
	LABEL = 36,   /* columns of a name in a table */
	STACKS = 64,  /* rows with stacks … */
	FRAMES = 32,  /* … and frames of each */
};

/* Rounded to three digits: a pixel shows no more. */
static json_t *rounded(double value)
{
	double unit;

	if (!isfinite(value) || value == 0)
		return gw_json_number(value);
	unit = pow(10, floor(log10(fabs(value))) - 2);
	return gw_json_number(unit < 1 ? round(value / unit) / round(1 / unit)
				       : round(value / unit) * unit);
}

/* @p text in at most @p columns, as plain text. */
static json_t *name_json(const char *text, size_t columns)
{
	char *shorter = gw_shorten(text, columns);
	json_t *value = gw_json_text(shorter);

	free(shorter);
	return value;
}

/* Keep the first @p most of the list called @p key in @p o, and say how many others there are. */
static void cut(json_t *o, const char *key, const char *others, size_t most)
{
	json_t *list = json_object_get(o, key);
	size_t count = json_array_size(list);

	for (size_t i = count; i > most; i--)
		json_array_remove(list, i - 1);
	if (count > most)
		gw_set_count(o, others, count - most);
}

static json_t *report_json(struct gw_report *report, const struct html_limits *limits)
{
	json_t *o = gw_report_document(report, false);

	cut(o, "processes", "processes_more", limits->items);
	cut(o, "devices", "devices_more", limits->items);
	cut(o, "degraded", "degraded_more", limits->items);
	cut(o, "code_analysis", "code_analysis_more", limits->items);
	cut(json_object_get(o, "slow"), "episodes", "episodes_more", limits->items);
	cut(json_object_get(o, "causality"), "violation_list", "violations_more", limits->items);
	return o;
}

static json_t *columns_json(const struct gw_report *report)
{
	static const char *const kinds[] = {"time", "share", "count", "text"};
	json_t *list = json_array();

	for (unsigned c = 0; c < GW_COLUMNS; c++) {
		const struct gw_column_info *info = &gw_columns_info[c];

		if (c == GW_COLUMN_name || !gw_report_has(report, c))
			continue;
		json_array_append_new(list,
				      json_pack("{s:s,s:s,s:s,s:s}", "id", info->id, "title",
						*info->title ? info->title : info->name, "kind",
						kinds[info->kind], "meaning", info->meaning));
	}
	return list;
}

/* In the order of columns_json; shares are 0 to 1. */
static json_t *values_json(const struct gw_report *report, const struct gw_report_line *line)
{
	json_t *list = json_array();
	char buffer[200];

	for (unsigned c = 0; c < GW_COLUMNS; c++) {
		if (c == GW_COLUMN_name || !gw_report_has(report, c))
			continue;
		json_array_append_new(list,
				      gw_columns_info[c].kind == GW_KIND_TEXT
					      ? gw_json_text(gw_report_cell(report, line, c, buffer,
									    sizeof(buffer)))
					      : gw_json_number(line->value[c]));
	}
	return list;
}

/* By part of the GPU: work done a second, its peak, and the work of all launches. */
static json_t *peaks_json(const struct gw_row_bound *b)
{
	json_t *o = json_object();

	for (unsigned i = 0; i < b->peak_count; i++) {
		const struct gw_row_peak *p = &b->peaks[i];

		if (p->amount > 0 && p->measured > 0)
			json_object_set_new(
				o, p->name,
				json_pack("[o,o,o,s]", rounded(p->amount / p->measured),
					  rounded(p->seconds > 0 ? p->amount / p->seconds : NAN),
					  rounded(p->amount), p->unit));
	}
	return o;
}

/* [first point, points that are one, mean time of each in ns; 0: no launch started in it] */
static json_t *times_json(const struct html_series *s, size_t row, unsigned joined)
{
	const struct html_point *points = html_series_points(s, row);
	size_t offset = (size_t)(s->first - s->base) / HTML_COARSE / joined * joined;
	size_t end = (size_t)(s->last - s->base) / HTML_COARSE + 1, from = end, until = 0;
	json_t *list = json_array();

	for (size_t i = offset; points && i < end; i++)
		if (points[i].count) {
			from = i < from ? (i - offset) / joined * joined + offset : from;
			until = i + 1;
		}
	if (!points || until <= from)
		return list;
	json_array_append_new(list, gw_json_count((from - offset) / joined));
	json_array_append_new(list, gw_json_count(joined));
	for (size_t i = from; i < until; i += joined) {
		double sum = 0, count = 0;

		for (size_t k = i; k < i + joined && k < until; k++) {
			sum += points[k].sum;
			count += (double)points[k].count;
		}
		json_array_append_new(list, rounded(count > 0 ? sum / count : 0));
	}
	return list;
}

static json_t *line_json(struct gw_report *report, const struct gw_report_line *line,
			 const char *label, size_t text)
{
	const struct gw_name *name = &report->model.names[line->row->name];
	struct gw_row *row = line->row;
	json_t *o = json_object();
	char words[600];

	gw_set_text(o, "label", label);
	json_object_set_new(o, "name", name_json(report->names[row->name], text));
	json_object_set_new(o, "full",
			    name_json(report->mangled ? name->mangled : name->plain, 2 * text));
	json_object_set_new(o, "values", values_json(report, line));
	json_object_set_new(o, "times_90",
			    json_pack("[o,o]", rounded(gw_quantile(&row->time, 0.05)),
				      rounded(gw_quantile(&row->time, 0.95))));
	if (!row->bound)
		return o;
	gw_set_count(o, "shapes", row->bound->configs);
	json_object_set_new(o, "peaks", peaks_json(row->bound));
	gw_bound_text(row->bound, words, sizeof(words));
	gw_set_text(o, "text", words);
	gw_bound_cause(row->bound, words, sizeof(words));
	gw_set_text(o, "why", words);
	return o;
}

/* [runs, captured, line of the program, [text of each frame, from the launch outwards]] of each. */
static json_t *stacks_json(struct gw_report *report, const struct gw_row *row, size_t columns)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < GW_ROW_STACKS && row->stacks[i].launches; i++) {
		const struct gw_row_stack *s = &row->stacks[i];
		struct log_stacks *stacks = &report->model.files[s->file].stacks;
		uint32_t shown[STACK_SHOWN];
		const size_t count = log_stack_shown(stacks, s->stack, shown);
		json_t *frames = json_array();
		char line[LOG_LINE];

		for (size_t f = 0; f < count && f < FRAMES; f++) {
			log_frame_text(stacks, shown[f], line, sizeof(line));
			json_array_append_new(frames, name_json(line, columns));
		}
		log_stack_line(stacks, stacks->list[s->stack].config, line, sizeof(line));
		json_array_append_new(
			list, json_pack("[o,b,o,o]", gw_json_count(s->launches),
					(stacks->list[s->stack].flags & GW_STACK_CAPTURED) != 0,
					name_json(line, columns), frames));
	}
	return list;
}

/* Names of the first @p count lines as a column shows them: those that differ look different. */
static char **labels_of(const struct gw_report *report, size_t count)
{
	char **labels = gw_alloc(count * sizeof(*labels));

	for (size_t i = 0; i < count; i++)
		labels[i] = gw_copy(report->names[report->lines[i].row->name]);
	gw_kernel_names_fit(labels, count, LABEL);
	return labels;
}

static json_t *kernels_json(struct gw_report *report, const struct html_series *s,
			    const struct html_limits *limits)
{
	size_t count = report->count < limits->rows ? report->count : limits->rows;
	char **labels = labels_of(report, count);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct gw_report_line *line = &report->lines[i];
		json_t *o = line_json(report, line, labels[i], limits->text);

		if (i < limits->series && s->used)
			json_object_set_new(o, "times",
					    times_json(s, (size_t)(line->row - report->model.rows),
						       i < limits->fine ? 1 : COARSEST));
		if (i < STACKS && line->row->stacks[0].launches)
			json_object_set_new(o, "stacks",
					    stacks_json(report, line->row, limits->text));
		json_array_append_new(list, o);
		free(labels[i]);
	}
	free(labels);
	return list;
}

/* What the rows beyond the limit add up to. */
static json_t *others_json(const struct gw_report *report, size_t from)
{
	uint64_t launches = 0;
	double total = 0;
	size_t rows = 0;

	for (size_t i = from; i < report->count; i++, rows++) {
		launches += report->lines[i].row->launches;
		total += report->lines[i].row->measured ? report->lines[i].row->total : 0;
	}
	return json_pack("{s:o,s:o,s:o}", "rows", gw_json_count(rows), "instances",
			 gw_json_count(launches), "total_ns", gw_json_number(total));
}

/* Share of each bin in one state, in thousandths. */
static json_t *state_json(const struct html_series *s, const struct html_gpu *g, unsigned state,
			  unsigned joined)
{
	double width = ldexp((double)joined, (int)s->shift);
	size_t offset = (size_t)(s->first - s->base) / HTML_COARSE * HTML_COARSE;
	json_t *list = json_array();
	double any = 0;

	for (size_t i = offset; i <= s->last - s->base; i += joined) {
		double sum = 0;

		for (size_t k = i; k < i + joined && k < HTML_BINS; k++)
			sum += g->bins[k].ns[state];
		any += sum;
		json_array_append_new(list, gw_json_number(round(1000 * sum / width)));
	}
	if (any <= 0)
		json_array_clear(list);
	return list;
}

static json_t *mean(double sum, uint32_t count, double unit)
{
	return count ? gw_json_number(round(sum / count / unit)) : json_null();
}

/* [point, SM clock in MHz, memory clock in MHz, degrees C, W, throttled by (bits)] */
static json_t *samples_json(const struct html_series *s, const struct html_gpu *g)
{
	size_t offset = (size_t)(s->first - s->base) / HTML_COARSE;
	json_t *list = json_array();

	for (size_t i = offset; g->samples && i < HTML_POINTS; i++) {
		const struct html_sample *p = &g->samples[i];

		if (p->sm || p->mem || p->warm || p->power)
			json_array_append_new(list,
					      json_pack("[o,o,o,o,o,o]", gw_json_count(i - offset),
							mean(p->sm_khz, p->sm, 1000),
							mean(p->mem_khz, p->mem, 1000),
							mean(p->temperature, p->warm, 1),
							mean(p->power_mw, p->power, 1000),
							gw_json_count(p->reasons)));
	}
	return list;
}

static json_t *gpu_json(const struct html_series *s, const struct html_gpu *g, unsigned joined)
{
	static const char *const names[HTML_STATES] = {"starved", "starved_graphs", "back_to_back",
						       "paused", "busy"};
	json_t *o = json_object();

	for (unsigned i = 0; g->bins && i < HTML_STATES; i++)
		json_object_set_new(o, names[i], state_json(s, g, i, joined));
	json_object_set_new(o, "samples", samples_json(s, g));
	return o;
}

static json_t *axis_json(const struct html_series *s, const struct html_limits *limits)
{
	unsigned joined = 1;
	json_t *o = json_object(), *gpus = json_array();

	while (joined < HTML_COARSE && HTML_BINS / joined * s->gpu_count > limits->bins)
		joined *= 2;
	gw_set_count(o, "from_ns",
		     (s->base + (s->first - s->base) / HTML_COARSE * HTML_COARSE) << s->shift);
	gw_set_number(o, "bin_ns", ldexp((double)joined, (int)s->shift));
	gw_set_number(o, "point_ns", ldexp(HTML_COARSE, (int)s->shift));
	gw_set_count(o, "points", s->last / HTML_COARSE - s->first / HTML_COARSE + 1);
	for (size_t i = 0; i < s->gpu_count && i < limits->items; i++)
		json_array_append_new(gpus, gpu_json(s, &s->gpus[i], joined));
	json_object_set_new(o, "gpus", gpus);
	return o;
}

static json_t *basis_json(struct gw_row *row, const char *name)
{
	return json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "name", name, "launches",
			 gw_json_count(row->scored), "median_error",
			 gw_json_number(gw_quantile(&row->error, 0.5)), "mape",
			 gw_json_number(gw_row_mape(row)), "within_10",
			 gw_json_number((double)row->within10 / (double)row->scored), "within_25",
			 gw_json_number((double)row->within25 / (double)row->scored), "intervals",
			 gw_json_count(row->intervals), "coverage",
			 gw_json_number(gw_row_coverage(row)));
}

static json_t *trust_json(struct html_series *s)
{
	json_t *tiers = json_array(), *sources = json_array();

	for (unsigned t = GW_TIER_STEADY + 1; t-- > 0;)
		if (s->tiers[t].scored)
			json_array_append_new(
				tiers, basis_json(&s->tiers[t], gw_basis_name((enum gw_tier)t)));
	for (unsigned w = GW_SOURCE_COUNTED + 1; w-- > 0;)
		if (s->sources[w].scored)
			json_array_append_new(
				sources,
				basis_json(&s->sources[w], gw_work_basis_name((enum gw_source)w)));
	return json_pack("{s:o,s:o}", "times", tiers, "work", sources);
}

/* {rows: [[name, runs, GPU time in ns]], more}; null where @p none, or unknown, is all there is. */
static json_t *tally_json(struct log_tally *tally, const char *none,
			  const struct html_limits *limits)
{
	json_t *o, *rows = json_array();
	bool any = false;

	log_tally_sort(tally);
	for (size_t i = 0; i < tally->count; i++)
		any |= strcmp(tally->rows[i].name, none) &&
		       strcmp(tally->rows[i].name, "[unknown]");
	for (size_t i = 0; i < tally->count && i < limits->items; i++)
		json_array_append_new(rows, json_pack("[o,o,o]",
						      name_json(tally->rows[i].name, limits->text),
						      gw_json_count(tally->rows[i].launches),
						      gw_json_number(tally->rows[i].total)));
	o = json_pack("{s:o,s:o}", "rows", rows, "more",
		      gw_json_count(tally->count - json_array_size(rows)));
	if (any)
		return o;
	json_decref(o);
	return json_null();
}

json_t *html_data(struct gw_report *report, struct html_series *s, const struct html_limits *limits)
{
	json_t *o = json_object();

	gw_set_text(o, "schema", "gpuwatch-html-1");
	json_object_set_new(o, "report", report_json(report, limits));
	json_object_set_new(o, "columns", columns_json(report));
	json_object_set_new(o, "kernels", kernels_json(report, s, limits));
	json_object_set_new(o, "others", others_json(report, limits->rows));
	json_object_set_new(o, "ranges", tally_json(&report->model.ranges, "[no range]", limits));
	json_object_set_new(o, "lines", tally_json(&report->model.lines, "[no stack]", limits));
	json_object_set_new(o, "axis", s->used ? axis_json(s, limits) : json_null());
	json_object_set_new(o, "basis", trust_json(s));
	return o;
}
