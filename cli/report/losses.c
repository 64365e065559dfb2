#include "cli/report/sections.h"

#include "cli/common/number.h"
#include "cli/report/line.h"

#include <stdio.h>

enum { COMPLAINTS = 8 }; /* lines of each log */

static const struct {
	enum gw_counter counter;
	const char *words;
} losses[] = {
	{GW_COUNTER_ring_dropped, "launches lost: a thread's ring was full (GPUWATCH_RING)"},
	{GW_COUNTER_threads_dropped, "launches of threads without a ring"},
	{GW_COUNTER_segment_lost,
	 "launches lost: they waited where the live segment does not reach"},
	{GW_COUNTER_activity_dropped, "activity records dropped by CUPTI"},
	{GW_COUNTER_activity_invalid, "records with impossible times"},
	{GW_COUNTER_events_skipped, "launches not timed: the pool of events was in use"},
	{GW_COUNTER_graph_unknown, "graph launches whose kernels could not be listed"},
	{GW_COUNTER_table_full, "launches without detail: a table was full"},
	{GW_COUNTER_slots_late, "launches seen long after their stream or graph had ended"},
	{GW_COUNTER_threads_unnamed, "threads without a number"},
	{GW_COUNTER_modules_unnamed, "modules without a number"},
	{GW_COUNTER_definitions_dropped,
	 "definitions that later files of the log lack (GPUWATCH_LOG_MAX)"},
	{GW_COUNTER_works_dropped, "results of code analysis without a place to keep them"},
	{GW_COUNTER_log_lost, "records not written to the log"},
};

enum { LOSSES = sizeof(losses) / sizeof(*losses) };

/* Losses as sentences: each call writes the next into @p out; false after the last. */
struct cursor {
	const struct gw_log_model *model;
	size_t loss, file;
	unsigned complaint;
};

static uint64_t sum_of(const struct gw_log_model *m, bool place)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < m->file_count; i++)
		sum += place ? m->files[i].without_place : m->files[i].lost_names;
	return sum;
}

static bool next_loss(struct cursor *c, char *out, size_t size)
{
	const struct gw_log_model *m = c->model;
	struct gw_text n;

	for (; c->loss < LOSSES + 2; c->loss++) {
		uint64_t count = c->loss < LOSSES ? m->counters[losses[c->loss].counter]
						  : sum_of(m, c->loss > LOSSES);

		if (!count)
			continue;
		if (c->loss < LOSSES)
			snprintf(out, size, "%s %s", gw_thousands(&n, (double)count),
				 losses[c->loss].words);
		else
			snprintf(out, size, "%s without a name: %s",
				 gw_counted(&n, (double)count, "launch", "launches"),
				 c->loss > LOSSES ? "there was no place for it"
						  : "it is in a lost part of the log");
		c->loss++;
		return true;
	}
	return false;
}

/* What logs lack, each with its path where there are several logs. */
static bool next_complaint(struct cursor *c, char *out, size_t size)
{
	const struct gw_log_model *m = c->model;
	char text[300];

	for (; c->file < m->file_count; c->file++, c->complaint = 0) {
		const struct gw_file *f = &m->files[c->file];

		if (f->skipped || c->complaint == COMPLAINTS ||
		    !gw_log_complaint(&f->status, c->complaint, text, sizeof(text)))
			continue;
		c->complaint++;
		snprintf(out, size, "%s%s%s", m->file_count > 1 ? f->path : "",
			 m->file_count > 1 ? ": " : "", text);
		return true;
	}
	return false;
}

/* The line's first part, and how many more there are. */
static void first_and_more(const char *label, unsigned width, const char *first, size_t more)
{
	struct report_line line = report_begin(label, width);
	struct gw_text n;
	char rest[40] = "";

	if (more)
		snprintf(rest, sizeof(rest), "and %s more: --verbose",
			 gw_thousands(&n, (double)more));
	line.brief = true;
	line.reserved = more ? sizeof(rest) - 8 : 0;
	report_part(&line, GW_INK_WARN, "%s", first);
	line.reserved = 0;
	if (more)
		report_part(&line, GW_INK_DIM, "%s", rest);
	report_finish(&line, "");
}

static void degraded_text(const struct gw_log_model *m, size_t i, char *out, size_t size)
{
	const struct gw_log_reason *r = &m->reasons[i];
	struct gw_text n;

	if (m->file_count > 1)
		snprintf(out, size, "%s (%s)", r->text,
			 gw_counted(&n, r->files, "process", "processes"));
	else
		snprintf(out, size, "%s", r->text);
}

/* The reason to show alone: the first that concerns more than the code of a kernel. */
static size_t worst(const struct gw_log_model *m)
{
	for (size_t i = 0; i < m->reason_count; i++)
		if (m->reasons[i].code != GW_DEGRADED_ANALYSIS &&
		    m->reasons[i].code != GW_DEGRADED_CODE)
			return i;
	return 0;
}

void gw_report_loss_lines(const struct gw_log_model *m, unsigned width)
{
	struct cursor c = {.model = m};
	char first[1024] = "", text[1024];
	size_t count = 0;

	/* A damaged log first: nothing is known of what it lacks. */
	while (next_complaint(&c, count ? text : first, sizeof(text)))
		count++;
	while (next_loss(&c, count ? text : first, sizeof(text)))
		count++;
	if (count)
		first_and_more("Dropped", width, first, count - 1);
	if (!m->reason_count)
		return;
	degraded_text(m, worst(m), first, sizeof(first));
	first_and_more("Degraded", width, first, m->reason_count - 1);
}

void gw_report_loss_details(const struct gw_log_model *m, unsigned width)
{
	struct report_line line = report_begin("Dropped", width);
	struct cursor c = {.model = m};
	char text[1024];
	bool any = false;

	while (next_loss(&c, text, sizeof(text)))
		report_part(&line, GW_INK_WARN, "%s", text);
	report_finish(&line, "nothing");
	line = report_begin("Degraded", width);
	for (size_t i = 0; i < m->reason_count; i++) {
		degraded_text(m, i, text, sizeof(text));
		report_part(&line, GW_INK_WARN, "%s", text);
	}
	report_finish(&line, "nothing");
	while (next_complaint(&c, text, sizeof(text))) {
		line = report_begin(any ? "" : "Log", width);
		any = true;
		report_part(&line, GW_INK_WARN, "%s", text);
		report_finish(&line, "");
	}
}
