/* gpuwatch top --once --json; docs/user/json-schema.md describes it. */
#include "cli/common/basis.h"
#include "cli/common/json.h"
#include "cli/live/tables.h"
#include "cli/top/cells.h"
#include "cli/top/graphs.h"
#include "cli/top/top.h"
#include "predictor/log/record.h"

#include <stdlib.h>
#include <string.h>

/* By cause, where the process times all kernels. */
static json_t *idle_time(const struct top_process *p, const struct top_device *d)
{
	json_t *all;

	if (!top_process_timed(p))
		return json_null();
	all = json_object();
	for (int i = 0; i < GW_IDLE_CAUSES; i++)
		gw_set_count(all, gw_live_idle_name((enum gw_idle_cause)i), d->now.idle_ns[i]);
	return all;
}

static json_t *device(const struct top_process *p, uint32_t ordinal)
{
	const struct top_device *d = &p->device[ordinal];

	return json_pack(
		"{s:I,s:o,s:o,s:o,s:o,s:o,s:o}", "device", (json_int_t)ordinal, "idle",
		gw_json_number(d->idle), "idle_ns", idle_time(p, d), "kernels",
		gw_json_count(d->now.kernels), "sm_mhz",
		d->now.sm_khz ? gw_json_number(d->now.sm_khz / 1e3) : json_null(), "mem_mhz",
		d->now.mem_khz ? gw_json_number(d->now.mem_khz / 1e3) : json_null(),
		"throttle_reasons", d->now.clock_ns ? gw_json_count(d->now.reasons) : json_null());
}

static json_t *counters(const struct top_process *p)
{
	static const char *const names[GW_COUNTERS] = {
#define COUNTER(name, meaning) #name,
#include "predictor/log/counter.def"
#undef COUNTER
	};
	json_t *all;

	if (!p->totals.ns)
		return json_null();
	all = json_object();
	for (uint32_t i = 0; i < p->totals.counters && i < GW_COUNTERS; i++)
		gw_set_count(all, names[i], p->totals.counter[i]);
	return all;
}

static json_t *process(const struct top_process *p, double span_ns)
{
	static const char *const states[] = {"running", "elsewhere", "ended"};
	const bool until = p->switchable && p->switched.until_ns;
	json_t *devices = json_array();

	for (uint32_t i = 0; i < GW_LIVE_DEVICES; i++)
		if (p->device[i].known)
			json_array_append_new(devices, device(p, i));
	return json_pack("{s:I,s:o,s:o,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "pid",
			 (json_int_t)p->pid, "segment", gw_json_text(p->id), "program",
			 gw_json_text(p->exe), "state", states[p->state], "mode",
			 p->totals.ns ? gw_json_text(top_mode_name(p)) : json_null(), "budget",
			 p->switchable ? gw_json_count(p->switched.budget) : json_null(),
			 "until_ns", until ? gw_json_count(p->switched.until_ns) : json_null(),
			 "then", until ? gw_json_text(gw_mode_name(p->switched.then)) : json_null(),
			 "runs_per_s", gw_json_number(p->runs / span_ns * 1e9), "devices", devices,
			 "counters", counters(p), "graphs", top_graphs_json(p));
}

static json_t *span(const struct top_span *s)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:b}", "runs", gw_json_number(s->runs), "measured",
			 gw_json_number(s->measured), "time_ns", gw_json_number(s->time_ns),
			 "mean_ns", gw_json_number(s->mean_ns), "measured_over_predicted",
			 gw_json_number(s->ratio), "estimated", s->estimated);
}

static json_t *quantiles(const struct gw_sketch *s)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "count", gw_json_count(s->count), "min",
			 s->count ? gw_json_number(s->low) : json_null(), "p5",
			 gw_json_number(gw_sketch_quantile(s, 0.05)), "median",
			 gw_json_number(gw_sketch_quantile(s, 0.5)), "p95",
			 gw_json_number(gw_sketch_quantile(s, 0.95)), "p99",
			 gw_json_number(gw_sketch_quantile(s, 0.99)), "max",
			 s->count ? gw_json_number(s->high) : json_null());
}

static json_t *kernel(const struct top_model *m, const struct top_row *r)
{
	struct gw_sketch time, ratio;
	json_t *o;

	top_row_sketches(r, &time, &ratio);
	o = json_pack("{s:I,s:o,s:o,s:o,s:o,s:o,s:I}", "pid", (json_int_t)r->process->pid, "device",
		      r->device < GW_LIVE_DEVICES ? gw_json_count(r->device) : json_null(), "name",
		      gw_json_text(r->name), "demangled",
		      gw_json_text(r->mangled ? r->plain : NULL), "mangled",
		      gw_json_text(r->mangled), "share", gw_json_number(top_row_share(m, r)),
		      "configurations", (json_int_t)r->configs);
	json_object_set_new(o, "interval", span(&r->interval));
	json_object_set_new(o, "total", span(&r->total));
	gw_set_number(o, "predicted_ns", r->predicted);
	gw_set_number(o, "low_ns", r->low);
	gw_set_number(o, "high_ns", r->high);
	gw_set_text(o, "bound", gw_bound_name(r->bound));
	gw_set_text(o, "basis", gw_basis_name(r->tier));
	gw_set_text(o, "work", gw_work_basis_name(r->work));
	json_object_set_new(o, "time_ns", quantiles(&time));
	json_object_set_new(o, "measured_over_predicted", quantiles(&ratio));
	return o;
}

void top_json(const struct top_view *v)
{
	const struct top_model *m = v->model;
	json_t *processes = json_array(), *kernels = json_array(), *bounds = json_object();
	struct top_row **rows;
	const size_t count = top_choose(m, &v->choice, SIZE_MAX, &rows);
	const char *why;

	for (size_t i = 0; i < m->processes; i++)
		json_array_append_new(processes, process(m->process[i], m->span_ns));
	for (size_t i = 0; i < count && (!v->rows || i < v->rows); i++)
		json_array_append_new(kernels, kernel(v->model, rows[i]));
	for (int i = 0; i <= GW_BOUND_LAUNCH; i++)
		gw_set_number(bounds, gw_bound_name((enum gw_bound)i), m->bound_ns[i] / m->time_ns);
	gw_json_print(json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:I}", "schema", "gpuwatch-top-1",
				"interval_s", gw_json_number(m->span_ns / 1e9), "time_ns",
				gw_json_number(m->time_ns), "bounds", bounds, "processes",
				processes, "kernels", kernels, "unreadable_segments",
				(json_int_t)top_source_refused(v->source, &why)));
	free(rows);
}
