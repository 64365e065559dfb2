#include "cli/report/sections.h"

#include "cli/common/json.h"
#include "cli/common/memory.h"
#include "cli/common/number.h"
#include "cli/report/line.h"
#include "cli/table.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 10 }; /* of the table; --verbose has all */

/* What all launches were expected to take, and what the timed ones say that they took. */
struct expected {
	double all, kernels; /* predicted, ns; of so many launches */
	double launches;     /* kernels that ran */
	double measured,
		ratio_share; /* by the timed ones, ns: NaN unknown; of `all`, that has one */
};

static double value(const struct gw_log_model *m, enum gw_counter counter)
{
	return (double)m->counters[counter];
}

/* Measured over predicted of the timed ones; kernels of streams, or whole graphs. */
static double ratio(double measured, double predicted)
{
	return predicted > 0 ? measured / predicted : NAN;
}

static struct expected expected_of(const struct gw_log_model *m)
{
	const double graphs = value(m, GW_COUNTER_expected_graphs_ns);
	/* Kernels are rounded, graphs are not. */
	const double streams = fmax(0, value(m, GW_COUNTER_expected_ns) - graphs);
	const double s =
		ratio(value(m, GW_COUNTER_sampled_ns), value(m, GW_COUNTER_sampled_predicted_ns));
	const double g = ratio(value(m, GW_COUNTER_sampled_graphs_ns),
			       value(m, GW_COUNTER_sampled_graphs_predicted_ns));
	const double with = (isnan(s) ? 0 : streams) + (isnan(g) ? 0 : graphs);

	return (struct expected){
		.all = streams + graphs,
		.kernels = value(m, GW_COUNTER_expected_kernels),
		.launches = value(m, GW_COUNTER_launches) + value(m, GW_COUNTER_graph_kernels),
		.measured =
			with > 0 ? (isnan(s) ? 0 : s * streams) + (isnan(g) ? 0 : g * graphs) : NAN,
		.ratio_share = streams + graphs > 0 ? with / (streams + graphs) : NAN,
	};
}

void gw_report_expected_line(const struct gw_log_model *m, unsigned width)
{
	const struct expected e = expected_of(m);
	struct report_line line;
	struct gw_text a, b;

	if (!(e.all > 0) || !m->counters[GW_COUNTER_windows])
		return;
	line = report_begin("Expected", width);
	line.brief = true;
	report_part(&line, GW_INK_OFF, "%s of GPU time predicted of %s of launches",
		    gw_duration(&a, e.all), gw_percent(&b, e.kernels / e.launches));
	if (isnan(e.measured))
		report_part(&line, GW_INK_WARN, "none of them timed");
	else
		report_part(&line, GW_INK_OFF, "by the timed ones %s", gw_duration(&a, e.measured));
	if (e.ratio_share < 0.995)
		report_part(&line, GW_INK_WARN, "of %s of it", gw_percent(&a, e.ratio_share));
	report_finish(&line, "");
}

json_t *gw_report_expected_json(const struct gw_log_model *m)
{
	const struct expected e = expected_of(m);

	return json_pack("{s:o,s:o,s:o,s:o,s:o}", "predicted_ns",
			 gw_json_number(e.kernels > 0 ? e.all : NAN), "launches_predicted",
			 gw_json_number(e.kernels), "launches", gw_json_number(e.launches),
			 "by_timed_ns", gw_json_number(e.measured), "share_timed",
			 gw_json_number(e.ratio_share));
}

static int by_time(const void *x, const void *y)
{
	const struct log_graph *a = *(struct log_graph *const *)x,
			       *b = *(struct log_graph *const *)y;
	const double p = log_graph_time(a), q = log_graph_time(b);

	if (isnan(p) != isnan(q))
		return isnan(p) - isnan(q);
	if (p > q || p < q)
		return p < q ? 1 : -1;
	if (a->launches != b->launches)
		return a->launches < b->launches ? 1 : -1;
	return a->graph < b->graph ? -1 : a->graph > b->graph;
}

/* Those with most GPU time first; the caller frees it. */
static const struct log_graph **sorted(const struct gw_log_model *m)
{
	const struct log_graph **list =
		(const struct log_graph **)gw_alloc((m->graphs.count + 1) * sizeof(*list));

	for (size_t i = 0; i < m->graphs.count; i++)
		list[i] = &m->graphs.list[i];
	qsort((void *)list, m->graphs.count, sizeof(*list), by_time);
	return list;
}

static void name(const struct log_graph *g, char *out, size_t size)
{
	if (g->graph)
		snprintf(out, size, "graph %u", g->graph);
	else
		snprintf(out, size, "all others");
}

static void factor(double value, char *out, size_t size)
{
	if (isnan(value))
		snprintf(out, size, "-");
	else
		snprintf(out, size, "%.2f", value);
}

static void row(struct gw_table *t, const struct log_graph *g)
{
	char text[64];
	struct gw_text n;

	name(g, text, sizeof(text));
	gw_table_cell(t, text);
	gw_table_cell(t, g->graph ? gw_thousands(&n, g->kernels) : "-");
	gw_table_cell(t, gw_thousands(&n, (double)g->launches));
	gw_table_cell(t, gw_thousands(&n, (double)g->timed));
	gw_table_cell(t, gw_duration(&n, log_graph_time(g)));
	gw_table_cell(t, gw_duration(&n, log_graph_mean(g)));
	gw_table_cell(t, gw_percent(&n, log_graph_error(g)));
	gw_table_cell(t, gw_duration(&n, log_graph_predicted(g)));
	factor(log_graph_ratio(g), text, sizeof(text));
	gw_table_cell(t, text);
	gw_table_cell(t, g->kernels ? gw_percent(&n, (double)g->known_kernels / g->kernels) : "-");
	gw_table_cell(t, gw_bound_name(log_graph_bound(g)));
}

/* What bounds their kernels, as shares of their time. */
static void by_bound(const struct gw_log_model *m, unsigned width)
{
	double ns[GW_BOUND_LAUNCH + 1], all = log_graphs_by_bound(&m->graphs, ns);
	struct report_line line = report_begin("In graphs", width);
	struct gw_text n;

	report_part(&line, GW_INK_OFF, "%s by the timed ones", gw_duration(&n, all));
	for (int i = GW_BOUND_MEMORY; i <= GW_BOUND_LAUNCH; i++)
		if (ns[i] > 0)
			report_part(&line, GW_INK_OFF, "%s %s", gw_bound_name((enum gw_bound)i),
				    gw_percent(&n, ns[i] / all));
	if (ns[GW_BOUND_UNKNOWN] > 0.0005 * all)
		report_part(&line, GW_INK_WARN, "without a verdict %s",
			    gw_percent(&n, ns[GW_BOUND_UNKNOWN] / all));
	report_finish(&line, "");
}

void gw_report_graphs(const struct gw_report *report, unsigned width)
{
	static const struct gw_table_column columns[] = {
		{"Graph", false, false, 0},    {"Kernels", true, false, 3},
		{"Launches", true, false, 0},  {"Timed", true, false, 0},
		{"GPU time", true, false, 1},  {"Mean", true, false, 0},
		{"+-", true, false, 2},        {"Predicted", true, false, 0},
		{"Meas/pred", true, false, 1}, {"Kernels known", true, false, 4},
		{"Bound", false, false, 2},
	};
	const struct gw_log_model *m = &report->model;
	const size_t shown =
		report->verbose || m->graphs.count < ROWS ? m->graphs.count : (size_t)ROWS;
	const struct log_graph **list;
	struct gw_table *t;
	struct gw_text n;

	if (!m->counters[GW_COUNTER_graphs_timed] || !m->graphs.count)
		return;
	t = gw_table_new(columns, sizeof(columns) / sizeof(*columns));
	if (!t)
		return;
	list = sorted(m);
	for (size_t i = 0; i < shown; i++)
		row(t, list[i]);
	free((void *)list);
	printf("\n  %sGraphs%s %s(timed whole, by sample; predicted as the sum of their "
	       "kernels)%s\n",
	       gw_ink(stdout, GW_INK_BOLD), gw_ink(stdout, GW_INK_OFF), gw_ink(stdout, GW_INK_DIM),
	       gw_ink(stdout, GW_INK_OFF));
	gw_table_print(t, stdout, report->wide ? 0 : width, 2);
	gw_table_free(t);
	if (shown < m->graphs.count)
		printf("  %s%s not shown, --verbose shows all%s\n", gw_ink(stdout, GW_INK_DIM),
		       gw_counted(&n, (double)(m->graphs.count - shown), "graph", NULL),
		       gw_ink(stdout, GW_INK_OFF));
	by_bound(m, width);
}

json_t *gw_report_graphs_bound_json(const struct gw_log_model *m)
{
	double ns[GW_BOUND_LAUNCH + 1], all = log_graphs_by_bound(&m->graphs, ns);
	json_t *o = json_object();

	gw_set_number(o, "gpu_time_ns", all);
	for (int i = 0; i <= GW_BOUND_LAUNCH; i++)
		gw_set_number(o, gw_bound_name((enum gw_bound)i), ns[i]);
	return o;
}

/* @p ns: of all graphs that were timed. */
static json_t *graph_json(const struct gw_log_model *m, const struct log_graph *g, double ns)
{
	return json_pack(
		"{s:o,s:o,s:o,s:o,s:o,s:o,s:b,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:s}", "pid",
		gw_json_count(g->pid), "gpu",
		g->gpu == GW_INDEX_NONE ? json_null()
					: gw_json_count(m->gpus[g->gpu].record.ordinal),
		"share", gw_json_number(log_graph_time(g) / ns), "graph",
		g->graph ? gw_json_count(g->graph) : json_null(), "kernels",
		g->graph ? gw_json_count(g->kernels) : json_null(), "kernels_predicted",
		g->graph ? gw_json_count(g->known_kernels) : json_null(), "unlisted", g->unlisted,
		"launches", gw_json_count(g->launches), "timed", gw_json_count(g->timed), "scored",
		gw_json_count(g->scored), "mean_ns", gw_json_number(log_graph_mean(g)), "min_ns",
		gw_json_number(g->min), "max_ns", gw_json_number(g->max), "mean_error",
		gw_json_number(log_graph_error(g)), "total_ns", gw_json_number(log_graph_time(g)),
		"predicted_ns", gw_json_number(log_graph_predicted(g)), "measured_over_predicted",
		gw_json_number(log_graph_ratio(g)), "bound", gw_bound_name(log_graph_bound(g)));
}

json_t *gw_report_graphs_json(const struct gw_log_model *m)
{
	const struct log_graph **list = sorted(m);
	double ns[GW_BOUND_LAUNCH + 1], whole = log_graphs_by_bound(&m->graphs, ns);
	json_t *all = json_array();

	for (size_t i = 0; i < m->graphs.count; i++)
		json_array_append_new(all, graph_json(m, list[i], whole));
	free((void *)list);
	return all;
}
