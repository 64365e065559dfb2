/* What --verbose adds: gpuwatch's own bookkeeping. */
#include "cli/common/basis.h"
#include "cli/common/number.h"
#include "cli/log/rows.h"
#include "cli/report/sections.h"
#include "cli/report/line.h"
#include "cli/report/runs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Ranks are shown where processes differ in them. */
static bool ranked(const struct gw_log_model *m)
{
	for (size_t i = 1; i < m->file_count; i++)
		if (strcmp(m->files[i].text[GW_TEXT_rank], m->files[0].text[GW_TEXT_rank]))
			return true;
	return false;
}

static void processes(const struct gw_log_model *m, unsigned width)
{
	struct report_line line;
	bool ranks = ranked(m);

	if (m->file_count < 2)
		return;
	line = report_begin("Processes", width);
	for (size_t i = 0; i < m->file_count; i++) {
		const struct gw_file *f = &m->files[i];
		const char *command = f->text[GW_TEXT_command], *host = f->text[GW_TEXT_host];

		if (f->skipped)
			continue;
		report_break(&line);
		report_part(&line, GW_INK_OFF, "%s", *command ? command : "unknown");
		if (f->status.header)
			report_part(&line, GW_INK_DIM, "pid %u%s%s", f->header.pid,
				    *host ? " on " : "", host);
		if (ranks && *f->text[GW_TEXT_rank])
			report_part(&line, GW_INK_DIM, "rank %s", f->text[GW_TEXT_rank]);
		if (*f->text[GW_TEXT_mode])
			report_part(&line, GW_INK_DIM, "mode %s", f->text[GW_TEXT_mode]);
	}
	report_finish(&line, "unknown");
}

static void devices(const struct gw_log_model *m, unsigned width)
{
	struct report_line line = report_begin("Devices", width);
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
			report_part(
				&line, GW_INK_DIM, "%s",
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

/* Mode watch measures a part, in sampling windows. */
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

	report_part(&line, GW_INK_OFF, "%s",
		    gw_counted(&a, (double)all->launches, "kernel run", NULL));
	if (c[GW_COUNTER_graph_launches])
		report_part(&line, GW_INK_OFF, "%s of them from %s",
			    gw_thousands(&a, (double)all->from_graph),
			    gw_counted(&b, (double)c[GW_COUNTER_graph_launches], "graph launch",
				       "graph launches"));
	report_part(
		&line,
		all->measured < all->launches && !c[GW_COUNTER_windows] ? GW_INK_WARN : GW_INK_OFF,
		"%s measured (%s%s)", gw_thousands(&a, (double)all->measured),
		gw_percent(&b, all->launches ? (double)all->measured / (double)all->launches : NAN),
		in_windows(c, &d));
	/* A log that was cut off before its first counters has no number of joins. */
	if (counted(m)) {
		bool lost = c[GW_COUNTER_launches_unmatched] || c[GW_COUNTER_activity_unmatched];

		report_part(&line, GW_INK_OFF, "%s joined",
			    gw_thousands(&a, (double)c[GW_COUNTER_joined]));
		report_part(
			&line, lost ? GW_INK_WARN : GW_INK_OFF, "unmatched: %s, %s",
			gw_counted(&a, (double)c[GW_COUNTER_launches_unmatched], "launch",
				   "launches"),
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

/* Length of the run, ns; 0: several, or not known. */
static double run_time(const struct gw_log_model *m)
{
	struct gw_span all = {0};

	return gw_report_runs(m, &all) == 1 && all.to > all.from ? (double)(all.to - all.from) : 0;
}

/* A part of the line with @p ns; where there are none, as in older logs, only if @p always. */
static void took(struct report_line *line, const char *what, uint64_t ns, bool always)
{
	struct gw_text text;

	if (ns || always)
		report_part(line, GW_INK_OFF, "%s %s", what, gw_duration(&text, (double)ns));
}

static void cost(const struct gw_log_model *m, unsigned width)
{
	const uint64_t *c = m->counters;
	struct report_line line = report_begin("Own cost", width);
	struct gw_text a, b;

	if (counted(m)) {
		took(&line, "CPU", c[GW_COUNTER_own_cpu_ns], false);
		if (c[GW_COUNTER_sheds])
			report_part(&line, GW_INK_WARN, "work left out %s (GPUWATCH_CPU_MAX)",
				    gw_counted(&b, (double)c[GW_COUNTER_sheds], "time", NULL));
		took(&line, "worker CPU", c[GW_COUNTER_worker_cpu_ns], true);
		/* On threads of their own: beside the worker's. */
		took(&line, "code analysis CPU", c[GW_COUNTER_analysis_threads_ns], false);
		took(&line, "counters CPU", c[GW_COUNTER_pm_cpu_ns], false);
		took(&line, "attaching CUPTI", c[GW_COUNTER_attach_ns], true);
		took(&line, "sampling windows", c[GW_COUNTER_window_ns], false);
		if (c[GW_COUNTER_yields])
			report_part(&line, GW_INK_OFF, "yielded to another tool %s",
				    gw_counted(&b, (double)c[GW_COUNTER_yields], "time", NULL));
		took(&line, "exit held", c[GW_COUNTER_exit_wait_ns], false);
		took(&line, "event pairs", c[GW_COUNTER_events_ns], false);
		took(&line, "first-use lookups", c[GW_COUNTER_overhead_ns], true);
		report_part(&line, GW_INK_OFF, "log %s",
			    gw_bytes(&a, (double)c[GW_COUNTER_log_bytes]));
		if (run_time(m) > 0)
			report_part(
				&line, GW_INK_OFF, "%s a second",
				gw_bytes(&a, (double)c[GW_COUNTER_log_bytes] * 1e9 / run_time(m)));
		/* Older logs have no account of memory. */
		if (c[GW_COUNTER_memory_max])
			report_part(&line, GW_INK_OFF, "memory up to %s of %s",
				    gw_bytes(&a, (double)c[GW_COUNTER_memory_peak]),
				    gw_bytes(&b, (double)c[GW_COUNTER_memory_max]));
	}
	report_finish(&line, "unknown: no counters in these logs");
}

/* Mode watch: how much its windows took of the program's time, and what keeps them from more. */
static void windows(const struct gw_log_model *m, unsigned width)
{
	const uint64_t *c = m->counters;
	const double count = (double)c[GW_COUNTER_windows], taken = (double)c[GW_COUNTER_window_ns];
	const double run = run_time(m);
	struct report_line line;
	struct gw_text a;

	if (!c[GW_COUNTER_windows])
		return;
	line = report_begin("Windows", width);
	report_part(&line, GW_INK_OFF, "%s", gw_thousands(&a, count));
	if (run > 0)
		report_part(&line, GW_INK_OFF, "one each %s", gw_duration(&a, run / count));
	report_part(&line, GW_INK_OFF, "each charged %s", gw_duration(&a, taken / count));
	if (run > 0)
		report_part(&line, GW_INK_OFF, "%s of the time", gw_percent(&a, taken / run));
	report_part(&line, GW_INK_DIM, "GPUWATCH_BUDGET sets that share");
	if (c[GW_COUNTER_windows_put_off])
		report_part(&line, GW_INK_OFF, "%s late: a capture or unfinished kernels",
			    gw_thousands(&a, (double)c[GW_COUNTER_windows_put_off]));
	if (c[GW_COUNTER_sheds])
		report_part(&line, GW_INK_WARN, "fewer while work was left out (GPUWATCH_CPU_MAX)");
	if (c[GW_COUNTER_events_skipped])
		report_part(
			&line, GW_INK_OFF, "%s not timed: no free event pair, or a capture",
			gw_counted(&a, (double)c[GW_COUNTER_events_skipped], "launch", "launches"));
	if (c[GW_COUNTER_events_unsure])
		report_part(&line, GW_INK_OFF, "%s not used: the GPU waited for the call",
			    gw_counted(&a, (double)c[GW_COUNTER_events_unsure], "time", NULL));
	report_finish(&line, "");
}

static void predictions(struct gw_row *all, unsigned width)
{
	struct report_line line;
	double measured = (double)all->measured, single = (double)all->scored_single;
	struct gw_text a;

	if (!all->measured)
		return;
	line = report_begin("Predicted", width);
	report_part(&line, GW_INK_OFF, "%s of measured launches before the call",
		    gw_percent(&a, (double)(all->scored - all->late) / measured));
	if (all->late)
		report_part(&line, GW_INK_OFF, "%s after it, from the state at the call",
			    gw_percent(&a, (double)all->late / measured));
	report_part(&line, GW_INK_OFF, "%s unknown",
		    gw_thousands(&a, (double)(all->measured - all->scored)));
	if (all->scored)
		report_part(&line, GW_INK_OFF, "MAPE %s", gw_percent(&a, gw_row_mape(all)));
	if (all->scored_single)
		report_part(&line, GW_INK_OFF, "within 10%%: %s",
			    gw_percent(&a, (double)all->within10 / single));
	report_finish(&line, "");
}

/* Where the work behind predictions came from. */
static void work(const struct gw_row *all, unsigned width)
{
	static const enum gw_source order[] = {GW_SOURCE_COUNTED, GW_SOURCE_GIVEN, GW_SOURCE_SCALED,
					       GW_SOURCE_STATIC, GW_SOURCE_NONE};
	struct report_line line;
	struct gw_text a;

	if (!all->scored_single)
		return;
	line = report_begin("Work", width);
	for (unsigned i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (all->works[order[i]])
			report_part(&line, GW_INK_OFF, "%s %s", gw_work_basis_name(order[i]),
				    gw_percent(&a, (double)all->works[order[i]] /
							   (double)all->scored_single));
	report_part(&line, GW_INK_DIM, "of predictions");
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
	line = report_begin("Causality", width);
	for (size_t i = 0; i < m->file_count; i++)
		untimed += m->files[i].untimed;
	report_part(&line, violations ? GW_INK_OFF : GW_INK_GOOD, "check passed by %s of %s",
		    gw_thousands(&a, (double)o[GW_ORDER_PROVEN]),
		    gw_counted(&b, (double)all, "prediction", NULL));
	if (o[GW_ORDER_UNPROVEN])
		report_part(&line, m->summed ? GW_INK_DIM : GW_INK_WARN, "%s not checked: %s",
			    gw_thousands(&a, (double)o[GW_ORDER_UNPROVEN]),
			    m->summed ? "this log has sums, and single launches as a sample"
				      : "records before them are lost");
	else if (!violations)
		report_part(&line, GW_INK_DIM, "each made before its measurement");
	if (violations)
		report_part(&line, GW_INK_BAD, "%s (--verify lists them)",
			    gw_counted(&a, (double)violations, "violation", NULL));
	if (untimed)
		report_part(
			&line, GW_INK_DIM, "%s no start time: checked by number only",
			gw_counted(&a, (double)untimed, "measurement has", "measurements have"));
	report_finish(&line, "");
}

void gw_report_details(struct gw_report *report, unsigned width)
{
	struct gw_log_model *m = &report->model;

	processes(m, width);
	devices(m, width);
	seen(m, width);
	windows(m, width);
	cost(m, width);
	gw_report_verdict_details(m, width);
	predictions(&m->all, width);
	work(&m->all, width);
	gw_report_code_lines(report, width);
	gw_report_spent_details(&report->model, width);
	gw_report_clock_details(report, width);
	order(m, width);
	gw_report_loss_details(m, width);
}
