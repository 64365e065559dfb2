#include "cli/ranks/show.h"

#include "cli/common/json.h"
#include "cli/common/memory.h"
#include "cli/common/number.h"
#include "cli/message.h"
#include "cli/report/line.h"
#include "cli/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SHORT = 16,      /* rows */
	APART_SHOWN = 20 /* one step in so many that is left out: logs begin and end apart */
};

static const char *const joins[] = {
	[RANKS_BY_NOTHING] = "nothing",
	[RANKS_BY_COPIES] = "copies to the host and back",
	[RANKS_BY_NAME] = "the order of kernels of one name",
	[RANKS_BY_NUMBER] = "NCCL's sequence numbers",
};

static const char *const reasons[] = {
	[RANKS_BY_NOTHING] = "no collective",
	[RANKS_BY_COPIES] = "no kernel of NCCL ran; a copy to the host and the next one back of as "
			    "many bytes stand for a collective",
	[RANKS_BY_NAME] = "NCCL did not report to gpuwatch (NCCL_PROFILER_PLUGIN, NCCL 2.27 or "
			  "newer): a lost launch would join the wrong ones",
	[RANKS_BY_NUMBER] = NULL,
};

const char *ranks_label(const struct ranks_shown *s, size_t rank)
{
	return *s->logs[rank].label ? s->logs[rank].label : s->logs[rank].path;
}

static double sum(const struct ranks_step *s)
{
	double all = 0;

	for (unsigned p = 0; p < RANKS_PARTS; p++)
		all += (double)s->part[p];
	return all;
}

/* Of all of its steps. */
struct total {
	double part[RANKS_PARTS], all, caused, waited; /* waited: for `waited_for` */
	uint32_t waited_for, rank;
};

static struct total total_of(const struct ranks_job *job, uint32_t rank, double *waits)
{
	struct total t = {.waited_for = RANKS_NO_STEP, .rank = rank};

	memset(waits, 0, job->rank_count * sizeof(*waits));
	for (size_t i = 0; i < job->step_count; i++) {
		const struct ranks_step *s = &job->ranks[rank].steps[i];

		for (unsigned p = 0; p < RANKS_PARTS; p++)
			t.part[p] += (double)s->part[p];
		t.all += sum(s);
		t.caused += (double)s->caused;
		if (s->waited_for == RANKS_NO_STEP)
			continue;
		waits[s->waited_for] += (double)s->least;
		if (waits[s->waited_for] > t.waited) {
			t.waited = waits[s->waited_for];
			t.waited_for = s->waited_for;
		}
	}
	return t;
}

static struct total *totals(const struct ranks_job *job)
{
	struct total *all = gw_alloc(job->rank_count * sizeof(*all));
	double *waits = gw_alloc(job->rank_count * sizeof(*waits));

	for (uint32_t r = 0; r < job->rank_count; r++)
		all[r] = total_of(job, r, waits);
	free(waits);
	return all;
}

/* How collectives were joined, in the rank where that is least certain. */
static enum ranks_by joined_by(const struct ranks_shown *s)
{
	enum ranks_by by = RANKS_BY_NUMBER;

	for (size_t r = 0; r < s->job->rank_count; r++)
		if (s->logs[r].by < by)
			by = s->logs[r].by;
	return by;
}

static uint64_t untimed(const struct ranks_shown *s)
{
	uint64_t n = 0;

	for (size_t r = 0; r < s->job->rank_count; r++)
		n += s->logs[r].untimed + s->logs[r].summed;
	return n;
}

static bool share_gpu(const struct ranks_shown *s)
{
	for (size_t r = 1; r < s->job->rank_count; r++)
		for (size_t k = 0; k < r && *s->logs[r].gpu; k++)
			if (!strcmp(s->logs[k].gpu, s->logs[r].gpu))
				return true;
	return false;
}

static bool expected_known(const struct ranks_job *job)
{
	for (size_t r = 0; r < job->rank_count; r++)
		for (size_t i = 0; i < job->step_count; i++)
			if (isnan(job->ranks[r].steps[i].expected))
				return false;
	return true;
}

/* ---- text ---- */

static struct report_line begin(const char *name)
{
	return report_begin(name, gw_width());
}

static void line(const char *name, const char *text)
{
	struct report_line l = begin(name);

	report_part(&l, GW_INK_OFF, "%s", text);
	report_finish(&l, "");
}

static void show_clocks(const struct ranks_job *job)
{
	double low = job->ranks[0].offset, high = low;
	struct report_line l;
	struct gw_text t;

	for (size_t r = 1; r < job->rank_count; r++) {
		low = fmin(low, job->ranks[r].offset);
		high = fmax(high, job->ranks[r].offset);
	}
	if (job->one_clock)
		return;
	l = begin("Clocks");
	report_part(&l, GW_INK_OFF, "%s apart, by the ends of collectives",
		    gw_duration(&t, high - low));
	report_finish(&l, "");
}

static void show_job(const struct ranks_shown *s, enum ranks_by by)
{
	struct report_line l = begin("Job");
	struct gw_text n, length;

	report_part(&l, GW_INK_OFF, "%s", gw_counted(&n, (double)s->job->rank_count, "rank", NULL));
	report_part(&l, GW_INK_OFF, "%s of %s",
		    gw_counted(&n, (double)s->job->step_count, "step", NULL),
		    gw_duration(&length, s->job->length));
	report_part(
		&l, GW_INK_OFF, "%s a step, joined by %s",
		gw_counted(&n, s->steps->period ? (double)s->steps->period : 1, "collective", NULL),
		joins[by]);
	report_finish(&l, "");
}

static void show_head(const struct ranks_shown *s)
{
	enum ranks_by by = joined_by(s);
	struct report_line l;
	struct gw_text lost;

	show_job(s, by);
	show_clocks(s->job);
	if (!s->steps->period)
		line("Steps", "no sequence of collectives repeats: each one counts as a step");
	if (reasons[by])
		line("Degraded", reasons[by]);
	if (untimed(s)) {
		l = begin("Degraded");
		report_part(&l, GW_INK_OFF, "%s without a time of its own: shares are too small",
			    gw_counted(&lost, (double)untimed(s), "launch", "launches"));
		report_finish(&l, "");
	}
	if (share_gpu(s))
		line("Degraded", "ranks share a GPU and wait for their turns there: what makes one "
				 "late by less than these does not show");
	if (!expected_known(s->job))
		line("Degraded",
		     "some kernels run on one rank alone and have no prediction: a slow "
		     "GPU there cannot be distinguished from more work");
	if (s->steps->apart * APART_SHOWN > s->job->step_count) {
		l = begin("Degraded");
		report_part(&l, GW_INK_OFF,
			    "%s not in all logs, or in another order there: left "
			    "out",
			    gw_counted(&lost, (double)s->steps->apart, "step is", "steps are"));
		report_finish(&l, "");
	}
	for (size_t r = s->job->rank_count; r < s->log_count; r++) {
		l = begin("Left out");
		report_part(&l, GW_INK_OFF,
			    "%s: it has no steps in common with rank %s, or "
			    "in another order or at another time",
			    s->logs[r].path, ranks_label(s, 0));
		report_finish(&l, "");
	}
}

static void show_episode(const struct ranks_shown *s, const struct ranks_episode *e)
{
	struct report_line l = begin("Late");
	struct gw_text late, share, excess;

	report_part(&l, GW_INK_WARN, "rank %s in steps %u to %u", ranks_label(s, e->rank), e->first,
		    e->last);
	report_part(&l, GW_INK_OFF, "%s a step (%s)", gw_duration(&late, e->late),
		    gw_percent(&share, e->late / s->job->length));
	report_part(&l, GW_INK_OFF, "%s", ranks_cause_name(e->cause));
	if (e->cause != RANKS_CAUSE_UNKNOWN)
		report_part(&l, GW_INK_OFF, "%s a step more than others",
			    gw_duration(&excess, e->excess[e->cause]));
	report_finish(&l, "");
}

static void show_network(const struct ranks_shown *s, const struct ranks_network *n)
{
	struct report_line l = begin("Network");
	struct gw_text more, share, count;

	report_part(&l, GW_INK_WARN, "collectives take longer in steps %u to %u", n->first,
		    n->last);
	report_part(&l, GW_INK_OFF, "%s a step (%s)", gw_duration(&more, n->more),
		    gw_percent(&share, n->more / s->job->length));
	report_part(&l, GW_INK_OFF, "in %s, rank %s the first",
		    gw_counted(&count, (double)n->ranks, "rank", NULL), ranks_label(s, n->rank));
	report_finish(&l, "");
}

static void show_parts(struct gw_table *table, const double part[RANKS_PARTS], double all)
{
	struct gw_text t;

	for (unsigned p = 0; p < RANKS_PARTS; p++)
		gw_table_cell(table, all > 0 ? gw_percent(&t, part[p] / all) : "-");
}

static struct gw_table *new_table(const char *first, bool waits)
{
	struct gw_table_column columns[RANKS_PARTS + 4] = {{first, true, false, 0},
							   {"STEP", true, false, 0}};
	unsigned n = 2;

	for (unsigned p = 0; p < RANKS_PARTS; p++)
		columns[n++] = (struct gw_table_column){ranks_part_name((enum ranks_part)p), true,
							false, 0};
	columns[n++] = (struct gw_table_column){"OTHERS WAIT", true, false, 0};
	if (waits)
		columns[n++] = (struct gw_table_column){"WAITS FOR", true, false, 0};
	return gw_table_new(columns, n);
}

static void print_table(struct gw_table *table)
{
	printf("\n");
	gw_table_show(table, 2);
}

static void add_total(struct gw_table *table, const struct ranks_shown *s, const struct total *t)
{
	double steps = (double)s->job->step_count;
	struct gw_text text;

	gw_table_cell(table, ranks_label(s, t->rank));
	gw_table_cell(table, gw_duration(&text, t->all / steps));
	show_parts(table, t->part, t->all);
	gw_table_cell(table, gw_duration(&text, t->caused / steps));
	gw_table_cell(table, t->waited_for == RANKS_NO_STEP ? "-" : ranks_label(s, t->waited_for));
}

static int by_caused(const void *a, const void *b)
{
	const struct total *x = a, *y = b;

	if (fabs(x->caused - y->caused) > 0)
		return x->caused > y->caused ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_rank(const void *a, const void *b)
{
	const struct total *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

void ranks_show(const struct ranks_shown *s, bool all)
{
	const struct ranks_job *job = s->job;
	size_t rows = all || job->rank_count < SHORT ? job->rank_count : SHORT;
	struct gw_table *table = new_table("RANK", true);
	struct total *list = totals(job);
	struct gw_text n;

	show_head(s);
	for (size_t i = 0; i < job->episode_count; i++)
		show_episode(s, &job->episodes[i]);
	for (size_t i = 0; i < job->network_count; i++)
		show_network(s, &job->networks[i]);
	if (!job->episode_count)
		line("Late", "no rank, step after step");
	qsort(list, job->rank_count, sizeof(*list), by_caused);
	qsort(list, rows, sizeof(*list), by_rank);
	for (size_t i = 0; i < rows; i++)
		add_total(table, s, &list[i]);
	print_table(table);
	if (rows < job->rank_count)
		printf("\n  %s more, for which others wait less; --all shows them\n",
		       gw_counted(&n, (double)(job->rank_count - rows), "rank", NULL));
	free(list);
}

void ranks_show_steps(const struct ranks_shown *s, size_t rank)
{
	struct gw_table *table = new_table("STEP NO", true);
	struct gw_text text;

	show_head(s);
	for (size_t i = 0; i < s->job->step_count; i++) {
		const struct ranks_step *step = &s->job->ranks[rank].steps[i];
		double part[RANKS_PARTS];

		for (unsigned p = 0; p < RANKS_PARTS; p++)
			part[p] = (double)step->part[p];
		gw_table_cellf(table, "%zu", i);
		gw_table_cell(table, gw_duration(&text, sum(step)));
		show_parts(table, part, sum(step));
		gw_table_cell(table, gw_duration(&text, (double)step->caused));
		gw_table_cell(table, step->waited_for == RANKS_NO_STEP
					     ? "-"
					     : ranks_label(s, step->waited_for));
	}
	print_table(table);
}

/* ---- JSON ---- */

static json_t *step_json(const struct ranks_shown *s, const struct ranks_step *step)
{
	json_t *o = json_object();

	for (unsigned p = 0; p < RANKS_PARTS; p++)
		gw_set_number(o, ranks_part_key((enum ranks_part)p), (double)step->part[p]);
	gw_set_number(o, "expected", (double)step->expected);
	gw_set_number(o, "late", (double)step->late);
	gw_set_number(o, "others_wait", (double)step->caused);
	gw_set_text(o, "waits_for",
		    step->waited_for == RANKS_NO_STEP ? NULL : ranks_label(s, step->waited_for));
	return o;
}

static json_t *rank_json(const struct ranks_shown *s, size_t rank)
{
	json_t *steps = json_array();

	for (size_t i = 0; i < s->job->step_count; i++)
		json_array_append_new(steps, step_json(s, &s->job->ranks[rank].steps[i]));
	return json_pack("{s:o,s:o,s:o,s:o,s:o}", "rank", gw_json_text(ranks_label(s, rank)), "log",
			 gw_json_text(s->logs[rank].path), "host", gw_json_text(s->logs[rank].host),
			 "clock_offset", gw_json_number(s->job->ranks[rank].offset), "steps",
			 steps);
}

static json_t *episode_json(const struct ranks_shown *s, const struct ranks_episode *e)
{
	json_t *excess = json_object();

	for (unsigned c = 1; c < RANKS_CAUSES; c++)
		gw_set_number(excess, ranks_cause_key((enum ranks_cause)c), e->excess[c]);
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "rank",
			 gw_json_text(ranks_label(s, e->rank)), "first_step",
			 gw_json_count(e->first), "last_step", gw_json_count(e->last), "found_step",
			 gw_json_count(e->found), "cause", gw_json_text(ranks_cause_key(e->cause)),
			 "late", gw_json_number(e->late), "excess", excess);
}

static json_t *network_json(const struct ranks_shown *s, const struct ranks_network *n)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "rank", gw_json_text(ranks_label(s, n->rank)),
			 "ranks", gw_json_count(n->ranks), "first_step", gw_json_count(n->first),
			 "last_step", gw_json_count(n->last), "found_step", gw_json_count(n->found),
			 "more", gw_json_number(n->more));
}

/* Ranks one after another: thousands with thousands of steps do not fit into memory as JSON. */
static void print_ranks(const struct ranks_shown *s)
{
	for (size_t r = 0; r < s->job->rank_count; r++) {
		json_t *rank = rank_json(s, r);

		printf("%s\n    ", r ? "," : "");
		json_dumpf(rank, stdout, JSON_COMPACT | JSON_REAL_PRECISION(12));
		json_decref(rank);
	}
}

void ranks_show_json(const struct ranks_shown *s)
{
	static const char *const by[] = {"nothing", "copies", "names", "numbers"};
	json_t *o, *late = json_array(), *network = json_array(), *left_out = json_array();
	char *head;

	for (size_t i = 0; i < s->job->episode_count; i++)
		json_array_append_new(late, episode_json(s, &s->job->episodes[i]));
	for (size_t i = 0; i < s->job->network_count; i++)
		json_array_append_new(network, network_json(s, &s->job->networks[i]));
	for (size_t r = s->job->rank_count; r < s->log_count; r++)
		json_array_append_new(left_out, gw_json_text(s->logs[r].path));
	o = json_pack("{s:s,s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "schema", "gpuwatch-ranks-1",
		      "unit", "ns", "joined_by", by[joined_by(s)], "collectives_joined",
		      gw_json_count(s->job->joined), "collectives_per_step",
		      gw_json_count(s->steps->period), "steps_apart",
		      gw_json_count(s->steps->apart), "step", gw_json_number(s->job->length),
		      "launches_without_time", gw_json_count(untimed(s)), "late", late, "network",
		      network, "left_out", left_out);
	head = json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	json_decref(o);
	if (!head)
		return;
	/* The object goes on where its dump ends. */
	printf("%.*s,\n  \"ranks\": [", (int)strlen(head) - 2, head);
	print_ranks(s);
	puts("\n  ]\n}");
	free(head);
}
