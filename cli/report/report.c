#include "cli/report/report.h"

#include "cli/command.h"
#include "cli/common/demangle.h"
#include "cli/common/memory.h"
#include "cli/common/nearest.h"
#include "cli/common/span.h"
#include "cli/html/page.h"
#include "cli/log/source.h"
#include "cli/window/window.h"
#include "cli/message.h"
#include "cli/report/runs.h"

#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	const char *by, *sort, *filter, *device, *html, *since, *until, *last;
	uint64_t top;
	bool last_run, full_names, mangled, wide, verbose, stacks, json, csv, verify;
};

static const char columns[] =
#define COLUMN(id, name, title, kind, priority, by, meaning) "|" #id
#include "cli/report/columns.def"
#undef COLUMN
	;

static const struct gw_option options[] = {
	GW_OPT_CHOICE(by, "WHAT", "kernel|config|device|module|range|line|rank",
		      "one row per kernel, per kernel and launch configuration, per kernel and "
		      "device, per file that code was loaded from, per NVTX range of the program, "
		      "per line of the program that launches came from, or per rank of a job "
		      "(default kernel)"),
	GW_OPT_WORD(sort, "COLUMN", columns,
		    "sort by this column, largest first; name: in alphabetical order (default "
		    "total)"),
	GW_OPT_TEXT(filter, "REGEX",
		    "show only kernels, or files with --by=module, whose demangled name matches "
		    "this extended regular expression, case-insensitive; shares remain those of "
		    "all kernels"),
	GW_OPT_COUNT(top, "N", 0, 0, "show only the first N rows; 0: all (default 0)"),
	GW_OPT_TEXT(device, "GPU",
		    "show only launches on this GPU: its number, a prefix of its UUID, or part of "
		    "its name"),
	GW_OPT_FLAG(last_run,
		    "of several runs, report the last one only; --last without a span is the same"),
	LOG_WINDOW_OPTIONS,
	GW_OPT_FLAG(full_names, "print whole demangled names instead of short ones"),
	GW_OPT_FLAG(mangled, "print mangled names"),
	GW_OPT_FLAG(wide, "print all columns, whatever the width of the terminal"),
	GW_OPT_FLAG(verbose,
		    "also print the details: each process and GPU, gpuwatch's own cost, clocks, "
		    "code analysis, the causality check, everything that was lost"),
	GW_OPT_FLAG(stacks,
		    "also print where the launches of each row came from: functions, files "
		    "and lines from the launch outwards; in JSON the array stacks of a row"),
	GW_OPT_FLAG(json, "print JSON, times in ns; docs/user/json-schema.md describes it"),
	GW_OPT_FLAG(csv, "print CSV, times in ns, with one header line"),
	GW_OPT_OUT(html, "FILE",
		   "write the report as one HTML page with charts, which needs no network; - is "
		   "standard output. FILE is there once it is whole"),
	GW_OPT_FLAG(verify,
		    "also list each prediction that used a later measurement; exit status 1 when "
		    "there are any"),
	{0},
};

/* Read one log; false when it could not be read, after a message. */
static bool read_one(struct gw_report *report, const char *path)
{
	struct gw_log_model *m = &report->model;

	if (m->by == GW_BY_LINE && gw_log_source_is_once(path)) {
		gw_error("report: %s: --by=line reads a log twice, and a pipe can't be; give a "
			 "file",
			 path);
		return false;
	}
	if (gw_log_model_read(m, path))
		return true;
	gw_error("%s: %s", path, m->files[m->file_count - 1].status.error);
	return false;
}

/* The logs to read. Returns 0, or the exit status after a message. */
static int choose(struct gw_report_logs *logs, const struct options *o, int count, char **paths)
{
	int status = count ? 0 : gw_report_logs_find(logs);

	for (int i = 0; i < count; i++)
		status |= gw_report_logs_add(logs, paths[i]);
	if (o->last_run)
		gw_report_logs_last(logs);
	return status;
}

/* Read every log. Of those of a folder, one that is broken does not fail the command. */
static int read_all(struct gw_report *report, const struct gw_report_logs *logs)
{
	struct gw_span all;
	size_t good = 0;
	int status = 0;

	for (size_t i = 0; i < logs->count; i++) {
		if (read_one(report, logs->log[i].path))
			good++;
		else if (!logs->in_folder[i])
			status = GW_EXIT_USAGE;
	}
	if (gw_report_runs(&report->model, &all) > 1)
		gw_warning("report: these are %zu runs at different times, added up; --last-run "
			   "shows the last one alone",
			   gw_report_runs(&report->model, &all));
	return good ? status : GW_EXIT_USAGE;
}

static enum gw_column sort_column;
static const struct gw_report *sorted_report;

static int by_name(const struct gw_report_line *a, const struct gw_report_line *b)
{
	const struct gw_name *names = sorted_report->model.names;
	int order = strcmp(names[a->row->name].plain, names[b->row->name].plain);

	if (!order)
		order = strcmp(names[a->row->name].mangled, names[b->row->name].mangled);
	return order ? order : (a->row > b->row) - (a->row < b->row);
}

/* Largest first, unknown last, then by name: the order never depends on the input's. */
static int by_column(const void *x, const void *y)
{
	const struct gw_report_line *a = x, *b = y;
	double p = a->value[sort_column], q = b->value[sort_column];
	char left[160], right[160];

	if (gw_columns_info[sort_column].kind == GW_KIND_TEXT && sort_column != GW_COLUMN_name) {
		int order =
			strcmp(gw_report_cell(sorted_report, a, sort_column, left, sizeof(left)),
			       gw_report_cell(sorted_report, b, sort_column, right, sizeof(right)));
		if (order)
			return order;
	}
	if (isnan(p) != isnan(q))
		return isnan(p) - isnan(q);
	if (p > q || p < q)
		return p < q ? 1 : -1;
	return by_name(a, b);
}

static bool compile_filter(const char *pattern, regex_t *filter)
{
	char why[160];
	int code = regcomp(filter, pattern, REG_EXTENDED | REG_NOSUB | REG_ICASE);

	if (!code)
		return true;
	regerror(code, filter, why, sizeof(why));
	gw_error("report: --filter=%s is not a regular expression: %s", pattern, why);
	return false;
}

/* Rows into lines: filtered, sorted, cut. */
static bool arrange(struct gw_report *report, const struct options *o)
{
	struct gw_log_model *m = &report->model;
	regex_t filter;

	if (o->filter && !compile_filter(o->filter, &filter))
		return false;
	report->lines = gw_alloc(m->row_count * sizeof(*report->lines));
	for (size_t i = 0; i < m->row_count; i++) {
		struct gw_report_line *line = &report->lines[report->count];

		if (o->filter && regexec(&filter, m->names[m->rows[i].name].plain, 0, NULL, 0))
			continue;
		line->row = &m->rows[i];
		gw_report_values(report, line);
		report->count++;
	}
	if (o->filter)
		regfree(&filter);
	sorted_report = report;
	qsort(report->lines, report->count, sizeof(*report->lines), by_column);
	if (o->top && report->count > o->top)
		report->count = (size_t)o->top;
	report->hidden = m->row_count - report->count;
	return true;
}

static void unknown_column(const char *word)
{
	static const char *const ids[] = {
#define COLUMN(id, name, title, kind, priority, by, meaning) #id,
#include "cli/report/columns.def"
#undef COLUMN
	};
	char near[200];

	gw_nearest(near, sizeof(near), word, ids, sizeof(ids) / sizeof(*ids), 0);
	gw_error(
		"report: --sort=%s: unknown column%s%s; man gpuwatch-report lists the columns, for "
		"example total, med, instances, error, name",
		word, *near ? "; did you mean " : "", *near ? near : "");
}

static bool check_options(const struct options *o)
{
	sort_column = gw_report_column(o->sort);
	if (o->json + o->csv + (o->html != NULL) > 1)
		gw_error("report: --json, --csv and --html exclude each other; give one of them");
	else if (sort_column == GW_COLUMNS)
		unknown_column(o->sort);
	else
		return true;
	return false;
}

static bool device_known(const struct gw_log_model *m)
{
	for (size_t i = 0; i < m->gpu_count; i++)
		if (gw_gpu_matches(&m->gpus[i], m->device))
			return true;
	gw_error("report: --device=%s matches no GPU of these logs; leave it out to see all",
		 m->device);
	return false;
}

/* How many rows' files have this name without the folder. */
static unsigned namesakes(const struct gw_log_model *m, const char *base)
{
	unsigned count = 0;

	for (size_t i = 0; i < m->row_count; i++) {
		const char *path = m->names[m->rows[i].name].mangled, *slash = strrchr(path, '/');

		count += !strcmp(slash ? slash + 1 : path, base);
	}
	return count;
}

/* Files without their folders, where that leaves them distinct. */
static void name_modules(struct gw_report *report)
{
	const struct gw_log_model *m = &report->model;

	for (size_t i = 0; i < m->row_count; i++) {
		uint32_t name = m->rows[i].name;
		const char *base = strrchr(m->names[name].mangled, '/');

		if (!base || namesakes(m, base + 1) > 1)
			continue;
		free(report->names[name]);
		report->names[name] = gw_copy(base + 1);
	}
}

/* The names that the text shows, by position in the model. */
static void name_kernels(struct gw_report *report, const struct options *o)
{
	const struct gw_log_model *m = &report->model;
	const bool as_they_are = o->mangled || o->full_names || m->by == GW_BY_RANGE ||
				 m->by == GW_BY_LINE || m->by == GW_BY_RANK;

	if (!as_they_are) {
		report->names = gw_log_model_short_names(m);
	} else {
		report->names = gw_alloc((m->name_count + 1) * sizeof(*report->names));
		for (size_t i = 0; i < m->name_count; i++)
			report->names[i] =
				gw_copy(o->mangled ? m->names[i].mangled : m->names[i].plain);
	}
	if (m->by == GW_BY_MODULE && !o->full_names && !o->mangled)
		name_modules(report);
}

/* Whether part of a log is damaged or cut off. One that lacks its end alone may still grow. */
static bool damaged(const struct gw_log_model *m)
{
	for (size_t i = 0; i < m->file_count; i++) {
		const struct gw_log_status *s = &m->files[i].status;

		if (!m->files[i].skipped &&
		    (s->notes || s->cut_wanted || s->read_error || !s->header))
			return true;
	}
	return false;
}

static bool print(struct gw_report *report, struct html_series *series, const struct options *o)
{
	if (o->html)
		return html_write(report, series, o->html);
	if (o->json)
		gw_report_json(report);
	else if (o->csv)
		gw_report_csv(report);
	else
		gw_report_text(report);
	if (o->verify && !o->json && !o->csv)
		gw_report_violations(report);
	return true;
}

static int show(struct gw_report *report, struct html_series *series, const struct options *o)
{
	const struct gw_log_model *m = &report->model;
	bool violated = m->order[GW_ORDER_SELF] || m->order[GW_ORDER_LATER], unmatched;

	if (m->device && !device_known(m))
		return GW_EXIT_USAGE;
	if (!arrange(report, o))
		return GW_EXIT_USAGE;
	name_kernels(report, o);
	unmatched = o->filter && m->row_count && !report->count;
	if (!o->mangled && gw_demangle_missing())
		gw_warning("%s", gw_demangle_missing());
	if (!print(report, series, o))
		return GW_EXIT_USAGE;
	if (unmatched)
		gw_warning("report: no kernel matches --filter=%s", o->filter);
	return unmatched || damaged(m) || (o->verify && violated) ? GW_EXIT_FINDINGS : GW_EXIT_OK;
}

static bool any_read(const struct gw_log_model *m)
{
	for (size_t i = 0; i < m->file_count; i++)
		if (!m->files[i].skipped)
			return true;
	return false;
}

static void free_report(struct gw_report *report)
{
	for (size_t i = 0; report->names && i < report->model.name_count; i++)
		free(report->names[i]);
	free(report->names);
	gw_log_model_free(&report->model);
	free(report->lines);
	free(report);
}

/* Before --last=SPAN there was --last, which is now --last-run. */
static void take_old_last(int argc, char **argv)
{
	static char now[] = "--last-run";
	uint64_t ns;

	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--last") &&
		    (i + 1 == argc || !gw_span_read(argv[i + 1], &ns)))
			argv[i] = now;
}

/* The window of the logs chosen. */
static int set_window(const struct options *o, const struct gw_report_logs *logs)
{
	const struct log_window w = {o->since, o->until, o->last};
	char **paths = gw_alloc((logs->count + 1) * sizeof(*paths));
	int status;

	for (size_t i = 0; i < logs->count; i++)
		paths[i] = logs->log[i].path;
	status = log_window_set("report", &w, paths, (int)logs->count);
	free(paths);
	return status;
}

static int report_main(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {.by = "kernel", .sort = "total"};
	struct gw_report_logs logs = {0};
	struct html_series series = {0};
	struct gw_report *report;
	int status, failed;

	take_old_last(argc, argv);
	status = gw_command_parse(command, &argc, argv, &o);
	if (status >= 0)
		return status;
	if (!check_options(&o))
		return GW_EXIT_USAGE;
	failed = choose(&logs, &o, argc, argv);
	if (failed && !logs.count)
		return failed;
	if (set_window(&o, &logs)) {
		gw_report_logs_free(&logs);
		return GW_EXIT_USAGE;
	}
	report = gw_alloc(sizeof(*report));
	gw_log_model_init(&report->model);
	report->model.by = !strcmp(o.by, "config")   ? GW_BY_CONFIG
			   : !strcmp(o.by, "device") ? GW_BY_DEVICE
			   : !strcmp(o.by, "module") ? GW_BY_MODULE
			   : !strcmp(o.by, "range")  ? GW_BY_RANGE
			   : !strcmp(o.by, "line")   ? GW_BY_LINE
			   : !strcmp(o.by, "rank")   ? GW_BY_RANK
						     : GW_BY_KERNEL;
	report->model.device = o.device;
	report->mangled = o.mangled;
	report->full_names = o.full_names;
	report->wide = o.wide;
	report->verbose = o.verbose;
	report->stacks = o.stacks;
	if (o.html)
		html_series_begin(&series, &report->model);
	failed |= read_all(report, &logs);
	status = any_read(&report->model) ? show(report, &series, &o) : GW_EXIT_USAGE;
	if (status == GW_EXIT_OK)
		status = log_window_check("report");
	html_series_free(&series);
	free_report(report);
	gw_report_logs_free(&logs);
	return failed ? GW_EXIT_USAGE : status;
}

const struct gw_command_body gw_report_command = {
	.run = report_main,
	.options = options,
	.description =
		"Reports where the GPU time of a program went: what ran and when, what bounds it,\n"
		"how long the GPU was idle and why, how far off the predictions were, and per "
		"kernel\n"
		"the columns of nsys cuda_gpu_kern_sum beside the time that was predicted before "
		"each\n"
		"launch. The end of the report lists what to fix first; #3 is row 3 of the table.\n"
		"\n"
		"Arguments are logs of libgpuwatch.so, of any number of processes and ranks, and\n"
		"folders of logs; \"-\" is standard input. Without one, the last run is reported: "
		"the\n"
		"newest logs in the current folder, or where GPUWATCH_OUT puts them. Each process\n"
		"counts once, however often its log is given. Logs compressed with zstd are read "
		"as\n"
		"they are. A log may still be growing, or be cut off by a crash: the whole part "
		"is\n"
		"used, and the report states what is missing.\n"
		"\n"
		"Names are short: without return type, namespaces and parameters. Two kernels "
		"never\n"
		"have the same short name.\n"
		"\n"
		"Medians are exact up to 65,536 launches a row, else within 0.5%. Launches that "
		"the log\n"
		"holds as sums (GPUWATCH_LOG_MAX) count in instances, totals, minima, maxima, "
		"mean\n"
		"errors and coverage; medians and deviations are of the others.",
	.examples = "gpuwatch report\n"
		    "Report the last run in this folder.\n"
		    "gpuwatch report --last-run logs/\n"
		    "Report the last run in a folder, all processes and ranks together.\n"
		    "gpuwatch report --last=10m run.gwl\n"
		    "Report the last ten minutes of a log.\n"
		    "gpuwatch report --by=config --filter=gemm --top=10 run.gwl\n"
		    "The ten launch configurations of matrix products that took longest.\n"
		    "gpuwatch report --verbose run.gwl\n"
		    "With gpuwatch's own cost, clocks, code analysis and the causality check.\n"
		    "gpuwatch report --html=run.html run.gwl\n"
		    "One page with charts, to open in a browser.\n"
		    "gpuwatch report --json run.gwl | jq '.kernels[0]'\n"
		    "The first kernel, for a program.\n",
	.exit_status =
		"0 done; 1 no kernel matches --filter, no launch in the span asked for, part of a "
		"log is damaged or cut off, or "
		"with "
		"--verify a prediction used a later measurement; 2 bad options, or a log could not "
		"be read at all (the others are shown).",
};
