#include "cli/graphs/graphs.h"

#include "cli/common/memory.h"
#include "cli/log/profile.h"
#include "predictor/core/hash.h"
#include "predictor/models/inputs.h"
#include "predictor/models/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double KNOWN = 0.95; /* of a graph's expected time, to have a verdict */
static const double NORMAL_95 = 1.96;

struct wanted {
	const struct log_graphs *graphs;
	uint64_t process;
	uint32_t graph;
};

static bool same(const void *arg, uint32_t position)
{
	const struct wanted *w = arg;
	const struct log_graph *g = &w->graphs->list[position];

	return g->process == w->process && g->graph == w->graph;
}

static struct log_graph *row_of(struct log_graphs *graphs, uint64_t process, uint32_t graph)
{
	const struct wanted wanted = {graphs, process, graph};
	const uint64_t key = gw_hash(process, &graph, sizeof(graph));
	uint32_t at = gw_index_find(&graphs->index, key, same, &wanted);

	if (at == GW_INDEX_NONE) {
		at = (uint32_t)graphs->count;
		GW_GROW(graphs->list, &graphs->room, ++graphs->count);
		graphs->list[at] = (struct log_graph){.process = process,
						      .graph = graph,
						      .gpu = GW_INDEX_NONE,
						      .min = NAN,
						      .max = NAN};
		gw_index_add(&graphs->index, key, at);
	}
	return &graphs->list[at];
}

/* Files of one ring have one header. */
static uint64_t process_of(const struct gw_record_header *h, const char *host)
{
	uint64_t process = gw_hash(h->pid, &h->start_ns, sizeof(h->start_ns));

	process = gw_hash(process, &h->ticks, sizeof(h->ticks));
	return host ? gw_hash(process, host, strlen(host)) : process;
}

void log_graphs_add(struct log_graphs *graphs, const struct gw_record_header *header,
		    const char *host, const struct gw_record_graph *r, uint32_t gpu)
{
	struct log_graph *g = row_of(graphs, process_of(header, host), r->graph);

	g->pid = header->pid;
	g->gpu = gpu == GW_INDEX_NONE ? g->gpu : gpu;
	if (r->launches) {
		g->kernels = r->kernels;
		g->known_kernels = r->known_kernels;
	}
	g->unlisted |= r->unlisted != 0;
	g->launches += r->launches;
	g->timed += r->timed;
	g->scored += r->scored;
	g->total += (double)r->total_ns;
	g->squares += (double)r->squares;
	if (r->timed) {
		g->min = fmin(g->min, (double)r->min_ns);
		g->max = fmax(g->max, (double)r->max_ns);
	}
	g->scored_ns += (double)r->scored_ns;
	g->predicted += (double)r->predicted_ns;
	g->expected += (double)r->expected_ns;
	g->bound[GW_BOUND_MEMORY] += (double)r->memory_ns;
	g->bound[GW_BOUND_COMPUTE] += (double)r->compute_ns;
	g->bound[GW_BOUND_LATENCY] += (double)r->latency_ns;
	g->bound[GW_BOUND_LAUNCH] += (double)r->launch_ns;
}

void log_graphs_work(struct log_graphs *graphs, const struct gw_record_header *header,
		     const char *host, const struct gw_log_record *record)
{
	const struct gw_record_graph_work *r = (const void *)record->head;
	struct log_graph *g = row_of(graphs, process_of(header, host), r->graph);

	if (!g->work) {
		g->work = gw_alloc(sizeof(*g->work));
		gw_work_clear(g->work);
	}
	log_work_put((const void *)record->tail, r->count, g->work);
}

/* As one launch that fills the GPU, for its kernels do so one after the other, or do not. */
void log_graphs_judge(struct log_graphs *graphs, uint32_t gpu, const struct gw_device *device)
{
	const struct gw_kernel kernel = {.registers = 32, .static_shared = 1};
	const double sms = device ? gw_param_value(device, GW_PARAM_sm_count) : NAN;
	struct gw_launch launch = {.kernel = &kernel, .config = {.block = {256, 1, 1}}};
	struct gw_verdict v;

	launch.config.grid = (struct gw_dim3){sms > 0 ? (uint32_t)sms * 8 : 1, 1, 1};
	for (size_t i = 0; i < graphs->count; i++) {
		struct log_graph *g = &graphs->list[i];

		if (!g->work || g->gpu != gpu)
			continue;
		if (device) {
			gw_verdict_measured(device, &launch, g->work, log_graph_mean(g) * 1e-9, &v);
			g->whole = v.bound;
		}
		free(g->work);
		g->work = NULL;
	}
}

void log_graphs_free(struct log_graphs *graphs)
{
	for (size_t i = 0; i < graphs->count; i++)
		free(graphs->list[i].work);
	free(graphs->list);
	gw_index_free(&graphs->index);
	*graphs = (struct log_graphs){0};
}

double log_graph_mean(const struct log_graph *g)
{
	return g->timed ? g->total / (double)g->timed : NAN;
}

double log_graph_error(const struct log_graph *g)
{
	const double n = (double)g->timed, mean = log_graph_mean(g);
	double variance;

	if (g->timed < 2)
		return NAN;
	variance = fmax(0, g->squares / n - mean * mean) * n / (n - 1);
	return NORMAL_95 * sqrt(variance / n) / mean;
}

double log_graph_predicted(const struct log_graph *g)
{
	if (!g->graph || g->unlisted || !g->launches || g->known_kernels != g->kernels)
		return NAN;
	return g->scored ? g->predicted / (double)g->scored : g->expected / (double)g->launches;
}

double log_graph_ratio(const struct log_graph *g)
{
	return g->scored && g->predicted > 0 ? g->scored_ns / g->predicted : NAN;
}

double log_graph_time(const struct log_graph *g)
{
	return log_graph_mean(g) * (double)g->launches;
}

double log_graphs_by_bound(const struct log_graphs *graphs, double ns[GW_BOUND_LAUNCH + 1])
{
	double all = 0;

	for (int i = 0; i <= GW_BOUND_LAUNCH; i++)
		ns[i] = 0;
	for (size_t k = 0; k < graphs->count; k++) {
		const struct log_graph *g = &graphs->list[k];
		const double time = log_graph_time(g);
		double left = time;

		if (isnan(time))
			continue;
		all += time;
		for (int i = GW_BOUND_MEMORY; i <= GW_BOUND_LAUNCH && g->graph && !g->unlisted &&
					      g->known_kernels == g->kernels && g->expected > 0;
		     i++) {
			ns[i] += time * g->bound[i] / g->expected;
			left -= time * g->bound[i] / g->expected;
		}
		ns[g->whole] += fmax(0, left);
	}
	return all;
}

enum gw_bound log_graph_bound(const struct log_graph *g)
{
	enum gw_bound most = GW_BOUND_MEMORY;
	double sum = 0;

	for (int i = GW_BOUND_MEMORY; i <= GW_BOUND_LAUNCH; i++) {
		sum += g->bound[i];
		if (g->bound[i] > g->bound[most])
			most = (enum gw_bound)i;
	}
	return g->graph && !g->unlisted && g->known_kernels == g->kernels && sum > 0 &&
			       sum >= KNOWN * g->expected
		       ? most
		       : g->whole;
}
