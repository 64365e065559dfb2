/* Maxima of sums of latencies and delays, and in-order issue on them. */
#include "predictor/code/timing/timing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const class_names[GW_TIME_CLASSES] = {
#define TIME_CLASS(name, parameter) #name,
#include "predictor/code/timing/timing.def"
#undef TIME_CLASS
};

const struct gw_time_costs gw_time_typical = {
	.lat = {[GW_TIME_int] = 4,
		[GW_TIME_imad] = 4,
		[GW_TIME_fp32] = 4,
		[GW_TIME_fp64] = 8,
		[GW_TIME_sfu] = 18,
		[GW_TIME_div] = 36,
		[GW_TIME_mem] = 400,
		[GW_TIME_shared] = 24,
		[GW_TIME_constant] = 8,
		[GW_TIME_atomic] = 400,
		[GW_TIME_barrier] = 20,
		[GW_TIME_br] = 4},
	.del = {1, 1, 1, 2, 4, 8, 4, 2, 1, 4, 1, 1},
};

double gw_time_sum_value(const struct gw_time_sum *s, const struct gw_time_costs *costs)
{
	double v = 0;

	/* A cost that isn't known matters only where it stands in the sum. */
	for (unsigned c = 0; c < GW_TIME_CLASSES; c++) {
		v += s->lat[c] ? s->lat[c] * costs->lat[c] : 0;
		v += s->del[c] ? s->del[c] * costs->del[c] : 0;
	}
	return v;
}

/* Whether @p a is at least @p b whatever the costs, as long as each class has lat >= del >= 0. */
static bool covers(const struct gw_time_sum *a, const struct gw_time_sum *b)
{
	for (unsigned c = 0; c < GW_TIME_CLASSES; c++) {
		int64_t lat = (int64_t)a->lat[c] - b->lat[c], del = (int64_t)a->del[c] - b->del[c];

		if (lat < 0 || lat + del < 0)
			return false;
	}
	return true;
}

static unsigned least(const struct gw_time *t)
{
	unsigned at = 0;

	for (unsigned i = 1; i < t->count; i++)
		if (gw_time_sum_value(&t->sum[i], &gw_time_typical) <
		    gw_time_sum_value(&t->sum[at], &gw_time_typical))
			at = i;
	return at;
}

static void include(struct gw_time *t, const struct gw_time_sum *s)
{
	unsigned kept = 0, at;

	for (unsigned i = 0; i < t->count; i++)
		if (covers(&t->sum[i], s))
			return;
	for (unsigned i = 0; i < t->count; i++)
		if (!covers(s, &t->sum[i]))
			t->sum[kept++] = t->sum[i];
	t->count = kept;
	if (t->count < GW_TIME_SUMS) {
		t->sum[t->count++] = *s;
		return;
	}
	t->incomplete = true;
	at = least(t);
	if (gw_time_sum_value(s, &gw_time_typical) > gw_time_sum_value(&t->sum[at], &gw_time_typical))
		t->sum[at] = *s;
}

static void maximum(struct gw_time *t, const struct gw_time *other)
{
	t->incomplete |= other->incomplete;
	for (unsigned i = 0; i < other->count; i++)
		include(t, &other->sum[i]);
}

bool gw_time_of(const struct gw_time_insn *code, size_t count, uint32_t values, bool results,
		struct gw_arena *arena, struct gw_time *out)
{
	struct gw_time *ready = gw_arena_array(arena, values, sizeof(*ready));

	*out = (struct gw_time){.count = 1};
	if (!ready)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct gw_time_insn *insn = &code[i];
		struct gw_time done;

		/* Issue: after the delay of the one before, and when every source is there. */
		for (unsigned s = 0; s < sizeof(insn->source) / sizeof(*insn->source); s++)
			if (insn->source[s] && insn->source[s] < values)
				maximum(out, &ready[insn->source[s]]);
		done = *out;
		for (unsigned k = 0; k < done.count; k++) {
			done.sum[k].lat[insn->cls]++;
			out->sum[k].del[insn->cls]++;
		}
		for (unsigned r = 0; r < sizeof(insn->result) / sizeof(*insn->result); r++)
			if (insn->result[r] && insn->result[r] < values)
				ready[insn->result[r]] = done;
	}
	for (uint32_t v = 1; results && v < values; v++)
		maximum(out, &ready[v]);
	return true;
}

double gw_time_value(const struct gw_time *time, const struct gw_time_costs *costs, unsigned *which)
{
	double most = time->count ? -INFINITY : 0;

	for (unsigned i = 0; i < time->count; i++) {
		double v = gw_time_sum_value(&time->sum[i], costs);

		/* An unknown one makes the maximum unknown. */
		if (isnan(v))
			return NAN;
		if (v > most) {
			most = v;
			if (which)
				*which = i;
		}
	}
	return most;
}

struct writer {
	char *out;
	size_t size, used;
};

static void put(struct writer *w, const char *text)
{
	int n = snprintf(w->out + w->used, w->size - w->used, "%s", text);

	w->used += n < 0 ? 0 : (size_t)n;
	if (w->used >= w->size)
		w->used = w->size - 1;
}

static bool put_terms(struct writer *w, const char *kind, const uint32_t *times, bool first)
{
	char text[48];

	for (unsigned c = 0; c < GW_TIME_CLASSES; c++) {
		if (!times[c])
			continue;
		put(w, first ? "" : " + ");
		if (times[c] > 1) {
			snprintf(text, sizeof(text), "%u ", times[c]);
			put(w, text);
		}
		put(w, kind);
		put(w, class_names[c]);
		first = false;
	}
	return first;
}

char *gw_time_text(const struct gw_time *time, char *out, size_t size)
{
	struct writer w = {out, size, 0};

	if (!size)
		return out;
	*out = '\0';
	if (time->count > 1)
		put(&w, "max(");
	for (unsigned i = 0; i < time->count; i++) {
		put(&w, i ? ", " : "");
		if (put_terms(&w, "del_", time->sum[i].del,
			      put_terms(&w, "lat_", time->sum[i].lat, true)))
			put(&w, "0");
	}
	if (time->count > 1)
		put(&w, ")");
	return out;
}

/* Kleimenov and Popova 2021: a warp occupies its scheduler for warp size / lanes cycles, at least one. */
static double delay(const struct gw_device *d, double operations_per_second)
{
	double schedulers = gw_param(d, GW_PARAM_sm_count) *
			    gw_param(d, GW_PARAM_schedulers_per_sm) *
			    gw_param(d, GW_PARAM_sm_clock);

	return fmax(gw_param(d, GW_PARAM_warp_size) * schedulers / operations_per_second, 1);
}

void gw_time_costs_of(const struct gw_device *device, struct gw_time_costs *out)
{
	/* Half of multiply-add rates that count two operations each. */
	const double rate[GW_TIME_CLASSES] = {
		[GW_TIME_int] = gw_param(device, GW_PARAM_t_add),
		[GW_TIME_imad] = gw_param(device, GW_PARAM_t_int) / 2,
		[GW_TIME_fp32] = gw_param(device, GW_PARAM_t_sp) / 2,
		[GW_TIME_fp64] = gw_param(device, GW_PARAM_t_dp) / 2,
		[GW_TIME_sfu] = gw_param(device, GW_PARAM_t_sfu),
		[GW_TIME_div] = gw_param(device, GW_PARAM_t_sfu),
		[GW_TIME_mem] = gw_param(device, GW_PARAM_t_ldst),
		[GW_TIME_shared] = gw_param(device, GW_PARAM_t_ldst),
		[GW_TIME_constant] = gw_param(device, GW_PARAM_t_ldst),
		[GW_TIME_atomic] = gw_param(device, GW_PARAM_t_ldst),
	};
	static const enum gw_param latency[GW_TIME_CLASSES] = {
#define TIME_CLASS(name, parameter) GW_PARAM_##parameter,
#include "predictor/code/timing/timing.def"
#undef TIME_CLASS
	};

	for (unsigned c = 0; c < GW_TIME_CLASSES; c++) {
		out->lat[c] = gw_param(device, latency[c]);
		out->del[c] = rate[c] == 0 ? 1 : delay(device, rate[c]);
	}
}
