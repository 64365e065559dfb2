#include "cli/agent/store/rollup.h"

#include "cli/agent/store/work.h"
#include "cli/common/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOUR = 3600, METRICS = 4096, ROWS = 1 << 17 /* of ended hours; a day has fewer */ };

/* A series, and what came to it in this hour. */
struct rollup_metric {
	struct hours_state row;
	double base, last; /* of a counter: at the hour's begin, now */
	double sum, samples;
};

void rollup_free(struct agent_rollup *r)
{
	free(r->closed.work);
	free(r->closed.state);
	free(r->now.work);
	free(r->now.state);
	free(r->metric);
	*r = (struct agent_rollup){0};
}

/* ---- metrics ---- */

/* What is in the other table, or says nothing of an hour, is left out. */
static bool kept(const struct metric_family *f)
{
	static const char *const none[] = {"gpuwatch_measured_seconds", "gpuwatch_compared_seconds",
					   "gpuwatch_expected_seconds"};
	static const char *const gauges[] = {"gpuwatch_slowdown_ratio", "gpuwatch_health_slow",
					     "gpuwatch_sm_clock_hertz",
					     "gpuwatch_other_processes_ratio"};

	for (size_t i = 0; f->kind == METRIC_GAUGE && i < sizeof(gauges) / sizeof(*gauges); i++)
		if (!strcmp(f->name, gauges[i]))
			return true;
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		if (!strcmp(f->name, none[i]))
			return false;
	return f->kind == METRIC_COUNTER;
}

/* Copies of labels that cut what is longer. */
static void put(char *to, size_t room, const char *from)
{
	snprintf(to, room, "%s", from);
}

/* The series as a row; false: it is not one of a GPU as a whole. */
static bool row_of(const struct metric_family *f, const struct metric_label *labels, size_t count,
		   struct hours_state *row)
{
	size_t others = 0;

	*row = (struct hours_state){.gauge = f->kind == METRIC_GAUGE};
	put(row->metric, sizeof(row->metric), f->name);
	for (size_t i = 0; i < count; i++) {
		const char *name = labels[i].name, *value = labels[i].value;

		if (!strcmp(name, "UUID")) {
			put(row->uuid, sizeof(row->uuid), value);
		} else if (!strcmp(name, "modelName")) {
			put(row->model, sizeof(row->model), value);
		} else if (!strcmp(name, "kernel") || !strcmp(name, "program") || others > 1) {
			return false;
		} else if (strcmp(name, "gpu") != 0 && strcmp(name, "pci_bus_id") != 0) {
			put(row->label, sizeof(row->label), name);
			put(row->which, sizeof(row->which), value);
			others++;
		}
	}
	return *row->uuid && others <= 1;
}

static struct rollup_metric *metric_of(struct agent_rollup *r, const struct hours_state *row)
{
	for (size_t i = 0; i < r->metrics; i++) {
		struct rollup_metric *m = &r->metric[i];

		if (!strcmp(m->row.uuid, row->uuid) && !strcmp(m->row.metric, row->metric) &&
		    !strcmp(m->row.which, row->which))
			return m;
	}
	if (r->metrics == METRICS)
		return NULL;
	GW_GROW(r->metric, &r->metric_room, r->metrics + 1);
	r->metric[r->metrics] = (struct rollup_metric){.row = *row, .base = r->began ? 0 : NAN};
	return &r->metric[r->metrics++];
}

void rollup_sample(struct agent_rollup *r, const struct metric_family *f,
		   const struct metric_label *labels, size_t count, double value)
{
	struct rollup_metric *m;
	struct hours_state row;

	if (!kept(f) || !row_of(f, labels, count, &row) || !(m = metric_of(r, &row)))
		return;
	put(m->row.model, sizeof(m->row.model), row.model);
	m->last = value;
	if (isnan(m->base))
		m->base = value; /* what was there before the first sample is no part of it */
	m->sum += value;
	m->row.most = m->samples > 0 && m->row.most > value ? m->row.most : value;
	m->samples++;
}

static void state_rows(struct agent_rollup *r, uint64_t seconds)
{
	for (size_t i = 0; i < r->metrics; i++) {
		const struct rollup_metric *m = &r->metric[i];
		const bool there = m->row.gauge ? m->samples > 0 : m->last > m->base;
		struct hours_state *to;

		if (!there)
			continue;
		GW_GROW(r->now.state, &r->now.state_room, r->now.states + 1);
		to = &r->now.state[r->now.states++];
		*to = m->row;
		to->time_s = r->hour_s;
		to->seconds = seconds;
		to->from_s = r->from_s;
		to->value = m->row.gauge ? m->sum / m->samples : m->last - m->base;
	}
}

/* ---- work ---- */

static void work_rows(struct agent_rollup *r, const struct agent_node *node, uint64_t seconds)
{
	for (size_t i = 0; i < node->gpus; i++) {
		const struct agent_gpu *g = node->gpu[i];
		size_t from = r->now.works, count;

		if (!g->work)
			continue;
		GW_GROW(r->now.work, &r->now.work_room, from + WORK_ROWS + 1);
		count = agent_work_rows(g->work, &r->now.work[from]);
		for (size_t k = from; k < from + count; k++) {
			struct hours_work *w = &r->now.work[k];

			w->time_s = r->hour_s;
			w->seconds = seconds;
			put(w->uuid, sizeof(w->uuid), g->uuid);
			put(w->model, sizeof(w->model), g->model);
		}
		r->now.works += count;
	}
}

/* ---- hours ---- */

/* The oldest go where files can't be written; how many stay. */
static size_t bound(struct agent_rollup *r, void *rows, size_t count, size_t come, size_t size)
{
	const size_t over = count + come > ROWS ? count + come - ROWS : 0;
	const size_t gone = over < count ? over : count;

	if (gone)
		memmove(rows, (char *)rows + gone * size, (count - gone) * size);
	r->dropped += gone;
	return count - gone;
}

static void close_hour(struct agent_rollup *r, const struct agent_node *node)
{
	struct rollup_rows *to = &r->closed, *from = &r->now;

	to->works = bound(r, to->work, to->works, from->works, sizeof(*to->work));
	to->states = bound(r, to->state, to->states, from->states, sizeof(*to->state));
	GW_GROW(to->work, &to->work_room, to->works + from->works);
	if (from->works)
		memcpy(&to->work[to->works], from->work, from->works * sizeof(*to->work));
	to->works += from->works;
	GW_GROW(to->state, &to->state_room, to->states + from->states);
	if (from->states)
		memcpy(&to->state[to->states], from->state, from->states * sizeof(*to->state));
	to->states += from->states;
	from->works = from->states = 0;
	for (size_t i = 0; i < node->gpus; i++)
		if (node->gpu[i]->work)
			agent_work_clear(node->gpu[i]->work);
	for (size_t i = 0; i < r->metrics; i++) {
		r->metric[i].base = r->metric[i].last;
		r->metric[i].sum = r->metric[i].samples = 0;
	}
}

void rollup_take(struct agent_rollup *r, const struct agent_node *node, uint64_t now_ns)
{
	const uint64_t now_s = now_ns / 1000000000, hour_s = now_s - now_s % HOUR;
	uint64_t seen;

	if (!r->hour_s) {
		r->hour_s = hour_s;
		r->begin_s = r->from_s = now_s;
	}
	seen = now_s > r->from_s ? now_s - r->from_s : 0;
	r->now.works = r->now.states = 0;
	work_rows(r, node, seen < HOUR ? seen : HOUR);
	state_rows(r, seen < HOUR ? seen : HOUR);
	r->began = true;
	if (hour_s == r->hour_s)
		return;
	close_hour(r, node);
	r->hour_s = hour_s;
	r->from_s = now_s;
}

void rollup_forget(struct agent_rollup *r)
{
	r->closed.works = r->closed.states = 0;
	r->begin_s = r->from_s;
}
