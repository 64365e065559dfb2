/* OpenMetrics 1.0 text: the totals of the logs as counters. */
#include "cli/common/utf8.h"
#include "cli/export/totals.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Only quote, backslash and line end need an escape. */
static void put_label(struct export_out *out, const char *text)
{
	char *utf8 = gw_to_utf8(text);

	for (const char *s = utf8; *s; s++) {
		if (*s == '\n')
			export_write(out, "\\n", 2);
		else if (*s == '"' || *s == '\\')
			export_print(out, "\\%c", *s);
		else
			export_write(out, s, 1);
	}
	free(utf8);
}

static void put_family(const struct export *e, const char *family, bool seconds, const char *help)
{
	export_print(e->out, "# TYPE %s counter\n", family);
	if (seconds)
		export_print(e->out, "# UNIT %s seconds\n", family);
	export_print(e->out, "# HELP %s %s\n", family, help);
}

/* The start of a sample, which has more labels: GPU @p at of the model, GW_INDEX_NONE: unknown. */
static void put_gpu(const struct export *e, const char *family, uint32_t at)
{
	const struct gw_gpu *gpu = at == GW_INDEX_NONE ? NULL : &e->model->gpus[at];

	export_print(e->out, "%s_total{gpu=\"%d\",UUID=\"", family,
		     gpu ? (int)gpu->record.ordinal : -1);
	put_label(e->out, gpu ? gpu->uuid : "");
	export_print(e->out, "\",");
}

static void put_sample(struct export *e, const char *family, const struct export_total *t,
		       uint64_t value, bool seconds)
{
	put_gpu(e, family, t->gpu);
	export_print(e->out, "kernel=\"");
	put_label(e->out, export_total_name(e, t));
	export_print(e->out, "\",bound=\"%s\"} ", gw_bound_name(t->bound));
	if (seconds)
		export_print(e->out, "%" PRIu64 ".%09" PRIu64 "\n", value / 1000000000,
			     value % 1000000000);
	else
		export_print(e->out, "%" PRIu64 "\n", value);
}

static void put_graph(const struct export *e, const char *family, const struct log_graph *g,
		      double value)
{
	if (!isfinite(value))
		return;
	put_gpu(e, family, g->gpu);
	if (g->graph)
		export_print(e->out, "pid=\"%u\",graph=\"%u\"} ", g->pid, g->graph);
	else
		export_print(e->out, "pid=\"%u\",graph=\"other\"} ", g->pid);
	export_print(e->out, "%.17g\n", value);
}

/* Of a graph `g`. */
#define GRAPHS(name, unit, help, value) \
	put_family(e, name, unit, help); \
	for (size_t i = 0; i < graphs->count; i++) { \
		const struct log_graph *g = &graphs->list[i]; \
\
		put_graph(e, name, g, value); \
	}

static void put_graphs(struct export *e)
{
	const struct log_graphs *graphs = &e->model->graphs;

	if (!graphs->count)
		return;
	GRAPHS("gpuwatch_graph_launches", false, "Launches of CUDA graphs that are timed whole.",
	       (double)g->launches)
	GRAPHS("gpuwatch_graph_measured_launches", false, "Of them timed.", (double)g->timed)
	GRAPHS("gpuwatch_graph_seconds", true,
	       "GPU time of all of them: their number times the mean of the timed ones.",
	       log_graph_time(g) / 1e9)
	GRAPHS("gpuwatch_graph_scored_seconds", true,
	       "GPU time of the timed ones that had a prediction for each kernel.",
	       g->scored_ns / 1e9)
	GRAPHS("gpuwatch_graph_predicted_seconds", true, "Predicted GPU time of the same launches.",
	       g->predicted / 1e9)
}

#define FAMILY(name, unit, help, value) \
	put_family(e, name, unit, help); \
	for (size_t i = 0; i < t->count; i++) \
		put_sample(e, name, &t->list[i], value, unit);

static bool end(struct export *e)
{
	struct export_totals *t = e->state;

	if (!t)
		return true;
	FAMILY("gpuwatch_launches", false, "Kernels that ran.", t->list[i].launches)
	FAMILY("gpuwatch_measured_launches", false, "Kernels that ran and were timed.",
	       t->list[i].measured)
	FAMILY("gpuwatch_measured_seconds", true, "GPU time of timed kernels.", t->list[i].ns)
	FAMILY("gpuwatch_scored_seconds", true, "GPU time of timed kernels that had a prediction.",
	       t->list[i].scored_ns)
	FAMILY("gpuwatch_predicted_seconds", true, "Predicted GPU time of the same kernels.",
	       (uint64_t)t->list[i].predicted)
	put_graphs(e);
	export_print(e->out, "# EOF\n");
	export_totals_free(t);
	return true;
}

const struct export_format export_openmetrics = {.begin = export_totals_begin,
						 .launch = export_totals_launch,
						 .sum = export_totals_sum,
						 .end = end};
