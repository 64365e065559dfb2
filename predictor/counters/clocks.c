#include "predictor/counters/clocks.h"

#include <math.h>
#include <stddef.h>

static const uint64_t NEAR_NS = 300000000;  /* a sample farther away says nothing */
static const uint64_t LATE_NS = 1000000000; /* samples come out of order by no more */
static const double CHANGED = 0.05;         /* two clocks that differ by more are not averaged */

void gw_clocks_add(struct gw_clocks *c, const struct gw_clock_sample *sample)
{
	uint64_t last = c->count ? c->ring[(c->count - 1) % GW_CLOCKS_WINDOW].ns : 0;

	if (sample->ns < last && last - sample->ns <= LATE_NS)
		return;
	if (sample->ns < last) /* the clock was set back: what was seen before has no time in it */
		c->count = 0;
	c->ring[c->count++ % GW_CLOCKS_WINDOW] = *sample;
}

/* The samples that say something of a time: those inside it, or its two neighbours. */
struct view {
	const struct gw_clock_sample *before, *after; /* nearest outside, near enough, or NULL */
	const struct gw_clock_sample *inside[GW_CLOCKS_WINDOW];
	uint32_t count;
};

static void look(const struct gw_clocks *c, uint64_t start_ns, uint64_t end_ns, struct view *v)
{
	uint64_t first = c->count > GW_CLOCKS_WINDOW ? c->count - GW_CLOCKS_WINDOW : 0;

	v->before = v->after = NULL;
	v->count = 0;
	/* Backwards: a launch is asked about soon after it ran. */
	for (uint64_t i = c->count; i-- > first;) {
		const struct gw_clock_sample *s = &c->ring[i % GW_CLOCKS_WINDOW];

		if (s->ns > end_ns) {
			v->after = s->ns - end_ns <= NEAR_NS ? s : NULL;
		} else if (s->ns >= start_ns) {
			v->inside[v->count++] = s;
		} else {
			v->before = start_ns - s->ns <= NEAR_NS ? s : NULL;
			break;
		}
	}
}

/* kHz to Hz; 0 is NVML's "unknown". */
static double hertz(uint32_t khz)
{
	return khz ? khz * 1e3 : NAN;
}

static uint32_t sm(const struct gw_clock_sample *s)
{
	return s->sm_khz;
}

static uint32_t memory(const struct gw_clock_sample *s)
{
	return s->mem_khz;
}

static double clock_of(const struct view *v, uint32_t (*which)(const struct gw_clock_sample *))
{
	double sum = 0, before, after;

	if (v->count) {
		for (uint32_t i = 0; i < v->count; i++)
			sum += hertz(which(v->inside[i]));
		return sum / v->count;
	}
	before = v->before ? hertz(which(v->before)) : NAN;
	after = v->after ? hertz(which(v->after)) : NAN;
	if (isnan(before) || isnan(after))
		return isnan(before) ? after : before;
	return fabs(before - after) > CHANGED * fmax(before, after) ? NAN : (before + after) / 2;
}

static void gather(struct gw_clock_state *out, const struct gw_clock_sample *s)
{
	if (!s)
		return;
	out->reasons |= s->reasons;
	if (s->others != UINT32_MAX)
		out->others = fmax(s->others / 100.0, isnan(out->others) ? 0 : out->others);
}

void gw_clocks_at(const struct gw_clocks *c, uint64_t start_ns, uint64_t end_ns,
		  struct gw_clock_state *out)
{
	struct view v;

	look(c, start_ns, end_ns, &v);
	*out = (struct gw_clock_state){
		.sm_hz = clock_of(&v, sm), .mem_hz = clock_of(&v, memory), .others = NAN};
	for (uint32_t i = 0; i < v.count; i++)
		gather(out, v.inside[i]);
	if (!v.count) {
		gather(out, v.before);
		gather(out, v.after);
	}
}
