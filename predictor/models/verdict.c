#include "predictor/models/verdict.h"

#include "predictor/models/peaks.h"
#include "predictor/models/inputs.h"
#include "predictor/models/occupancy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double SURE = 0.2; /* distance from the line at which it casts no more doubt */

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

/** The resources of an estimate that a verdict needs. */
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

/* The reason for no verdict; NULL when there is one. */
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
		/* The floor decides: everything else together is against it. */
		double rest = bounds->seconds > 0 ? s.first->value / bounds->seconds : 0;

		out->confidence = (1 - rest) * s.known / s.total;
		return;
	}
	out->confidence = gw_resource_trust(work, s.first->name) * s.known / s.total;
	if (s.first->value + second > 0)
		out->confidence *= s.first->value / (s.first->value + second);
	if (out->bound == GW_BOUND_LATENCY)
		explain_latency(device, launch, work, out);
}

/* The parts of the GPU that a measured launch used, and the launching of its blocks. */
struct usage {
	struct gw_peak peaks[GW_RESOURCES_MAX];
	const struct gw_peak *first, *second;
	double launching; /* s; NaN when unknown */
	double known;
	unsigned count;
};

static void look_at_peaks(const struct gw_device *device, const struct gw_launch *launch,
			  const struct gw_work *work, double seconds, struct usage *u)
{
	u->count = gw_peaks(device, launch, work, u->peaks);
	gw_peaks_measured(u->peaks, u->count, seconds);
	for (unsigned i = 0; i < u->count; i++) {
		const struct gw_peak *c = &u->peaks[i];

		if (isnan(c->seconds))
			continue;
		u->known++;
		if (!u->first || c->seconds > u->first->seconds) {
			u->second = u->first;
			u->first = c;
		} else if (!u->second || c->seconds > u->second->seconds) {
			u->second = c;
		}
	}
}

/* Distance of @p share from the line between bound and not: 0.5 on it, 1 well away. */
static double distance(double share)
{
	double d = 0.5 + fabs(share - GW_NEAR_PEAK) / (2 * SURE);

	return d < 1 ? d : 1;
}

/* For a peak: the measured time must exceed it. */
static double share_of(const struct gw_peak *c, double seconds)
{
	return c ? c->seconds / seconds : 0;
}

static void note_shares(struct gw_verdict *v, const struct usage *u, double seconds)
{
	note(v, "measured time", seconds, "s");
	if (u->first)
		note(v, u->first->name, share_of(u->first, seconds), "of its peak");
	if (u->second)
		note(v, u->second->name, share_of(u->second, seconds), "of its peak");
}

void gw_verdict_measured(const struct gw_device *device, const struct gw_launch *launch,
			 const struct gw_work *work, double seconds, struct gw_verdict *out)
{
	struct usage u = {.launching = gw_bounds_launching(device, launch)};
	struct gw_unmeasured unlooked;
	double share, start;

	*out = (struct gw_verdict){.bound = GW_BOUND_UNKNOWN};
	if (!(seconds > 0 && isfinite(seconds))) {
		out->unknown = "it was not measured";
		return;
	}
	look_at_peaks(device, launch, work, seconds, &u);
	unlooked = gw_limits(device, launch, work, u.peaks, u.count, seconds, GW_NEAR_PEAK);
	share = share_of(u.first, seconds);
	start = u.launching / seconds;
	if (share < GW_NEAR_PEAK && !(start >= GW_NEAR_PEAK) && unlooked.name) {
		out->unknown = unlooked.why;
		return;
	}
	note_shares(out, &u, seconds);
	out->confidence = (u.known + unlooked.limited) / u.count;
	if (share >= GW_NEAR_PEAK && !(start > share)) {
		out->bound = u.first->bound;
		out->resource = u.first->name;
		/* Above its peak: the amount, the peak or the time is wrong. */
		out->confidence *= u.first->confidence * distance(share) / fmax(share, 1);
	} else if (start >= GW_NEAR_PEAK) {
		out->bound = GW_BOUND_LAUNCH;
		out->resource = "launch";
		note(out, "launch of an empty grid", start, "of the time");
		out->confidence *= distance(start) / fmax(start, 1);
	} else {
		out->bound = GW_BOUND_LATENCY;
		out->resource = "latency";
		out->confidence *= (u.first ? u.first->confidence : 1) * distance(share);
		explain_latency(device, launch, work, out);
	}
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
