/* Registers of a warp. */
#include "predictor/code/eval/state.h"

#include <string.h>

void gw_value_set(struct gw_value *out, uint64_t v, gw_base base)
{
	memset(&out->form, 0, sizeof(out->form));
	out->uniform = true;
	out->v[0] = v;
	out->base[0] = base;
}

void gw_value_spread(struct gw_value *x)
{
	if (!x->uniform)
		return;
	for (unsigned i = 1; i < GW_LANES; i++) {
		x->v[i] = x->v[0];
		x->base[i] = x->base[0];
	}
	x->uniform = false;
}

const struct gw_value *gw_eval_source(struct gw_eval *e, gw_ir_operand o, struct gw_value *scratch)
{
	if (!gw_ir_is_constant(o) && e->slot[o] != GW_IR_NONE)
		return &e->values[e->slot[o]];
	/* A register that isn't needed decides nothing: an unknown of no reason does. */
	if (gw_ir_is_constant(o))
		gw_value_set(scratch, gw_ir_constant(e->p, o), GW_BASE_NONE);
	else
		gw_value_set(scratch, 0, gw_unknown(GW_WHY_OPAQUE, 0));
	scratch->written = GW_ALL_LANES;
	return scratch;
}

/* Lanes keep one form among them: where theirs differ, it is bent. */
static void join_forms(struct gw_form *to, const struct gw_form *with)
{
	to->bent |= with->bent;
	for (unsigned i = 0; i < GW_DIMS; i++)
		if (to->d[i] != with->d[i]) {
			to->bent |= (uint8_t)(1u << i);
			to->d[i] = 0;
		}
}

static void copy_lanes(struct gw_value *to, const struct gw_value *from, uint32_t lanes)
{
	if (lanes == GW_ALL_LANES && !from->uniform) {
		memcpy(to->v, from->v, sizeof(to->v));
		memcpy(to->base, from->base, sizeof(to->base));
		return;
	}
	for (; lanes; lanes &= lanes - 1) {
		unsigned i = (unsigned)__builtin_ctz(lanes), at = gw_at(from, i);

		to->v[i] = from->v[at];
		to->base[i] = from->base[at];
	}
}

void gw_eval_write(struct gw_eval *e, gw_ir_operand def, const struct gw_value *from, uint32_t sure,
		   uint32_t maybe, gw_base why)
{
	struct gw_value *to;
	uint32_t kept;

	if (def == GW_IR_NONE || e->slot[def] == GW_IR_NONE)
		return;
	to = &e->values[e->slot[def]];
	kept = to->written & e->live & ~(sure | maybe);
	if (!kept && !maybe && from->uniform) {
		to->form = from->form;
		to->uniform = true;
		to->v[0] = from->v[0];
		to->base[0] = from->base[0];
	} else {
		if (kept)
			join_forms(&to->form, &from->form);
		else
			to->form = from->form;
		gw_value_spread(to);
		copy_lanes(to, from, sure);
		for (uint32_t left = maybe; left; left &= left - 1)
			to->base[__builtin_ctz(left)] = why;
	}
	/* A uniform write reaches lanes beyond the mask that had none: they stay unwritten. */
	to->written |= sure | maybe;
}

uint32_t gw_value_known(const struct gw_value *x, uint32_t mask, uint32_t *true_lanes)
{
	uint32_t known = 0, set = 0;

	if (x->uniform) {
		known = x->base[0] ? 0 : mask;
		set = x->v[0] ? known : 0;
	} else {
		for (unsigned i = 0; i < GW_LANES; i++) {
			uint32_t here = x->base[i] ? 0 : mask & UINT32_C(1) << i;

			known |= here;
			set |= x->v[i] ? here : 0;
		}
	}
	*true_lanes = set;
	return known;
}

enum gw_why gw_base_why(gw_base b, uint32_t *insn)
{
	*insn = UINT32_MAX;
	if (gw_is_unknown(b)) {
		*insn = b & ((1u << 26) - 1);
		return (enum gw_why)(b >> 26 & 31);
	}
	if (b >> 22) {
		*insn = b & GW_BASE_INSN;
		return GW_WHY_MEMORY;
	}
	return b ? GW_WHY_ADDRESS : GW_WHY_NONE;
}

void gw_eval_reason(struct gw_eval *e, enum gw_why why, uint32_t block, uint32_t source,
		    uint32_t origin)
{
	struct gw_eval_reason r = {why, block, source, UINT32_MAX};

	if (origin < e->p->insn_count)
		r.origin = e->p->insns[origin].source;
	for (uint32_t i = 0; i < e->report.reason_count; i++)
		if (e->report.reasons[i].why == r.why && e->report.reasons[i].source == r.source &&
		    e->report.reasons[i].origin == r.origin)
			return;
	if (e->report.reason_count < GW_EVAL_REASONS)
		e->report.reasons[e->report.reason_count++] = r;
}
