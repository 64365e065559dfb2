/* Of the live view: graphs that are timed whole, and what gpuwatch itself takes. */
#include "cli/top/graphs.h"

#include "cli/common/json.h"
#include "cli/common/memory.h"
#include "cli/common/number.h"
#include "cli/top/cells.h"
#include "predictor/log/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void top_graph_is(struct top_process *p, size_t at, const struct gw_live_graph_time *g)
{
	if (at >= GW_LIVE_GRAPH_TIMES)
		return;
	p->graph = gw_grow(p->graph, &p->graph_room, at + 1, sizeof(*p->graph));
	for (; p->graphs <= at; p->graphs++)
		p->graph[p->graphs] = (struct top_graph){.time_ns = NAN, .share = NAN};
	/* What a process had before it was first seen was not launched in this interval. */
	if (!p->graph[at].now.graph && p->fresh)
		p->graph[at].before = *g;
	p->graph[at].now = *g;
}

double top_graph_time(const struct top_graph *g)
{
	const struct gw_live_graph_time *now = &g->now, *before = &g->before;
	uint64_t timed = now->timed - before->timed, total = now->total_ns - before->total_ns;

	if (!timed) {
		timed = now->timed;
		total = now->total_ns;
	}
	return timed ? (double)(now->launches - before->launches) * (double)total / (double)timed
		     : NAN;
}

/* Their kernels have no times, unless they are launched by themselves, too. */
void top_graphs_time(struct top_model *m)
{
	for (size_t i = 0; i < m->processes; i++)
		for (size_t k = 0; k < m->process[i]->graphs; k++) {
			struct top_graph *g = &m->process[i]->graph[k];

			g->time_ns = isnan(m->process[i]->runs) ? NAN : top_graph_time(g);
			if (isnan(g->time_ns))
				continue;
			top_add_time(&m->time_ns, g->time_ns);
			m->bound_ns[GW_BOUND_UNKNOWN] += g->time_ns;
		}
}

void top_graphs_share(struct top_model *m)
{
	for (size_t i = 0; i < m->processes; i++)
		for (size_t k = 0; k < m->process[i]->graphs; k++) {
			struct top_graph *g = &m->process[i]->graph[k];

			g->share = m->time_ns > 0 ? g->time_ns / m->time_ns : NAN;
		}
}

static double mean(const struct gw_live_graph_time *g)
{
	return g->timed ? (double)g->total_ns / (double)g->timed : NAN;
}

/* Half the 95% interval of the mean over it. */
static double error(const struct gw_live_graph_time *g)
{
	const double n = (double)g->timed, m = mean(g);

	return g->timed > 1 ? 1.96 * sqrt(fmax(0, g->squares / n - m * m) / (n - 1)) / m : NAN;
}

static double predicted(const struct gw_live_graph_time *g)
{
	return g->scored ? (double)g->predicted_ns / (double)g->scored : NAN;
}

static double ratio(const struct gw_live_graph_time *g)
{
	return g->predicted_ns ? (double)g->scored_ns / (double)g->predicted_ns : NAN;
}

/* A graph with its process. */
struct shown {
	const struct top_process *process;
	const struct top_graph *graph;
	double time; /* of all its launches */
};

static int by_time(const void *x, const void *y)
{
	const struct shown *a = x, *b = y;

	if (a->time > b->time || a->time < b->time)
		return a->time < b->time ? 1 : -1;
	return a->graph->now.graph < b->graph->now.graph
		       ? -1
		       : a->graph->now.graph > b->graph->now.graph;
}

static char *line_of(const struct shown *s)
{
	const struct gw_live_graph_time *g = &s->graph->now;
	char line[TOP_LINE_MOST], factor[32] = "-";
	struct gw_text a, b, c, d, e, f;

	if (!isnan(ratio(g)))
		snprintf(factor, sizeof(factor), "%.2f", ratio(g));
	snprintf(line, sizeof(line),
		 "graph %u of %u: %s of GPU time, %s kernels, %s launches, %s timed, mean %s +- "
		 "%s, predicted %s, "
		 "measured/predicted %s",
		 g->graph, s->process->pid,
		 isnan(s->graph->share) ? "-" : gw_percent(&f, s->graph->share),
		 gw_thousands(&a, g->kernels), gw_thousands(&b, (double)g->launches),
		 gw_thousands(&c, (double)g->timed), gw_duration(&d, mean(g)),
		 gw_percent(&e, error(g)),
		 isnan(predicted(g)) ? "-" : gw_duration(&a, predicted(g)), factor);
	return gw_copy(line);
}

char **top_graph_lines(const struct top_model *m, size_t most, size_t *count)
{
	struct shown *list;
	char **lines;
	size_t n = 0, all = 0;

	for (size_t i = 0; i < m->processes; i++)
		all += m->process[i]->graphs;
	list = gw_alloc((all + 1) * sizeof(*list));
	for (size_t i = 0; i < m->processes; i++)
		for (size_t k = 0; k < m->process[i]->graphs; k++) {
			const struct top_graph *g = &m->process[i]->graph[k];

			if (g->now.graph && g->now.timed)
				list[n++] = (struct shown){m->process[i], g,
							   mean(&g->now) * (double)g->now.launches};
		}
	qsort(list, n, sizeof(*list), by_time);
	n = n < most ? n : most;
	lines = (char **)gw_alloc((n + 1) * sizeof(*lines));
	for (size_t i = 0; i < n; i++)
		lines[i] = line_of(&list[i]);
	free(list);
	*count = n;
	return lines;
}

const char *top_own(const struct top_model *m, char *out, size_t size)
{
	double sum[GW_COUNTERS] = {0};
	struct gw_text a, b, c, d, e;
	size_t known = 0;

	for (size_t i = 0; i < m->processes; i++) {
		const struct gw_live_totals *t = &m->process[i]->totals;

		known += t->ns != 0;
		for (uint32_t k = 0; t->ns && k < t->counters && k < GW_COUNTERS; k++)
			sum[k] += (double)t->counter[k];
	}
	if (!known)
		return NULL;
	snprintf(out, size,
		 "gpuwatch itself: CPU %s and %s on the program's threads, memory %s, written %s, "
		 "windows %s",
		 gw_duration(&a, sum[GW_COUNTER_own_cpu_ns]),
		 gw_duration(&b, sum[GW_COUNTER_overhead_ns] + sum[GW_COUNTER_attach_ns] +
					 sum[GW_COUNTER_events_ns]),
		 gw_bytes(&c, sum[GW_COUNTER_memory]), gw_bytes(&d, sum[GW_COUNTER_log_bytes]),
		 gw_thousands(&e, sum[GW_COUNTER_windows]));
	return out;
}

json_t *top_graphs_json(const struct top_process *p)
{
	json_t *all = json_array();

	for (size_t i = 0; i < p->graphs; i++) {
		const struct gw_live_graph_time *g = &p->graph[i].now;

		if (!g->graph)
			continue;
		json_array_append_new(
			all,
			json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "graph",
				  gw_json_count(g->graph), "device",
				  g->device ? gw_json_count(g->device - 1) : json_null(), "share",
				  gw_json_number(p->graph[i].share), "kernels",
				  gw_json_count(g->kernels), "kernels_predicted",
				  gw_json_count(g->known_kernels), "launches",
				  gw_json_count(g->launches), "timed", gw_json_count(g->timed),
				  "scored", gw_json_count(g->scored), "mean_ns",
				  gw_json_number(mean(g)), "mean_error", gw_json_number(error(g)),
				  "predicted_ns", gw_json_number(predicted(g)),
				  "measured_over_predicted", gw_json_number(ratio(g))));
	}
	return all;
}
