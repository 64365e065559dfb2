/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/verdict.h"

#include "predictor/models/inputs.h"
#include "predictor/models/occupancy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The amount of work behind a resource, and what stands for it where that is not known. */
static const struct {
	const char *resource;
	enum gw_work_field amount, instead;
} amounts[] = {
        {"issue", GW_WORK_inst_issued, GW_WORK_inst_executed},
        {"fma", GW_WORK_pipe_fma, GW_WORK_fp32_inst},
        {"alu", GW_WORK_pipe_alu, GW_WORK_int_inst},
        {"fp64", GW_WORK_pipe_fp64, GW_WORK_fp64_inst},
        {"fp16", GW_WORK_pipe_fp16, GW_WORK_fp16_inst},
        {"xu", GW_WORK_pipe_xu, GW_WORK_pipe_xu},
        {"tensor", GW_WORK_tensor_fp16_flop, GW_WORK_pipe_tensor},
        {"lsu", GW_WORK_lsu_wavefronts, GW_WORK_lsu_wavefronts},
        {"shared", GW_WORK_shared_wavefronts, GW_WORK_shared_wavefronts},
        {"l1", GW_WORK_l1_bytes, GW_WORK_l1_bytes},
        {"l2", GW_WORK_l2_read_bytes, GW_WORK_l2_write_bytes},
        {"dram", GW_WORK_dram_read_bytes, GW_WORK_dram_write_bytes},
        {"dram_in_flight", GW_WORK_warp_loads_in_flight, GW_WORK_warp_loads_in_flight},
        {"atomics", GW_WORK_atomic_requests, GW_WORK_atomic_same_address},
        {"shared_atomics", GW_WORK_shared_atomics, GW_WORK_shared_atomics},
        {"latency", GW_WORK_warp_cycles, GW_WORK_inst_executed},
};

const char *gw_latency_cause_name(enum gw_latency_cause cause)
{
	static const char *const names[] = {"", "parallelism", "occupancy", "dependences"};

	return (unsigned)cause < sizeof(names) / sizeof(*names) ? names[cause] : "";
}

static void note(struct gw_verdict *v, const char *what, double value, const char *unit)
{
	if (v->evidence_count < GW_EVIDENCE_MAX)
		v->evidence[v->evidence_count++] = (struct gw_evidence){what, value, unit};
}

/** The resources of an estimate, as far as a verdict asks. */
struct summary {
	const struct gw_term *first, *second;
	double known, total;
	bool issue, dram;
};

static void look_at(struct summary *s, const struct gw_term *term)
{
	s->total++;
	if (isnan(term->value))
		return;
	s->known++;
	s->issue = s->issue || !strcmp(term->name, "issue");
	s->dram = s->dram || !strcmp(term->name, "dram");
	if (!s->first || term->value > s->first->value) {
		s->second = s->first;
		s->first = term;
	} else if (!s->second || term->value > s->second->value) {
		s->second = term;
	}
}

/* How far the amount of work behind @p resource may be trusted; launches are known exactly. */
static double trust(const struct gw_work *work, const char *resource)
{
	for (unsigned i = 0; i < sizeof(amounts) / sizeof(*amounts); i++) {
		const struct gw_quantity *q = &work->q[amounts[i].amount];

		if (strcmp(amounts[i].resource, resource))
			continue;
		if (isnan(gw_usable(q->value)))
			q = &work->q[amounts[i].instead];
		return q->confidence >= 0 && q->confidence <= 1 ? (double)q->confidence : 0;
	}
	return 1;
}

static void explain_latency(const struct gw_device *device, const struct gw_launch *launch,
                            const struct gw_work *work, struct gw_verdict *v)
{
	struct gw_occupancy o;

	if (gw_occupancy_of(device, launch, &o))
		return;
	note(v, "waves", o.waves, "1");
	note(v, "occupancy", o.fraction, "1");
	if (o.waves < 1) {
		v->cause = GW_LATENCY_PARALLELISM;
		note(v, "blocks", gw_dim3_size(launch->config.grid), "block");
		note(v, "blocks the GPU holds at once", (double)o.resident_blocks, "block");
	} else if (o.fraction < 0.5) {
		v->cause = GW_LATENCY_OCCUPANCY;
		note(v, gw_occupancy_limit_name(o.limited_by), o.blocks_per_sm, "block/SM");
	} else {
		v->cause = GW_LATENCY_DEPENDENCES;
		note(v, "warp_cycles", gw_work_value(work, GW_WORK_warp_cycles), "cycle");
		note(v, "warp_memory_chain", gw_work_value(work, GW_WORK_warp_memory_chain),
		     "load");
	}
}

/* Why nothing can be said; NULL when something can. */
static const char *unknown(const struct gw_estimate *bounds, const struct summary *s)
{
	if (isnan(bounds->seconds))
		return "the time of the launch could not be estimated";
	if (!s->dram)
		return "the traffic to device memory, or the bandwidth, is not known";
	if (!s->issue)
		return "the instructions issued, or their rate, are not known";
	return NULL;
}

void gw_verdict_of(const struct gw_device *device, const struct gw_launch *launch,
                   const struct gw_work *work, const struct gw_estimate *bounds,
                   struct gw_verdict *out)
{
	struct summary s = {0};
	double second;

	*out = (struct gw_verdict){.bound = GW_BOUND_UNKNOWN};
	for (unsigned i = 0; i < bounds->term_count && i < GW_TERMS_MAX; i++)
		if (bounds->terms[i].resource)
			look_at(&s, &bounds->terms[i]);
	out->unknown = unknown(bounds, &s);
	if (out->unknown)
		return;
	out->bound = bounds->bound;
	out->resource = bounds->binding;
	note(out, "predicted time", bounds->seconds, "s");
	note(out, s.first->name, s.first->value, "s");
	second = s.second ? s.second->value : 0;
	if (s.second)
		note(out, s.second->name, second, "s");
	if (out->bound == GW_BOUND_LAUNCH && strcmp(out->resource, s.first->name)) {
		/* The floor decides: what stands against it is all the rest together. */
		double rest = bounds->seconds > 0 ? s.first->value / bounds->seconds : 0;

		out->confidence = (1 - rest) * s.known / s.total;
		return;
	}
	out->confidence = trust(work, s.first->name) * s.known / s.total;
	if (s.first->value + second > 0)
		out->confidence *= s.first->value / (s.first->value + second);
	if (out->bound == GW_BOUND_LATENCY)
		explain_latency(device, launch, work, out);
}

void gw_verdict_text(const struct gw_verdict *verdict, char *text, size_t size)
{
	const char *cause = gw_latency_cause_name(verdict->cause);

	if (verdict->bound == GW_BOUND_UNKNOWN)
		snprintf(text, size, "unknown: %s",
		         verdict->unknown ? verdict->unknown : "no bound");
	else
		snprintf(text, size, "%s-bound (%s%s%s)", gw_bound_name(verdict->bound),
		         verdict->resource ? verdict->resource : "?", *cause ? ": " : "", cause);
}
