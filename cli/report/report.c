/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/report.h"

#include "cli/command.h"
#include "cli/common/demangle.h"
#include "cli/common/memory.h"
#include "cli/message.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct options {
	const char *by, *sort, *filter, *device;
	uint64_t top;
	bool mangled, wide, json, csv, verify;
};

static const char columns[] =
#define COLUMN(id, name, title, kind, priority, by, meaning) "|" #id
#include "cli/report/columns.def"
#undef COLUMN
        ;

static const struct gw_option options[] = {
        GW_OPT_CHOICE(by, "WHAT", "kernel|config|device",
                      "one row per kernel, per kernel and configuration, or per kernel and device"),
        GW_OPT_WORD(sort, "COLUMN", columns,
                    "largest first by this column; name: in alphabetical order (default total)"),
        GW_OPT_TEXT(filter, "REGEX",
                    "only kernels whose demangled name matches (POSIX extended); shares stay those "
                    "of all"),
        GW_OPT_COUNT(top, "N", 0, 0, "only the first N rows; 0: all"),
        GW_OPT_TEXT(device, "GPU",
                    "only launches on this GPU: its number, the begin of its UUID, or part of its "
                    "name"),
        GW_OPT_FLAG(mangled, "names as the compiler wrote them"),
        GW_OPT_FLAG(wide, "text: all columns and whole names, whatever the terminal's width"),
        GW_OPT_FLAG(json, "JSON, raw nanoseconds; docs/report.md describes it"),
        GW_OPT_FLAG(csv, "CSV, raw nanoseconds, one header line"),
        GW_OPT_FLAG(verify,
                    "also list each prediction that knew of a later measurement; exit status 1 "
                    "when there are any"),
        {0},
};

/* Read one log; false when it could not be read, after a message. */
static bool read_one(struct gw_report *report, const char *path)
{
	struct gw_log_model *m = &report->model;

	if (gw_log_model_read(m, path))
		return true;
	gw_error("%s: %s", path, m->files[m->file_count - 1].status.error);
	return false;
}

static int log_name(const struct dirent *entry)
{
	return strstr(entry->d_name, ".gwl") != NULL;
}

/* Read every log of a folder. A broken one among others is told and left out. */
static int read_folder(struct gw_report *report, const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, log_name, alphasort), good = 0, status = 0;

	if (count < 0)
		return gw_error("%s: %s%s", path, strerror(errno), gw_open_remedy(errno));
	for (int i = 0; i < count; i++) {
		size_t size = strlen(path) + strlen(entries[i]->d_name) + 2;
		char *name = gw_alloc(size);

		snprintf(name, size, "%s/%s", path, entries[i]->d_name);
		good += read_one(report, name);
		free(name);
		free(entries[i]);
	}
	free(entries);
	if (!count)
		status = gw_error("%s: no log in this folder (*.gwl, *.gwl.zst)", path);
	else if (!good)
		status = GW_EXIT_USAGE;
	return status;
}

static int read_path(struct gw_report *report, const char *path)
{
	struct stat st;

	if (strcmp(path, "-") && !stat(path, &st) && S_ISDIR(st.st_mode))
		return read_folder(report, path);
	return read_one(report, path) ? 0 : GW_EXIT_USAGE;
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
	int code = regcomp(filter, pattern, REG_EXTENDED | REG_NOSUB);

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

static bool check_options(const struct options *o, int operands)
{
	sort_column = gw_report_column(o->sort);
	if (!operands)
		gw_error("report: name a log or a folder of logs: gpuwatch report gpuwatch.*.gwl");
	else if (o->json && o->csv)
		gw_error("report: --json and --csv exclude each other; give one of them");
	else if (sort_column == GW_COLUMNS)
		gw_error("report: --sort=%s is no column; see the columns in man gpuwatch-report, "
		         "for "
		         "example total, med, instances, error, name",
		         o->sort);
	else
		return true;
	return false;
}

static bool device_known(const struct gw_log_model *m)
{
	for (size_t i = 0; i < m->gpu_count; i++)
		if (gw_gpu_matches(&m->gpus[i], m->device))
			return true;
	gw_error("report: --device=%s is no GPU of these logs; leave it out to see all", m->device);
	return false;
}

static int show(struct gw_report *report, const struct options *o)
{
	const struct gw_log_model *m = &report->model;
	bool violated = m->order[GW_ORDER_SELF] || m->order[GW_ORDER_LATER];

	if (m->device && !device_known(m))
		return GW_EXIT_USAGE;
	if (!arrange(report, o))
		return GW_EXIT_USAGE;
	if (!o->mangled && gw_demangle_missing())
		gw_warning("%s", gw_demangle_missing());
	if (o->json)
		gw_report_json(report);
	else if (o->csv)
		gw_report_csv(report);
	else
		gw_report_text(report);
	if (!o->verify)
		return GW_EXIT_OK;
	if (!o->json && !o->csv)
		gw_report_violations(report);
	return violated ? GW_EXIT_FINDINGS : GW_EXIT_OK;
}

static int report_main(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {.by = "kernel", .sort = "total"};
	struct gw_report *report;
	int status = gw_command_parse(command, &argc, argv, &o), failed = 0;
	size_t readable = 0;

	if (status >= 0)
		return status;
	if (!check_options(&o, argc))
		return GW_EXIT_USAGE;
	report = gw_alloc(sizeof(*report));
	gw_log_model_init(&report->model);
	report->model.by = !strcmp(o.by, "config")   ? GW_BY_CONFIG
	                   : !strcmp(o.by, "device") ? GW_BY_DEVICE
	                                             : GW_BY_KERNEL;
	report->model.device = o.device;
	report->mangled = o.mangled;
	report->wide = o.wide;
	for (int i = 0; i < argc; i++)
		failed |= read_path(report, argv[i]);
	for (size_t i = 0; i < report->model.file_count; i++)
		readable += !report->model.files[i].skipped;
	status = readable ? show(report, &o) : GW_EXIT_USAGE;
	gw_log_model_free(&report->model);
	free(report->lines);
	free(report);
	return failed ? GW_EXIT_USAGE : status;
}

const struct gw_command_body gw_report_command = {
        .run = report_main,
        .options = options,
        .description =
                "Reads the logs that libgpuwatch.so wrote, of any number of processes and ranks, "
                "and\n"
                "shows per kernel the columns of nsys cuda_gpu_kern_sum, then what was predicted "
                "before\n"
                "each launch and how far off it was. A log may still be growing, or be cut off by "
                "a\n"
                "crash: what is whole is used, what is missing is said. The header tells what was "
                "seen,\n"
                "dropped and degraded, and what gpuwatch itself cost.\n"
                "\n"
                "Logs compressed with zstd are read as they are. \"-\" is standard input.\n"
                "\n"
                "Medians are exact up to 65,536 launches a row, else within 0.5%. Launches that "
                "the log\n"
                "holds as sums (GPUWATCH_LOG_MAX) count in instances, totals, "
                "minima,\n"
                "maxima, mean errors and coverage; medians and deviations are of the others.",
        .examples = "gpuwatch report gpuwatch.*.gwl\n"
                    "All processes and ranks of a run together.\n"
                    "gpuwatch report --by=config --filter=gemm --top=10 logs/\n"
                    "The ten configurations of matrix products that took longest.\n"
                    "gpuwatch report --json run.gwl | jq '.kernels[0]'\n"
                    "The first kernel, for a program.\n",
        .exit_status =
                "0 done; 1 with --verify when a prediction knew of a later measurement; 2 bad "
                "options, or a log could not be read at all (the others are shown).",
};
