/* The tables of a live segment as JSON: `gpuwatch recover --json`. */
#include "cli/common/json.h"
#include "cli/live/tables.h"
#include "predictor/core/types.h"
#include "predictor/log/record.h"

static json_t *three(const uint32_t v[3])
{
	return json_pack("[I,I,I]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]);
}

/* Buckets as Prometheus numbers them, those in use. */
static json_t *sketch(const struct gw_sketch *s)
{
	json_t *buckets = json_object();

	for (int i = 0; i < GW_SKETCH_BUCKETS; i++) {
		char index[16];

		snprintf(index, sizeof(index), "%d", s->first + i);
		if (s->bucket[i])
			gw_set_count(buckets, index, s->bucket[i]);
	}
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:i,s:o,s:o,s:o}", "count", gw_json_count(s->count),
			 "zero", gw_json_count(s->zero), "sum", gw_json_number(s->sum), "low",
			 gw_json_number(s->low), "high", gw_json_number(s->high), "schema",
			 s->schema, "median", gw_json_number(gw_sketch_quantile(s, 0.5)), "p99",
			 gw_json_number(gw_sketch_quantile(s, 0.99)), "buckets", buckets);
}

static json_t *config(const struct gw_live_config *c, const char *kernel)
{
	return json_pack(
		"{s:I,s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:s,s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o}",
		"config", (json_int_t)c->id, "kernel", gw_json_text(kernel), "device",
		c->device ? gw_json_count(c->device - 1) : json_null(), "grid", three(c->grid),
		"block", three(c->block), "cluster", three(c->cluster), "dynamic_shared",
		(json_int_t)c->shared, "digest", (json_int_t)c->digest, "basis",
		gw_tier_name((enum gw_tier)c->tier), "work",
		gw_source_name((enum gw_source)c->work), "bound",
		gw_bound_name((enum gw_bound)c->bound), "predicted_ns",
		gw_json_number(c->predicted), "low_ns", gw_json_number(c->low), "high_ns",
		gw_json_number(c->high), "known", gw_json_count(c->known), "launches",
		gw_json_count(c->launches), "time_ns", sketch(&c->time), "measured_over_predicted",
		sketch(&c->ratio));
}

static json_t *device(uint32_t ordinal, const struct gw_live_device *d)
{
	return json_pack("{s:I,s:o,s:o,s:o,s:o,s:I,s:I,s:o}", "device", (json_int_t)ordinal,
			 "kernels", gw_json_count(d->kernels), "busy_ns", gw_json_count(d->busy_ns),
			 "idle_ns", sketch(&d->gap), "clock_ns", gw_json_count(d->clock_ns),
			 "sm_khz", (json_int_t)d->sm_khz, "mem_khz", (json_int_t)d->mem_khz,
			 "reasons", gw_json_count(d->reasons));
}

static json_t *totals(const struct gw_live_totals *t)
{
	static const char *const names[GW_COUNTERS] = {
#define COUNTER(name, meaning) #name,
#include "predictor/log/counter.def"
#undef COUNTER
	};
	json_t *counters = json_object(), *bounds = json_object();

	for (uint32_t i = 0; i < t->counters && i < GW_COUNTERS; i++)
		gw_set_count(counters, names[i], t->counter[i]);
	for (uint32_t i = 0; i <= GW_BOUND_LAUNCH; i++)
		json_object_set_new(bounds, gw_bound_name((enum gw_bound)i),
				    json_pack("{s:o,s:o}", "ns", gw_json_count(t->bound_ns[i]),
					      "kernels", gw_json_count(t->bound_kernels[i])));
	return json_pack("{s:s,s:o,s:I,s:o,s:o}", "mode",
			 gw_mode_name(t->mode) ? gw_mode_name(t->mode) : "-", "ns",
			 gw_json_count(t->ns), "configs_refused", (json_int_t)t->configs_refused,
			 "bounds", bounds, "counters", counters);
}

static json_t *graph(const struct gw_live_graph_time *g)
{
	return json_pack(
		"{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "graph", gw_json_count(g->graph),
		"kernels", gw_json_count(g->kernels), "kernels_predicted",
		gw_json_count(g->known_kernels), "launches", gw_json_count(g->launches), "timed",
		gw_json_count(g->timed), "scored", gw_json_count(g->scored), "total_ns",
		gw_json_count(g->total_ns), "squares", gw_json_number(g->squares), "scored_ns",
		gw_json_count(g->scored_ns), "predicted_ns", gw_json_count(g->predicted_ns),
		"expected_ns", gw_json_count(g->expected_ns));
}

void gw_live_print(const struct gw_live_file *f, const char *path)
{
	static const char *const owners[] = {"ended", "running", "elsewhere"};
	static struct gw_live_names names;
	json_t *configs = json_array(), *devices = json_array(), *graphs = json_array(), *all;
	struct gw_live_config c;
	struct gw_live_device d;
	struct gw_live_totals t = {0};
	struct gw_live_graph_time g;
	const bool totals_known = gw_live_totals_of(f, &t);

	gw_live_names_of(f, &names);
	/* Reading a page of the file for the first time takes memory, which is the process's. */
	for (uint32_t i = 0, unused = 0; i < f->head->configs.count && unused < GW_LIVE_FREE_MOST;
	     i++) {
		unused = gw_live_config_sequence(f, i) ? 0 : unused + 1;
		if (!unused && gw_live_config_at(f, i, &c))
			json_array_append_new(configs,
					      config(&c, gw_live_name(f, &names, c.kernel)));
	}
	for (uint32_t i = 0; i < f->head->devices.count; i++)
		if (gw_live_device_at(f, i, &d))
			json_array_append_new(devices, device(i, &d));
	for (uint32_t i = 0;
	     t.counter[GW_COUNTER_graph_launches] && gw_live_graph_time_at(f, i, &g); i++)
		json_array_append_new(graphs, graph(&g));
	all = json_pack("{s:o,s:I,s:s,s:o,s:o,s:o,s:o,s:o}", "segment", gw_json_text(path), "pid",
			(json_int_t)f->head->pid, "process", owners[gw_live_owner(f)], "log",
			gw_json_text(gw_live_log_of(f)), "totals",
			totals_known ? totals(&t) : json_null(), "devices", devices,
			"configurations", configs, "graphs", graphs);
	gw_json_print(all);
}
