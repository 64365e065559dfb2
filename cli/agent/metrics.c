#include "cli/agent/metrics.h"

#include "cli/live/tables.h"
#include "predictor/log/record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LABELS = 16, BASE = 5 };

struct emitter {
	const struct agent_node *node;
	const struct agent_self *self;
	const struct metric_sink *sink;
	struct metric_label label[LABELS];
	size_t labels;
	char ordinal[16];
};

/* ---- labels ---- */

static void label(struct emitter *e, const char *name, const char *value)
{
	e->label[e->labels++] = (struct metric_label){name, value};
}

static void of_node(struct emitter *e)
{
	e->labels = 0;
	if (*e->self->host_label)
		label(e, e->self->host_label, e->self->host);
}

/* As dcgm-exporter names them, so that its series join by UUID. */
static void of_gpu(struct emitter *e, const struct agent_gpu *g)
{
	e->labels = 0;
	snprintf(e->ordinal, sizeof(e->ordinal), "%u", g->ordinal);
	label(e, "UUID", g->uuid);
	label(e, "gpu", e->ordinal);
	label(e, "pci_bus_id", g->pci);
	label(e, "modelName", g->model);
	if (*e->self->host_label)
		label(e, e->self->host_label, e->self->host);
}

/* What is no number has no sample: it is unknown. */
static void put(struct emitter *e, double value)
{
	if (isfinite(value))
		e->sink->sample(e->sink->arg, e->label, e->labels, value);
}

static void put_with(struct emitter *e, const char *name, const char *text, double value)
{
	label(e, name, text);
	put(e, value);
	e->labels--;
}

#define EACH_GPU(e, g) \
	const struct agent_gpu *g; \
	for (size_t gpu_at = 0; \
	     gpu_at < (e)->node->gpus && (of_gpu(e, g = (e)->node->gpu[gpu_at]), true); gpu_at++)

/* ---- kernels ---- */

typedef void kernel_fn(struct emitter *e, const struct agent_sum *sum);

static void each_kernel(struct emitter *e, kernel_fn *emit)
{
	EACH_GPU (e, g) {
		for (size_t i = 0; i < AGENT_KERNELS; i++) {
			if (!g->kernel[i].shown)
				continue;
			label(e, "kernel", g->kernel[i].name);
			emit(e, &g->kernel[i].sum);
			e->labels--;
		}
		label(e, "kernel", "other");
		emit(e, &g->other);
		e->labels--;
	}
}

static void put_launches(struct emitter *e, const struct agent_sum *s)
{
	put(e, s->launches);
}

static void put_gpu_seconds(struct emitter *e, const struct agent_sum *s)
{
	put(e, s->gpu_ns / 1e9);
}

static void put_compared(struct emitter *e, const struct agent_sum *s)
{
	put(e, s->compared_ns / 1e9);
}

static void put_expected(struct emitter *e, const struct agent_sum *s)
{
	put(e, s->expected_ns / 1e9);
}

static void put_histogram(struct emitter *e, const struct agent_sum *s)
{
	struct metric_histogram h = {
		.all = s->measured, .sum = s->measured_ns / 1e9, .time = &s->time};

	for (int i = 0; i < AGENT_BUCKETS; i++) {
		h.end[i] = agent_bucket_ns[i] / 1e9;
		h.count[i] = s->bucket[i];
	}
	e->sink->histogram(e->sink->arg, e->label, e->labels, &h);
}

static void emit_launches(struct emitter *e)
{
	each_kernel(e, put_launches);
}

static void emit_gpu_seconds(struct emitter *e)
{
	each_kernel(e, put_gpu_seconds);
}

static void emit_kernel_seconds(struct emitter *e)
{
	each_kernel(e, put_histogram);
}

static void emit_kernel_compared(struct emitter *e)
{
	each_kernel(e, put_compared);
}

static void emit_kernel_expected(struct emitter *e)
{
	each_kernel(e, put_expected);
}

/* ---- graphs ---- */

#define BY_GRAPH(id, value) \
	static void emit_##id(struct emitter *e) \
	{ \
		EACH_GPU (e, g) \
			for (int i = 0; i <= AGENT_GRAPHS; i++) \
				put_graph(e, &g->graph[i], value); \
	}

static void put_graph(struct emitter *e, const struct agent_graph *t, double value)
{
	char number[16] = "other";
	const size_t before = e->labels;

	if (!(t->launches > 0))
		return;
	if (t->graph)
		snprintf(number, sizeof(number), "%u", t->graph);
	if (*t->program)
		label(e, "program", t->program);
	put_with(e, "graph", number, value);
	e->labels = before;
}
BY_GRAPH(graph_launches, g->graph[i].launches)
BY_GRAPH(graph_seconds, g->graph[i].gpu_ns / 1e9)
BY_GRAPH(graph_compared, g->graph[i].compared_ns / 1e9)
BY_GRAPH(graph_expected, g->graph[i].expected_ns / 1e9)

/* ---- a GPU ---- */

static void emit_processes(struct emitter *e)
{
	EACH_GPU (e, g)
		put(e, (double)g->processes);
}

#define BY_BOUND(id, value) \
	static void emit_##id(struct emitter *e) \
	{ \
		EACH_GPU (e, g) \
			for (int i = 0; i < AGENT_BOUNDS; i++) \
				put_with(e, "bound", gw_bound_name((enum gw_bound)i), value); \
	}
BY_BOUND(measured, g->bound[i].measured_ns / 1e9)
BY_BOUND(compared, g->bound[i].compared_ns / 1e9)
BY_BOUND(expected, g->bound[i].expected_ns / 1e9)
BY_BOUND(prediction_ratio, g->ratio[i])

/* Whether anything was: mode count measures nothing. */
static bool measured(const struct agent_gpu *g)
{
	for (int i = 0; i < AGENT_BOUNDS; i++)
		if (g->bound[i].measured > 0)
			return true;
	return false;
}

static void emit_lost(struct emitter *e)
{
	static const char *const names[] = {
#define LOST(NAME, name, meaning) name,
#include "cli/agent/lost.def"
#undef LOST
	};

	EACH_GPU (e, g)
		for (int i = 0; i < AGENT_LOSSES; i++) {
			const bool known = i == AGENT_LOST_STARVATION ? g->timed : measured(g);

			put_with(e, "cause", names[i], known ? g->lost_ns[i] / 1e9 : NAN);
		}
}

static void emit_busy(struct emitter *e)
{
	EACH_GPU (e, g)
		put(e, g->timed ? g->busy_ns / 1e9 : NAN);
}

static void emit_idle(struct emitter *e)
{
	EACH_GPU (e, g)
		for (int i = 0; i < GW_IDLE_CAUSES; i++)
			put_with(e, "cause", gw_live_idle_name((enum gw_idle_cause)i),
				 g->timed ? g->idle_ns[i] / 1e9 : NAN);
}

static void emit_communication(struct emitter *e)
{
	EACH_GPU (e, g)
		put(e, g->communication_ns / 1e9);
}

static void emit_power(struct emitter *e)
{
	EACH_GPU (e, g)
		put(e, g->clock_ns && g->power_mw != UINT32_MAX ? g->power_mw / 1e3 : NAN);
}

static void emit_energy(struct emitter *e)
{
	EACH_GPU (e, g)
		put(e, g->energy_j > 0 ? g->energy_j : NAN);
}

static void emit_energy_expected(struct emitter *e)
{
	EACH_GPU (e, g)
		put(e, g->energy_j > 0 ? g->energy_expected_ns / 1e9 : NAN);
}

static void put_share(struct emitter *e, const struct agent_owner *o, double gpu_ns)
{
	const size_t before = e->labels;

#define OWNER(name, variables, meaning) \
	if (*o->name) \
		label(e, #name, o->name);
#include "cli/agent/owner.def"
#undef OWNER
	put(e, gpu_ns / 1e9);
	e->labels = before;
}

static void emit_owner(struct emitter *e)
{
	static const struct agent_owner other = {.program = "other"};

	EACH_GPU (e, g) {
		for (int i = 0; i < AGENT_OWNERS; i++)
			if (g->share[i].used_ns)
				put_share(e, &g->share[i].owner, g->share[i].gpu_ns);
		if (g->other_owners_ns > 0)
			put_share(e, &other, g->other_owners_ns);
	}
}

static double hertz(uint32_t khz)
{
	return khz ? khz * 1e3 : NAN;
}

static void emit_sm_clock(struct emitter *e)
{
	EACH_GPU (e, g)
		put(e, hertz(g->sm_khz));
}

static void emit_sm_clock_most(struct emitter *e)
{
	EACH_GPU (e, g)
		put(e, hertz(g->full_sm_khz));
}

static void emit_memory_clock(struct emitter *e)
{
	EACH_GPU (e, g)
		put(e, hertz(g->mem_khz));
}

static void emit_throttled(struct emitter *e)
{
	static const char *const names[] = {
#define THROTTLE(NAME, name, bits, meaning) name,
#include "cli/agent/throttle.def"
#undef THROTTLE
	};

	EACH_GPU (e, g)
		for (int i = 0; i < AGENT_THROTTLES && g->clock_ns; i++)
			put_with(e, "reason", names[i], g->throttled_ns[i] / 1e9);
}

static void emit_others(struct emitter *e)
{
	EACH_GPU (e, g)
		put(e, g->clock_ns && g->others <= 100 ? g->others / 100.0 : NAN);
}

/* ---- health ---- */

#define BY_RESOURCE(id, value) \
	static void emit_##id(struct emitter *e) \
	{ \
		struct health_verdict v; \
												   \
		EACH_GPU (e, g) \
			for (int i = 0; i < HEALTH_RESOURCES; i++) { \
				health_of(g->health, (enum health_resource)i, &v); \
				put_with(e, "resource", \
					 health_resource_name((enum health_resource)i), value); \
			} \
	}
BY_RESOURCE(slow, v.state == HEALTH_UNKNOWN ? NAN : v.state == HEALTH_SLOW)
BY_RESOURCE(slowdown, v.ratio)
BY_RESOURCE(slow_since, v.since_ns ? (double)v.since_ns / 1e9 : NAN)

/* ---- the node ---- */

static void emit_info(struct emitter *e)
{
	of_node(e);
	put_with(e, "version", e->self->version, 1);
}

static void emit_own_cpu(struct emitter *e)
{
	const double *c = e->node->counter;

	of_node(e);
	put_with(e, "where", "worker", c[GW_COUNTER_worker_cpu_ns] / 1e9);
	put_with(e, "where", "application",
		 (c[GW_COUNTER_attach_ns] + c[GW_COUNTER_overhead_ns] + c[GW_COUNTER_events_ns]) / 1e9);
	put_with(e, "where", "clocks", c[GW_COUNTER_clock_ns] / 1e9);
	put_with(e, "where", "counters", c[GW_COUNTER_pm_cpu_ns] / 1e9);
	put_with(e, "where", "code", c[GW_COUNTER_analysis_threads_ns] / 1e9);
	put_with(e, "where", "log", e->node->own_rest / 1e9);
}

static void emit_dropped(struct emitter *e)
{
	static const struct {
		const char *what;
		int counter;
	} rows[] = {
		{"launches, ring full", GW_COUNTER_ring_dropped},
		{"launches, no ring", GW_COUNTER_threads_dropped},
		{"activity records", GW_COUNTER_activity_dropped},
		{"launches without a time", GW_COUNTER_launches_unmatched},
		{"log records", GW_COUNTER_log_lost},
		{"detail, table full", GW_COUNTER_table_full},
		{"memory refused", GW_COUNTER_memory_refused},
		{"hooks", GW_COUNTER_hooks_unresolved},
		{"work over GPUWATCH_CPU_MAX", GW_COUNTER_sheds},
	};

	of_node(e);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		put_with(e, "what", rows[i].what, e->node->counter[rows[i].counter]);
}

#define OF_NODE(id, value) \
	static void emit_##id(struct emitter *e) \
	{ \
		of_node(e); \
		put(e, value); \
	}
OF_NODE(own_memory, e->node->memory)
OF_NODE(begun, e->node->processes_begun)
OF_NODE(missed, e->self->missed)
OF_NODE(refused, e->node->refused)
OF_NODE(unreadable, e->self->unreadable)
OF_NODE(snapshots, e->self->snapshots)
OF_NODE(agent_cpu, e->self->cpu_s)
OF_NODE(pods_failed, e->self->failed_pods)
OF_NODE(store_dropped, e->self->dropped_store)

static void emit_failures(struct emitter *e)
{
	of_node(e);
	put_with(e, "output", "textfile", e->self->failed_textfile);
	put_with(e, "output", "push", e->self->failed_push);
	put_with(e, "output", "store", e->self->failed_store);
}

void agent_metrics(const struct agent_node *node, const struct agent_self *self,
		   const struct metric_sink *sink)
{
	static const struct {
		struct metric_family family;
		void (*emit)(struct emitter *e);
	} rows[] = {
#define METRIC(id, KIND, name, unit, labels, help) {{name, unit, help, METRIC_##KIND}, emit_##id},
#include "cli/agent/metrics.def"
#undef METRIC
	};
	struct emitter e = {.node = node, .self = self, .sink = sink};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		sink->family(sink->arg, &rows[i].family);
		rows[i].emit(&e);
	}
}
