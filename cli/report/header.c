#include "cli/report/sections.h"

#include "cli/common/basis.h"
#include "cli/common/number.h"
#include "cli/log/gaps.h"
#include "cli/log/rows.h"
#include "cli/log/verdict.h"
#include "cli/report/line.h"
#include "cli/report/runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	PIDS = 4,   /* process ids listed one by one */
	PLACE = 30, /* columns for them and the host, whatever the command's length */
};

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
		read += !m->files[i].skipped && !m->files[i].again;
	for (size_t i = 0; i < m->file_count; i++)
		if (*m->files[i].text[GW_TEXT_replay])
			printf("%sthe predictions are those of a replay, %s%s\n",
			       gw_ink(stdout, GW_INK_WARN),
			       gw_printable(path, sizeof(path), m->files[i].text[GW_TEXT_replay]),
			       gw_ink(stdout, GW_INK_OFF));
	printf("%sgpuwatch report%s  %s\n\n", gw_ink(stdout, GW_INK_BOLD),
	       gw_ink(stdout, GW_INK_OFF),
	       m->file_count == 1 ? gw_printable(path, sizeof(path), m->files[0].path)
				  : gw_counted(&n, (double)read, "process", "processes"));
}

/* How many different values text @p which has among the files up to @p end that were read. */
static size_t different(const struct gw_log_model *m, enum gw_header_text which)
{
	size_t count = 0;

	for (size_t i = 0; i < m->file_count; i++) {
		size_t k = 0;

		if (m->files[i].skipped)
			continue;
		while (k < i && (m->files[k].skipped ||
				 strcmp(m->files[k].text[which], m->files[i].text[which])))
			k++;
		count += k == i;
	}
	return count;
}

/* The processes' ids where they are few, and where they ran. */
static void processes(struct report_line *line, const struct gw_log_model *m)
{
	char pids[PIDS * 12 + 1] = "";
	const char *host = "";
	size_t read = 0, n = 0, hosts = different(m, GW_TEXT_host);
	struct gw_text a, b;

	for (size_t i = 0; i < m->file_count; i++) {
		const struct gw_file *f = &m->files[i];

		if (f->skipped || f->again)
			continue;
		if (!*host)
			host = f->text[GW_TEXT_host];
		if (read++ < PIDS && f->status.header)
			n += (size_t)snprintf(pids + n, sizeof(pids) - n, "%s%u", n ? ", " : "",
					      f->header.pid);
	}
	if (read > 1)
		report_part(line, GW_INK_OFF, "%s",
			    gw_counted(&a, (double)read, "process", "processes"));
	if (n)
		report_part(line, GW_INK_DIM, "pid %s%s%s%s", pids, read > PIDS ? ", ..." : "",
			    *host ? " on " : "",
			    hosts > 1 ? gw_counted(&b, (double)hosts, "host", NULL) : host);
}

/* Changes of mode while they ran, by gpuwatch ctl. */
static void switches(struct report_line *line, const struct gw_log_model *m)
{
	char modes[GW_FILE_MODES * 16 + 1] = "";
	size_t n = 0, changes = 0;

	for (size_t i = 0; i < m->file_count; i++) {
		const struct gw_file *f = &m->files[i];

		for (uint32_t k = 0; k < f->mode_count; k++, changes++) {
			const char *name =
				k < GW_FILE_MODES ? gw_mode_name(f->modes[k].mode) : NULL;

			if (name && changes < GW_FILE_MODES)
				n += (size_t)snprintf(modes + n, sizeof(modes) - n, "%s%s",
						      n ? ", " : "", name);
		}
	}
	if (changes)
		report_part(line, GW_INK_WARN, "switched to %s%s", modes,
			    changes > GW_FILE_MODES ? ", ..." : "");
}

static void program(const struct gw_log_model *m, unsigned width)
{
	struct report_line line = report_begin("Program", width);
	size_t commands = different(m, GW_TEXT_command);
	const char *mode = "", *command = "";
	struct gw_text n;

	for (size_t i = 0; i < m->file_count; i++) {
		const struct gw_file *f = &m->files[i];

		if (f->skipped)
			continue;
		if (!*command)
			command = f->text[GW_TEXT_command];
		if (*f->text[GW_TEXT_mode] && strcmp(f->text[GW_TEXT_mode], "audit"))
			mode = f->text[GW_TEXT_mode];
	}
	line.brief = true;
	line.reserved = PLACE;
	report_part(&line, GW_INK_OFF, "%s", *command ? command : "unknown");
	line.reserved = 0;
	if (commands > 1)
		report_part(&line, GW_INK_OFF, "and %s",
			    gw_counted(&n, (double)(commands - 1), "other command", NULL));
	if (*mode)
		report_part(&line, GW_INK_WARN, "mode %s", mode);
	switches(&line, m);
	processes(&line, m);
	report_finish(&line, "unknown");
}

static void local_time(uint64_t ns, char *out, size_t size)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(out, size, "%Y-%m-%d %H:%M:%S %Z", &tm))
		snprintf(out, size, "%llu s after 1970", (unsigned long long)(ns / 1000000000));
}

static void when(const struct gw_log_model *m, unsigned width)
{
	struct report_line line = report_begin("When", width);
	struct gw_span all = {0};
	char from[64], to[64];
	size_t runs = gw_report_runs(m, &all);
	struct gw_text a;

	line.brief = true;
	if (all.from) {
		local_time(all.from, from, sizeof(from));
		local_time(all.to, to, sizeof(to));
		if (runs > 1)
			report_part(&line, GW_INK_WARN, "%s at different times",
				    gw_counted(&a, (double)runs, "run", NULL));
		report_part(&line, GW_INK_OFF, "%s%s%s", from, runs > 1 ? " to " : "",
			    runs > 1 ? to : "");
		if (runs == 1 && all.to > all.from)
			report_part(&line, GW_INK_OFF, "for %s",
				    gw_duration(&a, (double)(all.to - all.from)));
	}
	report_finish(&line, "unknown");
}

static double value_of(const struct gw_log_model *m, enum gw_counter counter)
{
	return (double)m->counters[counter];
}

static void gpu(const struct gw_log_model *m, unsigned width)
{
	struct report_line line = report_begin("GPU", width);
	const struct gw_row *all = &m->all;
	struct gw_text a;

	line.brief = true;
	for (size_t i = 0, same; i < m->gpu_count; i++) {
		const struct gw_gpu *g = &m->gpus[i];
		const char *name = *g->name ? g->name : "without a name";
		size_t before = 0;

		while (before < i && strcmp(m->gpus[before].name, g->name))
			before++;
		if (before < i)
			continue;
		same = 1;
		for (size_t k = i + 1; k < m->gpu_count; k++)
			same += !strcmp(m->gpus[k].name, g->name);
		if (same > 1)
			report_part(&line, GW_INK_OFF, "%zu x %s", same, name);
		else
			report_part(&line, GW_INK_OFF, "%u %s", g->record.ordinal, name);
	}
	report_part(&line, GW_INK_OFF, "%s",
		    gw_counted(&a, (double)all->launches, "kernel run", NULL));
	if (all->measured)
		report_part(&line, GW_INK_OFF, "%s of GPU time", gw_duration(&a, all->total));
	if (all->measured < all->launches)
		report_part(&line, m->counters[GW_COUNTER_windows] ? GW_INK_OFF : GW_INK_WARN,
			    "%s measured",
			    gw_percent(&a, (double)all->measured / (double)all->launches));
	if (m->counters[GW_COUNTER_graphs_timed])
		report_part(&line, GW_INK_OFF, "%s of graph launches timed whole",
			    gw_percent(&a, value_of(m, GW_COUNTER_graphs_timed) /
						   value_of(m, GW_COUNTER_graph_launches)));
	report_finish(&line, "");
}

static void bound(const struct gw_log_model *m, unsigned width)
{
	static const enum gw_bound order[] = {GW_BOUND_MEMORY, GW_BOUND_COMPUTE, GW_BOUND_LATENCY,
					      GW_BOUND_LAUNCH};
	const struct gw_row_bound *b = m->all.bound;
	struct report_line line;
	double all = 0, unknown;
	struct gw_text a;

	if (!b)
		return;
	line = report_begin("Bound", width);
	line.brief = true;
	for (unsigned i = 0; i <= GW_BOUND_LAUNCH; i++)
		all += b->time[i];
	for (unsigned i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (b->time[order[i]] > 0)
			report_part(&line, GW_INK_OFF, "%s %s", gw_bound_name(order[i]),
				    gw_percent(&a, b->time[order[i]] / all));
	unknown = b->time[GW_BOUND_UNKNOWN];
	if (unknown > 0 && b->judged > 0)
		report_part(&line, GW_INK_WARN, "unknown %s: %s", gw_percent(&a, unknown / all),
			    gw_unjudged_words(gw_bound_unjudged(b)));
	else if (unknown > 0)
		report_part(&line, GW_INK_WARN, "unknown: %s",
			    gw_unjudged_words(gw_bound_unjudged(b)));
	report_finish(&line, "");
}

static void predictions(struct gw_row *all, unsigned width)
{
	struct report_line line = report_begin("Predicted", width);
	double single = (double)all->scored_single;
	struct gw_text a;

	if (!all->measured) {
		report_finish(&line, "unknown: nothing was measured");
		return;
	}
	report_part(&line, GW_INK_OFF, "%s of launches",
		    gw_percent(&a, (double)all->scored / (double)all->measured));
	if (all->scored) {
		report_part(&line, GW_INK_BOLD, "median error %s",
			    gw_percent(&a, gw_quantile(&all->error, 0.5)));
		if (all->scored_single)
			report_part(&line, GW_INK_OFF, "within 25%%: %s",
				    gw_percent(&a, (double)all->within25 / single));
		report_part(&line, GW_INK_OFF, "90%% interval: %s",
			    gw_percent(&a, gw_row_coverage(all)));
	}
	if (all->at_least)
		report_part(&line, GW_INK_OFF, "lower limit alone: %s",
			    gw_percent(&a, (double)all->at_least / (double)all->measured));
	report_finish(&line, "");
}

static void basis(const struct gw_row *all, unsigned width)
{
	struct report_line line;
	struct gw_text a;

	if (!all->scored_single)
		return;
	line = report_begin("Basis", width);
	line.brief = true;
	for (unsigned t = GW_TIER_STEADY; t >= GW_TIER_COLD; t--)
		if (all->tiers[t])
			report_part(
				&line, GW_INK_OFF, "%s %s", gw_basis_name((enum gw_tier)t),
				gw_percent(&a, (double)all->tiers[t] / (double)all->scored_single));
	report_finish(&line, "");
}

/* A violation makes every figure above doubtful: it is shown without --verbose. */
static void causality(const struct gw_log_model *m, unsigned width)
{
	uint64_t violations = m->order[GW_ORDER_SELF] + m->order[GW_ORDER_LATER];
	struct report_line line;
	struct gw_text a;

	if (!violations)
		return;
	line = report_begin("Causality", width);
	report_part(&line, GW_INK_BAD, "%s: predictions from later measurements (--verify)",
		    gw_counted(&a, (double)violations, "violation", NULL));
	report_finish(&line, "");
}

void gw_report_header(struct gw_report *report, unsigned width)
{
	struct gw_log_model *m = &report->model;

	title(report);
	program(m, width);
	when(m, width);
	gpu(m, width);
	bound(m, width);
	gw_report_advice_line(m, width);
	if (!gw_report_spent_line(m, width))
		gw_report_idle_line(m, width);
	gw_report_expected_line(m, width);
	predictions(&m->all, width);
	basis(&m->all, width);
	gw_report_slow_line(m, width);
	gw_report_loss_lines(m, width);
	causality(m, width);
}
