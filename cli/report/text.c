/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/log/rows.h"
#include "cli/log/verdict.h"
#include "cli/common/memory.h"
#include "cli/common/number.h"
#include "cli/report/report.h"
#include "cli/report/bound.h"
#include "cli/report/clock.h"
#include "cli/report/code.h"
#include "cli/report/line.h"
#include "cli/message.h"
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 4 }; /* programs told one by one */

static void programs(const struct gw_log_model *m, unsigned width)
{
	struct report_line line = report_begin("Program", width);
	size_t told = 0, read = 0;
	bool ranks;
	struct gw_text n;

	for (size_t i = 0; i < m->file_count; i++) {
		const struct gw_file *f = &m->files[i];
		const char *command = f->text[GW_TEXT_command], *host = f->text[GW_TEXT_host];

		if (f->skipped)
			continue;
		read++;
		if (told == PROGRAMS)
			continue;
		told++;
		report_break(&line);
		report_part(&line, GW_INK_OFF, "%s", *command ? command : "unknown");
		if (*f->text[GW_TEXT_mode] && strcmp(f->text[GW_TEXT_mode], "audit"))
			report_part(&line, GW_INK_WARN, "mode %s", f->text[GW_TEXT_mode]);
		ranks = m->file_count > 1 && *f->text[GW_TEXT_rank];
		if (f->status.header)
			report_part(&line, GW_INK_DIM, "pid %u%s%s%s%s", f->header.pid,
			     *host ? " on " : "", host, ranks ? ", rank " : "",
			     ranks ? f->text[GW_TEXT_rank] : "");
	}
	if (read > told)
		report_part(&line, GW_INK_DIM, "and %s",
		     gw_counted(&n, (double)(read - told), "process more", "processes more"));
	report_finish(&line, "unknown");
}

static void devices(const struct gw_log_model *m, unsigned width)
{
	struct report_line line = report_begin("Device", width);
	struct gw_text memory, launches;

	for (size_t i = 0; i < m->gpu_count; i++) {
		const struct gw_gpu *g = &m->gpus[i];

		report_break(&line);
		report_part(&line, GW_INK_OFF, "%u %s", g->record.ordinal,
		     *g->name ? g->name : "without a name");
		report_part(&line, GW_INK_DIM, "sm_%u", g->record.compute_capability);
		report_part(&line, GW_INK_DIM, "%u SMs", g->record.sm_count);
		report_part(&line, GW_INK_DIM, "%s", gw_bytes(&memory, (double)g->record.memory));
		report_part(&line, GW_INK_DIM, "driver API %u.%u", g->record.driver_version / 1000,
		     g->record.driver_version % 1000 / 10);
		if (m->gpu_count > 1)
			report_part(&line, GW_INK_DIM, "%s",
			     gw_counted(&launches, (double)g->launches, "launch", "launches"));
	}
	report_finish(&line, "none in these logs");
}

static bool counted(const struct gw_log_model *m)
{
	for (size_t i = 0; i < m->file_count; i++)
		if (m->files[i].counted)
			return true;
	return false;
}

/* Mode watch measures a part on purpose. */
static const char *in_windows(const uint64_t *c, struct gw_text *out)
{
	struct gw_text n;

	out->s[0] = 0;
	if (c[GW_COUNTER_windows])
		snprintf(out->s, sizeof(out->s), " in %s",
		         gw_counted(&n, (double)c[GW_COUNTER_windows], "window", NULL));
	return out->s;
}

static void seen(const struct gw_log_model *m, unsigned width)
{
	const uint64_t *c = m->counters;
	const struct gw_row *all = &m->all;
	struct report_line line = report_begin("Seen", width);
	struct gw_text a, b, d;

	report_part(&line, GW_INK_OFF, "%s", gw_counted(&a, (double)all->launches, "kernel run", NULL));
	if (c[GW_COUNTER_graph_launches])
		report_part(&line, GW_INK_OFF, "%s of them by %s", gw_thousands(&a, (double)all->from_graph),
		     gw_counted(&b, (double)c[GW_COUNTER_graph_launches], "graph launch",
		                "graph launches"));
	report_part(&line,
	     all->measured < all->launches && !c[GW_COUNTER_windows] ? GW_INK_WARN : GW_INK_OFF,
	     "%s measured (%s%s)", gw_thousands(&a, (double)all->measured),
	     gw_percent(&b, all->launches ? (double)all->measured / (double)all->launches : NAN),
	     in_windows(c, &d));
	/* A log that was cut off before its first counters says nothing of joins. */
	if (counted(m)) {
		bool lost = c[GW_COUNTER_launches_unmatched] || c[GW_COUNTER_activity_unmatched];

		report_part(&line, GW_INK_OFF, "%s joined", gw_thousands(&a, (double)c[GW_COUNTER_joined]));
		report_part(&line, lost ? GW_INK_WARN : GW_INK_OFF, "unmatched: %s, %s",
		     gw_counted(&a, (double)c[GW_COUNTER_launches_unmatched], "launch", "launches"),
		     gw_counted(&b, (double)c[GW_COUNTER_activity_unmatched], "record", NULL));
	}
	if (c[GW_COUNTER_captured])
		report_part(&line, GW_INK_DIM, "%s captured",
		     gw_thousands(&d, (double)c[GW_COUNTER_captured]));
	if (c[GW_COUNTER_failed])
		report_part(&line, GW_INK_WARN, "%s refused by the driver",
		     gw_thousands(&d, (double)c[GW_COUNTER_failed]));
	report_finish(&line, "");
}

/* Everything that was lost or left out on the way, in the counters' own words. */
static void dropped(const struct gw_log_model *m, unsigned width)
{
	static const struct {
		enum gw_counter counter;
		const char *words;
	} losses[] = {
	        {GW_COUNTER_ring_dropped,
	         "launches lost: a thread's ring was full (GPUWATCH_RING)"},
	        {GW_COUNTER_threads_dropped, "launches of threads without a ring"},
	        {GW_COUNTER_activity_dropped, "activity records dropped by CUPTI"},
	        {GW_COUNTER_activity_invalid, "records with impossible times"},
	        {GW_COUNTER_events_skipped, "launches not timed: the pool of events was in use"},
	        {GW_COUNTER_graph_unknown, "graph launches whose kernels could not be listed"},
	        {GW_COUNTER_table_full, "launches without detail: a table was full"},
	        {GW_COUNTER_slots_late, "launches seen long after their stream or graph had ended"},
	        {GW_COUNTER_threads_unnamed, "threads without a number"},
	        {GW_COUNTER_modules_unnamed, "modules without a number"},
	        {GW_COUNTER_works_dropped, "times work was found out and not kept"},
	        {GW_COUNTER_log_lost, "records not written to the log"},
	};
	struct report_line line = report_begin("Dropped", width);
	uint64_t lost_names = 0, without_place = 0;
	struct gw_text n;

	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++)
		if (m->counters[losses[i].counter])
			report_part(&line, GW_INK_WARN, "%s %s",
			     gw_thousands(&n, (double)m->counters[losses[i].counter]), losses[i].words);
	for (size_t i = 0; i < m->file_count; i++)
		lost_names += m->files[i].lost_names, without_place += m->files[i].without_place;
	if (lost_names)
		report_part(&line, GW_INK_WARN, "%s without a name: it is in a lost part of the log",
		     gw_counted(&n, (double)lost_names, "launch", "launches"));
	if (without_place)
		report_part(&line, GW_INK_WARN, "%s without a name: there was no place for it",
		     gw_counted(&n, (double)without_place, "launch", "launches"));
	report_finish(&line, "nothing");
}

static void degraded(const struct gw_log_model *m, unsigned width)
{
	struct report_line line = report_begin("Degraded", width);
	struct gw_text n;

	for (size_t i = 0; i < m->reason_count; i++) {
		const struct gw_log_reason *r = &m->reasons[i];

		if (m->file_count > 1)
			report_part(&line, GW_INK_WARN, "%s (%s)", r->text,
			     gw_counted(&n, r->files, "process", "processes"));
		else
			report_part(&line, GW_INK_WARN, "%s", r->text);
	}
	report_finish(&line, "nothing");
}

static void cost(const struct gw_log_model *m, unsigned width)
{
	const uint64_t *c = m->counters;
	struct report_line line = report_begin("Own cost", width);
	struct gw_text a, b;

	if (counted(m)) {
		report_part(&line, GW_INK_OFF, "worker CPU %s",
		     gw_duration(&a, (double)c[GW_COUNTER_worker_cpu_ns]));
		report_part(&line, GW_INK_OFF, "attaching %s",
		     gw_duration(&a, (double)c[GW_COUNTER_attach_ns]));
		if (c[GW_COUNTER_window_ns])
			report_part(&line, GW_INK_OFF, "windows %s",
			     gw_duration(&a, (double)c[GW_COUNTER_window_ns]));
		if (c[GW_COUNTER_yields])
			report_part(&line, GW_INK_OFF, "gave way to another tool %s",
			     gw_counted(&b, (double)c[GW_COUNTER_yields], "time", NULL));
		report_part(&line, GW_INK_OFF, "first sights %s",
		     gw_duration(&a, (double)c[GW_COUNTER_overhead_ns]));
		report_part(&line, GW_INK_OFF, "log %s", gw_bytes(&a, (double)c[GW_COUNTER_log_bytes]));
		/* Logs of before the account have none. */
		if (c[GW_COUNTER_memory_max])
			report_part(&line, GW_INK_OFF, "memory up to %s of %s",
			     gw_bytes(&a, (double)c[GW_COUNTER_memory_peak]),
			     gw_bytes(&b, (double)c[GW_COUNTER_memory_max]));
	}
	report_finish(&line, "unknown: no counters in these logs");
}

static void predictions(struct gw_log_model *m, unsigned width)
{
	struct gw_row *all = &m->all;
	struct report_line line = report_begin("Predicted", width);
	double single = (double)all->scored_single;
	uint64_t before = all->scored - all->late;
	struct gw_text a, b;

	if (!all->measured) {
		report_finish(&line, "nothing was measured, so nothing can be said");
		return;
	}
	report_part(&line, GW_INK_OFF, "%s of measured launches before the call",
	     gw_percent(&a, (double)before / (double)all->measured));
	if (all->late)
		report_part(&line, GW_INK_OFF, "%s later from what was known at the call",
		     gw_percent(&a, (double)all->late / (double)all->measured));
	report_part(&line, GW_INK_OFF, "%s unknown", gw_thousands(&a, (double)(all->measured - all->scored)));
	if (all->scored) {
		report_part(&line, GW_INK_BOLD, "median error %s",
		     gw_percent(&a, gw_quantile(&all->error, 0.5)));
		report_part(&line, GW_INK_OFF, "MAPE %s", gw_percent(&a, gw_row_mape(all)));
		report_part(&line, GW_INK_OFF, "within 10%%: %s, 25%%: %s",
		     gw_percent(&a, (double)all->within10 / single),
		     gw_percent(&b, (double)all->within25 / single));
		report_part(&line, GW_INK_OFF, "90%% interval held %s",
		     gw_percent(&a, gw_row_coverage(all)));
	}
	report_finish(&line, "");
}

static void order(const struct gw_log_model *m, unsigned width)
{
	const uint64_t *o = m->order;
	uint64_t violations = o[GW_ORDER_SELF] + o[GW_ORDER_LATER], untimed = 0;
	uint64_t all = o[GW_ORDER_PROVEN] + o[GW_ORDER_UNPROVEN] + violations;
	struct report_line line;
	struct gw_text a, b;

	if (!all)
		return;
	line = report_begin("Order", width);
	for (size_t i = 0; i < m->file_count; i++)
		untimed += m->files[i].untimed;
	report_part(&line, violations ? GW_INK_OFF : GW_INK_GOOD, "proven for %s of %s",
	     gw_thousands(&a, (double)o[GW_ORDER_PROVEN]),
	     gw_counted(&b, (double)all, "prediction", NULL));
	if (o[GW_ORDER_UNPROVEN])
		report_part(&line, GW_INK_WARN, "%s open: records before them are lost",
		     gw_thousands(&a, (double)o[GW_ORDER_UNPROVEN]));
	else if (!violations)
		report_part(&line, GW_INK_DIM, "each made before its measurement");
	if (violations)
		report_part(&line, GW_INK_BAD, "%s (--verify lists them)",
		     gw_counted(&a, (double)violations, "violation", NULL));
	if (untimed)
		report_part(&line, GW_INK_DIM, "%s no start time and could be checked by number only",
		     gw_counted(&a, (double)untimed, "measurement has", "measurements have"));
	report_finish(&line, "");
}

enum { COMPLAINTS = 8 }; /* lines told of each log */

static void missing(const struct gw_log_model *m, unsigned width)
{
	for (size_t i = 0; i < m->file_count; i++) {
		const struct gw_file *f = &m->files[i];
		char text[300];

		for (unsigned n = 0; n < COMPLAINTS && !f->skipped; n++) {
			struct report_line line;

			if (!gw_log_complaint(&f->status, n, text, sizeof(text)))
				break;
			line = report_begin(n ? "" : "Log", width);
			report_part(&line, GW_INK_WARN, "%s%s%s", m->file_count > 1 ? f->path : "",
			     m->file_count > 1 ? ": " : "", text);
			report_finish(&line, "");
		}
	}
}

static const char *number(const struct gw_column_info *info, double value, struct gw_text *text)
{
	switch (info->kind) {
	case GW_KIND_TIME:
		return gw_duration(text, value);
	case GW_KIND_SHARE:
		return gw_percent(text, value);
	default:
		return gw_thousands(text, value);
	}
}

static void name_cell(struct gw_table *table, const struct gw_report *report,
                      const struct gw_report_line *line)
{
	char flags[32];
	const char *name = gw_report_cell(report, line, GW_COLUMN_name, NULL, 0);

	gw_table_cell(table, gw_report_flags(line->row, true, flags, sizeof(flags)));
	gw_table_cell(table, name);
}

/* Columns of bounds would be empty where no launch has a verdict. */
static bool says_nothing(const struct gw_report *report, unsigned c)
{
	const struct gw_row_bound *b = report->model.all.bound;

	return c >= GW_COLUMN_bound && c <= GW_COLUMN_issue && !(b && b->judged > 0);
}

static bool text_column(const struct gw_report *report, unsigned c)
{
	return !says_nothing(report, c) && *gw_columns_info[c].title && c != GW_COLUMN_name && gw_report_has(report, c);
}

static struct gw_table *build(const struct gw_report *report)
{
	struct gw_table_column columns[GW_COLUMNS + 2];
	struct gw_table *table;
	unsigned count = 0;

	for (unsigned c = 0; c < GW_COLUMNS; c++)
		if (text_column(report, c))
			columns[count++] = (struct gw_table_column){
			        gw_columns_info[c].title, gw_columns_info[c].kind != GW_KIND_TEXT,
			        false, gw_columns_info[c].priority};
	columns[count++] = (struct gw_table_column){"", false, false, 2};
	columns[count++] = (struct gw_table_column){"Name", false, true, 0};
	table = gw_table_new(columns, count);
	for (size_t i = 0; i < report->count; i++) {
		for (unsigned c = 0; c < GW_COLUMNS; c++) {
			const struct gw_report_line *line = &report->lines[i];
			char buffer[160];
			struct gw_text text;

			if (!text_column(report, c))
				continue;
			gw_table_cell(
			        table,
			        gw_columns_info[c].kind == GW_KIND_TEXT
			                ? gw_report_cell(report, line, c, buffer, sizeof(buffer))
			                : number(&gw_columns_info[c], line->value[c], &text));
		}
		name_cell(table, report, &report->lines[i]);
	}
	return table;
}

/* The meaning of the flags that occur. */
static void legend(const struct gw_report *report, unsigned width)
{
	struct report_line line = {"", 0, width};
	bool any = false;

#define FLAG(name, letter, condition, meaning)                                                     \
	for (size_t i = 0; i < report->count; i++) {                                               \
		const struct gw_row *row = report->lines[i].row;                                   \
		if (!(condition))                                                                  \
			continue;                                                                  \
		if (!any) {                                                                        \
			putchar('\n');                                                             \
			line = report_begin("Flags", width);                                              \
		}                                                                                  \
		any = true;                                                                        \
		report_part(&line, GW_INK_DIM, letter " " meaning);                                       \
		break;                                                                             \
	}
#include "cli/report/flags.def"
#undef FLAG
	if (any)
		putchar('\n');
}

static void title(const struct gw_report *report)
{
	const struct gw_log_model *m = &report->model;
	size_t read = 0;
	char path[512];
	struct gw_text n;

	if (m->stand_in)
		printf("%s" GW_STAND_IN_NOTICE "%s\n", gw_ink(stdout, GW_INK_WARN),
		       gw_ink(stdout, GW_INK_OFF));
	for (size_t i = 0; i < m->file_count; i++)
		read += !m->files[i].skipped;
	for (size_t i = 0; i < m->file_count; i++)
		if (*m->files[i].text[GW_TEXT_replay])
			printf("%sthe predictions are of a replay, %s%s\n",
			       gw_ink(stdout, GW_INK_WARN),
			       gw_printable(path, sizeof(path), m->files[i].text[GW_TEXT_replay]),
			       gw_ink(stdout, GW_INK_OFF));
	printf("%sgpuwatch report%s  %s\n\n", gw_ink(stdout, GW_INK_BOLD),
	       gw_ink(stdout, GW_INK_OFF),
	       m->file_count == 1 ? gw_printable(path, sizeof(path), m->files[0].path)
	                          : gw_counted(&n, (double)read, "process", "processes"));
}

void gw_report_text(struct gw_report *report)
{
	struct gw_log_model *m = &report->model;
	unsigned width = gw_width(), left;
	struct gw_table *table;
	struct gw_text n;

	title(report);
	programs(m, width);
	devices(m, width);
	seen(m, width);
	dropped(m, width);
	degraded(m, width);
	cost(m, width);
	predictions(m, width);
	gw_report_code_lines(m, width);
	gw_report_bound_lines(report, width);
	gw_report_clock_lines(report, width);
	order(m, width);
	missing(m, width);
	putchar('\n');
	if (!m->row_count) {
		printf("  No kernel in %s.\n", m->file_count == 1 ? "this log" : "these logs");
		return;
	}
	table = build(report);
	left = gw_table_print(table, stdout, report->wide ? 0 : width, 2);
	gw_table_free(table);
	if (report->hidden)
		printf("\n  %s%s not shown%s\n", gw_ink(stdout, GW_INK_DIM),
		       gw_counted(&n, (double)report->hidden, "row", NULL),
		       gw_ink(stdout, GW_INK_OFF));
	gw_report_fix_lines(report, width);
	legend(report, width);
	if (left)
		printf("%s\n  %s did not fit; --wide shows all%s\n", gw_ink(stdout, GW_INK_DIM),
		       gw_counted(&n, left, "column", NULL), gw_ink(stdout, GW_INK_OFF));
}

void gw_report_violations(const struct gw_report *report)
{
	const struct gw_log_model *m = &report->model;
	uint64_t all = m->order[GW_ORDER_SELF] + m->order[GW_ORDER_LATER];
	struct gw_text a, b;

	printf("\nOrder of predictions: %s\n",
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
			printf("knows %s measurements, only %s stand before it\n",
			       gw_thousands(&a, (double)v->known), gw_thousands(&b, (double)v->learnt));
		else
			printf("called at %llu ns, but knows %s measurements, the last of which "
			       "ended after that\n",
			       (unsigned long long)v->call_ns, gw_thousands(&a, (double)v->known));
	}
	if (all > m->violation_count)
		printf("  and %s more\n", gw_thousands(&a, (double)(all - m->violation_count)));
}
