#include "cli/report/sections.h"

#include "cli/common/json.h"
#include "cli/common/number.h"
#include "cli/report/line.h"
#include "calib/nvml/nvml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EPISODES = 3 }; /* listed one by one */

static const double LEAST_GAPS = 0.01; /* of the time: less is not worth a line */

static double mhz(double khz)
{
	return khz / 1000;
}

/* Clocks are sampled while kernels run: each reason is shown with its share of the samples. */
static void reasons(struct report_line *line, const struct log_clocks *c)
{
	struct gw_text n;

	for (unsigned i = 0; i < GW_CLOCK_REASONS; i++) {
		char text[100];

		if (!c->by_reason[i])
			continue;
		gw_throttle_text(UINT64_C(1) << i, text, sizeof(text));
		report_part(line, GW_INK_WARN, "throttled: %s (%s of samples)", text,
			    gw_percent(&n, (double)c->by_reason[i] / (double)c->samples));
	}
	if (c->others)
		report_part(line, GW_INK_WARN, "other processes used it (%s of samples)",
			    gw_percent(&n, (double)c->others / (double)c->samples));
}

/* The next GPU's part of the line @p title, which the first of them begins. */
static void next_gpu(struct report_line *line, bool *any, const char *title, unsigned width,
		     const struct gw_log_model *m, size_t gpu)
{
	if (*any)
		report_break(line);
	else
		*line = report_begin(title, width);
	*any = true;
	if (m->gpu_count > 1)
		report_part(line, GW_INK_OFF, "%u", m->gpus[gpu].record.ordinal);
}

static void clocks(struct gw_log_model *m, unsigned width)
{
	struct report_line line = {0};
	bool any = false;

	for (size_t i = 0; i < m->gpu_count; i++) {
		struct log_clocks *c = &m->gpus[i].clocks;

		if (!c->samples)
			continue;
		next_gpu(&line, &any, "Clock", width, m, i);
		if (c->sm_low == c->sm_high)
			report_part(&line, GW_INK_OFF, "SM %.0f MHz", mhz(c->sm_high));
		else
			report_part(&line, GW_INK_OFF, "SM %.0f MHz (%.0f to %.0f)",
				    mhz(gw_quantile(&c->sm_khz, 0.5)), mhz(c->sm_low),
				    mhz(c->sm_high));
		if (c->mem_khz.count)
			report_part(&line, GW_INK_DIM, "memory %.0f MHz",
				    mhz(gw_quantile(&c->mem_khz, 0.5)));
		if (c->temperature)
			report_part(&line, GW_INK_DIM, "up to %u %s", c->temperature,
				    gw_utf8() ? "°C" : "C");
		if (c->power_mw)
			report_part(&line, GW_INK_DIM, "%.0f W", c->power_mw / 1000.0);
		reasons(&line, c);
	}
	if (any)
		report_finish(&line, "");
}

/* A kind of gap, where there are any. */
static void gap(struct report_line *line, const struct log_gaps *g, enum gw_gap kind,
		const char *what)
{
	struct gw_text a, b, c;

	if (!g->count[kind])
		return;
	report_part(line, GW_INK_OFF, "%s %s (%s of %s)", what,
		    gw_percent(&a, g->time[kind] / log_gaps_span(g)),
		    gw_thousands(&b, (double)g->count[kind]),
		    gw_duration(&c, g->time[kind] / (double)g->count[kind]));
}

/* Idle time of each GPU by cause, where it is worth a line. */
static void idle(const struct gw_log_model *m, unsigned width)
{
	struct report_line line = {0};
	bool any = false;
	struct gw_text a, b;

	for (size_t i = 0; i < m->gpu_count; i++) {
		const struct log_gaps *g = &m->gpus[i].gaps;
		double span = log_gaps_span(g);

		if (!(span - g->busy >= LEAST_GAPS * span) || !(span > 0))
			continue;
		next_gpu(&line, &any, "Gaps", width, m, i);
		report_part(&line, GW_INK_OFF, "%s of %s", gw_percent(&a, 1 - g->busy / span),
			    gw_duration(&b, span));
		gap(&line, g, GW_GAP_LATE, "GPU starved");
		gap(&line, g, GW_GAP_LATE_GRAPH, "GPU starved, graph launches");
		gap(&line, g, GW_GAP_QUEUED, "back-to-back");
		if (g->count[GW_GAP_PAUSED])
			report_part(&line, GW_INK_DIM, "%s over %s, %s in all, not counted",
				    gw_counted(&a, (double)g->count[GW_GAP_PAUSED], "pause", NULL),
				    gw_duration(&b, GW_GAP_PAUSE),
				    gw_duration(&(struct gw_text){0}, g->time[GW_GAP_PAUSED]));
	}
	if (any)
		report_finish(&line, "");
}

/* The gaps of all GPUs. */
static struct log_gaps all_gaps(const struct gw_log_model *m)
{
	struct log_gaps all = {0};

	for (size_t i = 0; i < m->gpu_count; i++) {
		all.busy += m->gpus[i].gaps.busy;
		for (unsigned k = 0; k < GW_GAPS; k++) {
			all.time[k] += m->gpus[i].gaps.time[k];
			all.count[k] += m->gpus[i].gaps.count[k];
		}
	}
	return all;
}

void gw_report_idle_line(const struct gw_log_model *m, unsigned width)
{
	struct log_gaps g = all_gaps(m);
	double span = log_gaps_span(&g), starved = g.time[GW_GAP_LATE] + g.time[GW_GAP_LATE_GRAPH];
	uint64_t count = g.count[GW_GAP_LATE] + g.count[GW_GAP_LATE_GRAPH];
	struct report_line line;
	struct gw_text a, b, c;

	if (!(span > 0))
		return;
	line = report_begin("GPU idle", width);
	line.brief = true;
	report_part(&line, GW_INK_OFF, "%s of %s", gw_percent(&a, 1 - g.busy / span),
		    gw_duration(&b, span));
	if (count && starved >= g.time[GW_GAP_QUEUED])
		report_part(&line, GW_INK_OFF, "GPU starved %s (%s of %s)",
			    gw_percent(&a, starved / span),
			    gw_counted(&b, (double)count, "gap", NULL),
			    gw_duration(&c, starved / (double)count));
	else if (g.count[GW_GAP_QUEUED])
		gap(&line, &g, GW_GAP_QUEUED, "back-to-back");
	if (g.count[GW_GAP_PAUSED])
		report_part(&line, GW_INK_DIM, "%s over %s not counted (%s)",
			    gw_counted(&a, (double)g.count[GW_GAP_PAUSED], "pause", NULL),
			    gw_duration(&b, GW_GAP_PAUSE), gw_duration(&c, g.time[GW_GAP_PAUSED]));
	report_finish(&line, "");
}

static void episode(struct report_line *line, const struct gw_report *report,
		    const struct log_slow *s)
{
	const struct gw_record_slow *r = &s->record;
	struct gw_text n;
	char held[100];

	report_break(line);
	if (s->name == GW_INDEX_NONE)
		report_part(line, GW_INK_OFF, "graph %u", r->graph);
	else
		report_part(line, GW_INK_OFF, "%s", report->names[s->name]);
	report_part(line, GW_INK_OFF, "%s %.2f times as long",
		    gw_counted(&n, r->slow, "launch", "launches"), (double)r->ratio);
	report_part(line, GW_INK_OFF, "cause %s", gw_slow_cause_name(log_slow_cause(s)));
	if (log_slow_cause(s) == GW_SLOW_CLOCK && r->sm_khz_before && r->sm_khz_during)
		report_part(line, GW_INK_DIM, "%.0f to %.0f MHz", mhz(r->sm_khz_before),
			    mhz(r->sm_khz_during));
	if (r->reasons) {
		gw_throttle_text(r->reasons, held, sizeof(held));
		report_part(line, GW_INK_DIM, "%s", held);
	}
}

/* The episodes that cost the most, one by one. */
static void worst(struct report_line *line, const struct gw_report *report)
{
	const struct gw_log_model *m = &report->model;
	double least = INFINITY;
	size_t least_at = 0;

	for (unsigned k = 0; k < EPISODES && k < m->slows.count; k++) {
		double most = -1;
		size_t at = 0;

		for (size_t i = 0; i < m->slows.count; i++) {
			double lost = log_slow_lost(&m->slows.list[i]);
			bool listed = lost > least || (lost == least && i <= least_at && k);

			if (!listed && lost > most) {
				most = lost;
				at = i;
			}
		}
		if (most < 0)
			return;
		episode(line, report, &m->slows.list[at]);
		least = most;
		least_at = at;
	}
}

static double sum_causes(const struct gw_log_model *m, uint64_t causes[GW_SLOW_CAUSES])
{
	double lost = 0;

	memset(causes, 0, GW_SLOW_CAUSES * sizeof(*causes));
	for (size_t i = 0; i < m->slows.count; i++) {
		causes[log_slow_cause(&m->slows.list[i])]++;
		lost += log_slow_lost(&m->slows.list[i]);
	}
	return lost;
}

/* @p c: the clocks that were throttled; NULL: none, or a line of their own has them. */
static void slow_sum(struct report_line *line, const struct gw_log_model *m,
		     const struct log_clocks *c)
{
	uint64_t causes[GW_SLOW_CAUSES];
	double lost = sum_causes(m, causes);
	struct gw_text a, b, d;

	report_part(line, GW_INK_WARN, "%s in %s, %s beyond the prediction",
		    gw_counted(&a, (double)m->all.slow, "slow launch", "slow launches"),
		    gw_counted(&b, (double)(m->slows.count + m->slows.beyond), "episode", NULL),
		    gw_duration(&d, lost));
	if (c)
		reasons(line, c);
	for (unsigned i = 0; i < GW_SLOW_CAUSES; i++)
		if (causes[i])
			report_part(line, GW_INK_OFF, "cause %s: %s",
				    gw_slow_cause_name((enum gw_slow_cause)i),
				    gw_thousands(&a, (double)causes[i]));
}

static void slow(const struct gw_report *report, unsigned width)
{
	const struct gw_log_model *m = &report->model;
	struct report_line line;

	if (!m->slows.count)
		return;
	line = report_begin("Slow", width);
	slow_sum(&line, m, NULL);
	worst(&line, report);
	report_finish(&line, "");
}

/* The GPU whose clocks were throttled in the most samples; NULL: none was. */
static const struct log_clocks *most_throttled(const struct gw_log_model *m)
{
	const struct log_clocks *most = NULL;

	for (size_t i = 0; i < m->gpu_count; i++)
		if (m->gpus[i].clocks.held && (!most || m->gpus[i].clocks.held > most->held))
			most = &m->gpus[i].clocks;
	return most;
}

void gw_report_slow_line(const struct gw_log_model *m, unsigned width)
{
	const struct log_clocks *c = most_throttled(m);
	struct report_line line;

	if (!m->slows.count && !c)
		return;
	line = report_begin(m->slows.count ? "Slow" : "Throttled", width);
	line.brief = true;
	if (m->slows.count)
		slow_sum(&line, m, c);
	else
		reasons(&line, c);
	report_finish(&line, "");
}

void gw_report_clock_details(struct gw_report *report, unsigned width)
{
	idle(&report->model, width);
	clocks(&report->model, width);
	slow(report, width);
}

json_t *gw_report_clocks_json(struct log_clocks *c)
{
	json_t *o, *held;

	if (!c->samples)
		return json_null();
	o = json_object();
	held = json_object();
	for (unsigned i = 0; i < GW_CLOCK_REASONS; i++) {
		char text[100];

		if (!c->by_reason[i])
			continue;
		gw_throttle_text(UINT64_C(1) << i, text, sizeof(text));
		gw_set_count(held, text, c->by_reason[i]);
	}
	gw_set_count(o, "samples", c->samples);
	gw_set_number(o, "sm_khz_median", gw_quantile(&c->sm_khz, 0.5));
	json_object_set_new(o, "sm_khz_low", c->sm_low ? gw_json_count(c->sm_low) : json_null());
	json_object_set_new(o, "sm_khz_high", c->sm_high ? gw_json_count(c->sm_high) : json_null());
	gw_set_number(o, "mem_khz_median", gw_quantile(&c->mem_khz, 0.5));
	json_object_set_new(o, "temperature",
			    c->temperature ? gw_json_count(c->temperature) : json_null());
	json_object_set_new(o, "power_mw", c->power_mw ? gw_json_count(c->power_mw) : json_null());
	gw_set_count(o, "throttled", c->held);
	json_object_set_new(o, "throttled_by", held);
	gw_set_count(o, "other_processes", c->others);
	return o;
}

json_t *gw_report_idle_json(const struct log_gaps *g)
{
	json_t *o = json_object();

	gw_set_number(o, "busy_ns", g->busy);
	for (unsigned i = 0; i < GW_GAPS; i++)
		json_object_set_new(o, log_gap_name(i),
				    json_pack("{s:o,s:o}", "count", gw_json_count(g->count[i]),
					      "ns", gw_json_number(g->time[i])));
	return o;
}

json_t *gw_report_slow_json(const struct gw_log_model *m)
{
	json_t *o = json_object(), *list = json_array();

	for (size_t i = 0; i < m->slows.count; i++) {
		const struct log_slow *s = &m->slows.list[i];
		const struct gw_record_slow *r = &s->record;
		json_t *one = json_object();
		char held[100], graph[32];

		gw_throttle_text(r->reasons, held, sizeof(held));
		snprintf(graph, sizeof(graph), "graph %u", r->graph);
		json_object_set_new(one, "name",
				    s->name == GW_INDEX_NONE
					    ? json_string(graph)
					    : gw_json_text(m->names[s->name].plain));
		json_object_set_new(one, "graph", r->graph ? gw_json_count(r->graph) : json_null());
		gw_set_text(one, "cause", gw_slow_cause_name(log_slow_cause(s)));
		gw_set_text(one, "meaning", gw_slow_cause_meaning(log_slow_cause(s)));
		gw_set_count(one, "launches", r->launches);
		gw_set_count(one, "slow", r->slow);
		gw_set_number(one, "predicted_ns", (double)r->predicted);
		gw_set_number(one, "ratio", (double)r->ratio);
		gw_set_number(one, "lost_ns", log_slow_lost(s));
		gw_set_count(one, "sm_khz_before", r->sm_khz_before);
		gw_set_count(one, "sm_khz_during", r->sm_khz_during);
		gw_set_text(one, "throttled", held);
		gw_set_count(one, "since_ns", r->since_ns);
		gw_set_count(one, "until_ns", r->until_ns);
		json_array_append_new(list, one);
	}
	gw_set_count(o, "launches", m->all.slow);
	gw_set_count(o, "not_kept", m->slows.beyond);
	json_object_set_new(o, "episodes", list);
	return o;
}
