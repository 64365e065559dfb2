/* gpuwatch export: a log in another tool's format. */
#include "cli/export/export.h"

#include "cli/command.h"
#include "cli/common/memory.h"
#include "cli/log/folder.h"
#include "cli/window/window.h"
#include "cli/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
	const char *format, *output, *kernel, *table;
	const char *since, *until, *last;
};

static const struct {
	const char *name;
	const struct export_format *format;
} formats[] = {
#define FORMAT(name, summary) {#name, &export_##name},
#include "cli/export/formats.def"
#undef FORMAT
};

static const struct {
	const char *name;
	const struct export_format *format;
} tables[] = {
	{"launches", &export_parquet},
#define TABLE(name, rows, meaning) {#name, &export_table_##name},
#define COLUMN(name, kind, known, value)
#define TABLE_END(name)
#include "cli/export/tables.def"
#undef TABLE
#undef TABLE_END
};

static const char table_words[] = "launches"
#define TABLE(name, rows, meaning) "|" #name
#define TABLE_END(name)
#include "cli/export/tables.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END
	;

/* Each word after a bar; the option takes what follows the first. */
static const char words[] =
#define FORMAT(name, summary) "|" #name
#include "cli/export/formats.def"
#undef FORMAT
	;

static const struct gw_option options[] = {
	GW_OPT_CHOICE(format, "NAME", &words[1], "what to write"),
	GW_OPT_OUT(
		output, "FILE",
		"where to; - is standard output, which sqlite does not take. FILE is there once it "
		"is whole"),
	LOG_WINDOW_OPTIONS,
	GW_OPT_CHOICE(table, "TABLE", table_words,
		      "what a parquet file has a row for; launches by default"),
	GW_OPT_TEXT(kernel, "REGEX", "only kernels whose demangled name matches (POSIX extended)"),
	{0},
};

static const struct export_format *format_of(const char *name)
{
	size_t i = 0;

	while (strcmp(formats[i].name, name) != 0)
		i++;
	return formats[i].format;
}

static const struct export_format *table_of(const char *name)
{
	size_t i = 0;

	while (strcmp(tables[i].name, name) != 0)
		i++;
	return tables[i].format;
}

static bool check(const struct options *o, int operands)
{
	if (!o->format)
		gw_error("export: missing --format; give one of %s", &words[1]);
	else if (!o->output)
		gw_error("export: missing output; give -o FILE, or -o - for standard output");
	else if (!operands)
		gw_error("export: missing log argument; give gpuwatch.*.gwl");
	else if (o->table && format_of(o->format) != &export_parquet)
		gw_error("export: --table=%s is of --format=parquet; leave it out, or give that "
			 "format",
			 o->table);
	else
		return true;
	return false;
}

static bool check_output(const struct options *o, const struct export_format *format)
{
	if (strcmp(o->output, "-") != 0)
		return true;
	if (format->file)
		gw_error("export: %s needs a file; give -o FILE", o->format);
	else if (format->binary && isatty(1))
		gw_error("export: %s is not text and standard output is a terminal; give -o FILE",
			 o->format);
	else
		return true;
	return false;
}

/* The logs that the operands stand for. */
struct paths {
	char **list;
	size_t count, room;
};

static bool add_path(void *arg, const char *path)
{
	struct paths *p = arg;

	GW_GROW(p->list, &p->room, ++p->count);
	p->list[p->count - 1] = gw_copy(path);
	return true;
}

static void free_paths(struct paths *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->list[i]);
	free(p->list);
}

static int export_logs(const struct options *o, const struct export_filter *filter,
		       const struct paths *paths)
{
	const struct export_format *format = o->table ? table_of(o->table) : format_of(o->format);
	struct gw_log_model model;
	struct export_out out;
	struct export e = {.out = &out, .model = &model};
	bool good;

	if (!check_output(o, format) || !export_open(&out, o->output))
		return GW_EXIT_USAGE;
	gw_log_model_init(&model);
	model.by = GW_BY_CONFIG;
	model.names_only = true;
	good = export_read(&e, format, filter, paths->list, (int)paths->count);
	if (format->end)
		good = format->end(&e) && good;
	good = export_close(&out, good);
	gw_log_model_free(&model);
	if (good && o->kernel && !e.matched) {
		gw_warning("export: no kernel matches --kernel=%s", o->kernel);
		return GW_EXIT_FINDINGS;
	}
	return good ? GW_EXIT_OK : GW_EXIT_USAGE;
}

static int run(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {0};
	struct export_filter filter;
	struct paths paths = {0};
	regex_t kernel;
	int status = gw_command_parse(command, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (!check(&o, argc))
		return GW_EXIT_USAGE;
	status = log_window_set("export", &(struct log_window){o.since, o.until, o.last}, argv,
				argc);
	if (status)
		return status;
	filter = (struct export_filter){0};
	if (o.kernel) {
		int error = regcomp(&kernel, o.kernel, REG_EXTENDED | REG_NOSUB);
		char why[200];

		if (error) {
			regerror(error, &kernel, why, sizeof(why));
			return gw_error(
				"export: --kernel=%s: %s; give a POSIX extended regular expression",
				o.kernel, why);
		}
		filter.kernel = &kernel;
	}
	for (int i = 0; i < argc && !status; i++)
		status = gw_log_each(argv[i], add_path, &paths);
	if (!status)
		status = export_logs(&o, &filter, &paths);
	free_paths(&paths);
	if (filter.kernel)
		regfree(&kernel);
	return status ? status : log_window_check("export");
}

const struct gw_command_body gw_export_command = {
	.run = run,
	.options = options,
	.description = "Writes logs in a format that other tools read.\n\n"
#define FORMAT(name, summary) "`" #name "`: " summary ".\n\n"
#include "cli/export/formats.def"
#undef FORMAT
#define TABLE(name, rows, meaning) "`" #name "`: " meaning ".\n\n"
#define COLUMN(name, kind, known, value)
#define TABLE_END(name)
		       "Tables of parquet beside `launches`:\n\n"
#include "cli/export/tables.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END
		       "Timelines leave out launches whose start is unknown. Launches "
		       "that a log holds as "
		       "sums only are in `openmetrics`, in `pprof` and in the table `kernels`; "
		       "other formats leave "
		       "them out with a warning.",
	.examples = "gpuwatch export --format=perfetto -o train.pftrace gpuwatch.4711.gwl\n"
		    "  A timeline for https://ui.perfetto.dev.\n"
		    "gpuwatch export --format=parquet -o train.parquet gpuwatch.4711.gwl\n"
		    "  Launches for DuckDB, pandas, PyArrow or Spark.\n"
		    "gpuwatch export --format=csv --kernel=gemm -o - gpuwatch.4711.gwl | head\n"
		    "  The first launches of some kernels.\n",
};
