/* One instruction, for the lanes of an entry. */
#include "predictor/code/eval/state.h"

#include <string.h>

/* A lane's sources and result. */
struct lane {
	uint64_t v[GW_SOURCES_MAX];
	gw_base base[GW_SOURCES_MAX];
};

static gw_base first_unknown(const struct lane *l, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (gw_is_unknown(l->base[i]))
			return l->base[i];
	/* A base where a number is asked for: it is as unknown as what made it. */
	for (unsigned i = 0; i < n; i++)
		if (l->base[i]) {
			uint32_t insn;
			enum gw_why why = gw_base_why(l->base[i], &insn);

			return gw_unknown(why, insn);
		}
	return GW_BASE_NONE;
}

/* Sums, differences and comparisons of what has a base. False: nothing is known of the result. */
static bool based(const struct gw_ir_insn *insn, unsigned to, struct lane *l, uint64_t *v,
		  gw_base *base)
{
	gw_base a = l->base[0], b = l->base[1];

	if (gw_is_unknown(a) || (insn->uses > 1 && gw_is_unknown(b)))
		return false;
	switch (insn->op) {
	case IR_ZEXT:
		*base = a;
		*v = gw_low_bits(l->v[0], to);
		return insn->bits == to;
	case IR_ADD:
		*base = a ? a : b;
		*v = gw_low_bits(l->v[0] + l->v[1], to);
		return !(a && b) && insn->bits == to;
	case IR_SUB:
		*base = a == b ? GW_BASE_NONE : a;
		*v = gw_low_bits(l->v[0] - l->v[1], insn->bits);
		return a == b || (!b && insn->bits == to);
	case IR_CMP:
		/* No object reaches around the end of the address space: offsets in one compare as
		 * the addresses do, as signed numbers. */
		*base = GW_BASE_NONE;
		if (insn->aux <= IR_COND_NE)
			return a == b && gw_scalar(IR_CMP, insn->bits, insn->aux, 1, l->v, v);
		if (insn->aux > IR_COND_GES)
			return a == b && insn->bits == 64 &&
			       gw_scalar(IR_CMP, 64, insn->aux - IR_COND_LTU + IR_COND_LTS, 1, l->v,
					 v);
		return a == b && insn->bits == 64 && gw_scalar(IR_CMP, 64, insn->aux, 1, l->v, v);
	default:
		return false;
	}
}

/* What holds whatever the unknown source is. */
static bool absorbed(const struct gw_ir_insn *insn, const struct lane *l, uint64_t *v)
{
	uint64_t ones = gw_low_bits(~UINT64_C(0), insn->bits);

	for (unsigned i = 0; i < 2; i++) {
		if (l->base[i])
			continue;
		if ((insn->op == IR_AND || insn->op == IR_MUL) &&
		    !gw_low_bits(l->v[i], insn->bits)) {
			*v = 0;
			return true;
		}
		if (insn->op == IR_OR && gw_low_bits(l->v[i], insn->bits) == ones) {
			*v = ones;
			return true;
		}
	}
	return false;
}

/* A selection needs its predicate and the side chosen; or two sides that are one. */
static bool selected(const struct lane *l, uint64_t *v, gw_base *base)
{
	unsigned pick = l->v[0] & 1 ? 1 : 2;

	if (l->base[0]) {
		if (l->v[1] != l->v[2] || l->base[1] != l->base[2])
			return false;
		pick = 1;
	}
	*v = l->v[pick];
	*base = l->base[pick];
	return !gw_is_unknown(*base);
}

/* What gw_scalar() has no answer for. */
static void compute(const struct gw_ir_insn *insn, uint32_t index, unsigned to, struct lane *l,
		    uint64_t *v, gw_base *base)
{
	gw_base unknown = first_unknown(l, insn->uses);

	*v = 0;
	*base = GW_BASE_NONE;
	if (insn->op == IR_SEL) {
		if (!selected(l, v, base))
			*base = unknown;
		*v = gw_low_bits(*v, insn->bits);
	} else if (!unknown) {
		*base = gw_unknown(GW_WHY_DIVISION, index);
	} else if (absorbed(insn, l, v)) {
		*v = gw_low_bits(*v, to);
	} else if (!based(insn, to, l, v, base)) {
		*v = 0;
		*base = unknown;
	}
}

/* What no lane of @p mask knows, for one reason, is one value: an instruction that reads it takes
 * one step. */
static void join_unknown(struct gw_value *x, uint32_t mask)
{
	gw_base base = x->base[(unsigned)__builtin_ctz(mask)];

	if (!gw_is_unknown(base))
		return;
	for (; mask; mask &= mask - 1)
		if (x->base[(unsigned)__builtin_ctz(mask)] != base)
			return;
	x->uniform = true;
	x->v[0] = 0;
	x->base[0] = base;
}

/* Lanes whose first or second source is unknown, where the other cannot say it all, have that as
 * their result; so have those of a copy. Those of @p mask that are left. */
static uint32_t pass_on(const struct gw_ir_insn *insn, unsigned to,
			const struct gw_value *const in[GW_SOURCES_MAX], uint32_t mask,
			struct gw_value *out)
{
	const struct gw_value *a = in[0], *b = insn->uses > 1 ? in[1] : a;
	const bool copies = insn->op == IR_MOV && insn->bits == to;
	uint32_t left = mask;

	if (insn->op == IR_SEL || insn->op == IR_AND || insn->op == IR_MUL || insn->op == IR_OR)
		return mask;
	for (; mask; mask &= mask - 1) {
		unsigned i = (unsigned)__builtin_ctz(mask);
		gw_base base = a->base[gw_at(a, i)];

		if (!gw_is_unknown(base) && !copies)
			base = b->base[gw_at(b, i)];
		if (!gw_is_unknown(base) && !copies)
			continue;
		out->v[i] = gw_is_unknown(base) ? 0 : gw_low_bits(a->v[gw_at(a, i)], to);
		out->base[i] = base;
		left &= ~(UINT32_C(1) << i);
	}
	return left;
}

/* What a half is put beside counts as zero where it is not known. */
static const struct gw_value *beside(struct gw_eval *e, const struct gw_value *x)
{
	if (!x->uniform || !gw_is_unknown(x->base[0]))
		return x;
	gw_value_set(&e->source[1], 0, GW_BASE_NONE);
	return &e->source[1];
}

static void scalar(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t index, uint32_t mask)
{
	gw_ir_operand def = gw_ir_defs(e->p, insn)[0];
	const struct gw_value *in[GW_SOURCES_MAX] = {0};
	unsigned to = e->p->widths[def];
	struct lane l = {{0}, {0}};
	uint32_t mask_left;
	bool uniform = true;

	for (unsigned s = 0; s < insn->uses; s++) {
		in[s] = gw_eval_source(e, gw_ir_uses(e->p, insn)[s], &e->source[s]);
		uniform = uniform && in[s]->uniform;
	}
	if (insn->op == IR_PRMT && insn->width)
		in[1] = beside(e, in[1]);
	if (e->claims)
		gw_eval_claim_compared(e, index, in, (unsigned)__builtin_ctz(mask));
	e->result.uniform = uniform;
	mask_left = uniform ? 1 : mask;
	if (!uniform && gw_eval_lanes(insn, to, in, mask, &e->result))
		mask_left = 0;
	else
		mask_left = pass_on(insn, to, in, mask_left, &e->result);
	for (; mask_left; mask_left &= mask_left - 1) {
		unsigned i = (unsigned)__builtin_ctz(mask_left);
		gw_base any = insn->op == IR_SEL;

		for (unsigned s = 0; s < insn->uses; s++) {
			l.v[s] = in[s]->v[gw_at(in[s], i)];
			l.base[s] = in[s]->base[gw_at(in[s], i)];
			any |= l.base[s];
		}
		e->result.base[i] = GW_BASE_NONE;
		if (any || !gw_scalar((enum gw_ir_op)insn->op, insn->bits, insn->aux, to, l.v,
				      &e->result.v[i]))
			compute(insn, index, to, &l, &e->result.v[i], &e->result.base[i]);
	}
	if (!e->result.uniform)
		join_unknown(&e->result, mask);
	gw_eval_form(e, insn, in, &e->result, mask);
	if (e->steers && e->steers[index] && !e->unbounded)
		gw_eval_steer(e, index, mask, in);
}

static void forget_defs(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t index,
			uint32_t lanes, enum gw_why why)
{
	gw_value_set(&e->result, 0, gw_unknown(why, index));
	for (unsigned d = 0; d < insn->defs; d++)
		gw_eval_write(e, gw_ir_defs(e->p, insn)[d], &e->result, lanes, 0, GW_BASE_NONE);
}

static void address_of(struct gw_eval *e, const struct gw_ir_insn *insn)
{
	const struct gw_ir_symbol *s = &e->p->symbols[insn->aux];
	const struct gw_value *a = gw_eval_source(e, gw_ir_uses(e->p, insn)[0], &e->source[0]);
	bool window = s->space == IR_SPACE_SHARED || s->space == IR_SPACE_CLUSTER ||
		      s->space == IR_SPACE_LOCAL || s->space == IR_SPACE_FRAME;

	e->result = *a;
	gw_value_spread(&e->result);
	for (unsigned i = 0; i < GW_LANES; i++) {
		e->result.v[i] += s->address;
		if (!window && !e->result.base[i])
			e->result.base[i] = GW_VARIABLE_FIRST + insn->aux;
	}
	e->result.uniform = a->uniform;
}

static gw_base window_of(unsigned space)
{
	switch (space) {
	case IR_SPACE_SHARED:
	case IR_SPACE_CLUSTER:
		return GW_WINDOW_SHARED;
	case IR_SPACE_LOCAL:
	case IR_SPACE_FRAME:
		return GW_WINDOW_LOCAL;
	case IR_SPACE_PARAM:
		return GW_WINDOW_PARAM;
	default:
		return GW_BASE_NONE;
	}
}

/* Generic addresses of global and constant memory are what they were; of the windows, they are
 * relative to an unknown base. */
static void convert_address(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t index)
{
	gw_base window = window_of(insn->space);
	bool to = insn->op == IR_TOGEN;

	e->result = *gw_eval_source(e, gw_ir_uses(e->p, insn)[0], &e->source[0]);
	for (unsigned i = 0; window && i < (e->result.uniform ? 1 : GW_LANES); i++) {
		gw_base *b = &e->result.base[i];

		if (gw_is_unknown(*b))
			continue;
		if (*b == (to ? GW_BASE_NONE : window))
			*b = to ? window : GW_BASE_NONE;
		else
			*b = gw_unknown(GW_WHY_ADDRESS, index);
	}
}

static void is_space(struct gw_eval *e, const struct gw_ir_insn *insn)
{
	const struct gw_value *a = gw_eval_source(e, gw_ir_uses(e->p, insn)[0], &e->source[0]);
	gw_base window = window_of(insn->space);

	e->result = *a;
	memset(&e->result.form, 0, sizeof(e->result.form));
	for (unsigned i = 0; i < (a->uniform ? 1 : GW_LANES); i++) {
		bool in_window = a->base[i] >= GW_WINDOW_SHARED && a->base[i] <= GW_WINDOW_PARAM;

		if (gw_is_unknown(a->base[i]) || (a->base[i] && !in_window && window))
			continue;
		e->result.v[i] = window ? a->base[i] == window
					: !in_window && insn->space == IR_SPACE_GLOBAL;
		e->result.base[i] = GW_BASE_NONE;
	}
}

/* Lanes where the guard holds, and lanes where it may. What the guard depends on otherwise than in
 * a way that stays the same is pinned. */
static uint32_t guarded(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t *maybe,
			gw_base *why)
{
	const struct gw_value *g;
	uint32_t known, yes;

	*maybe = 0;
	*why = GW_BASE_NONE;
	if (insn->guard == GW_IR_NONE)
		return e->lanes;
	g = gw_eval_source(e, insn->guard, &e->source[0]);
	known = gw_value_known(g, e->lanes, &yes);
	if (known)
		gw_domain_pin(&e->domain, gw_form_dims(&g->form));
	*maybe = e->lanes & ~known;
	if (*maybe)
		*why = g->base[gw_at(g, 31 - (unsigned)__builtin_clz(*maybe))];
	return insn->guard_not ? known & ~yes : yes;
}

/* What happens to memory or waits: how often, and why it isn't known. */
static void count_effect(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t index,
			 uint32_t sure, uint32_t maybe, gw_base why)
{
	struct gw_eval_count *c = &e->report.insns[index];

	if (insn->guard == GW_IR_NONE)
		return; /* the block's count decides */
	if (maybe && !(sure & e->certain)) {
		uint32_t origin;
		enum gw_why reason = gw_base_why(why, &origin);

		e->report.control_known = false;
		gw_eval_reason(e, reason, GW_IR_NONE, insn->source, origin);
	}
	if (!(sure | maybe))
		return;
	c->least += sure & e->certain ? e->weight : 0;
	c->most += gw_eval_most(e);
	c->likely += sure & e->certain ? e->weight : GW_EVAL_EITHER * e->likely;
}

static void run(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t index, uint32_t sure,
		uint32_t maybe, gw_base why)
{
	gw_ir_operand def = insn->defs ? gw_ir_defs(e->p, insn)[0] : GW_IR_NONE;
	uint32_t mask = sure | maybe;

	if (maybe && insn->op >= IR_SHFL && insn->op <= IR_ELECT) {
		forget_defs(e, insn, index, mask, GW_WHY_LANE);
		return;
	}
	switch (insn->op) {
	case IR_SREG:
		gw_eval_sreg(e, (enum gw_ir_sreg)insn->aux, &e->result);
		if (gw_is_unknown(e->result.base[0]))
			e->result.base[0] = gw_unknown(GW_WHY_SREG, index);
		break;
	case IR_OPAQUE:
		if (!insn->defs || !gw_eval_claim(e, index, &e->result)) {
			forget_defs(e, insn, index, mask, GW_WHY_OPAQUE);
			return;
		}
		break;
	case IR_AWAIT:
		gw_value_set(&e->result, 0, gw_unknown(GW_WHY_AWAIT, index));
		break;
	case IR_ADDR:
		address_of(e, insn);
		break;
	case IR_TOGEN:
	case IR_FROMGEN:
		convert_address(e, insn, index);
		break;
	case IR_ISSPACE:
		is_space(e, insn);
		break;
	case IR_SHFL:
		gw_eval_shuffle(e, insn, index, mask);
		return;
	case IR_VOTE:
	case IR_ACTIVE:
		gw_eval_vote(e, insn, index, mask);
		break;
	case IR_ELECT:
		gw_eval_elect(e, insn, index, mask);
		return;
	default:
		/* An operation without a width, or of one that no register has, means nothing. */
		if (!gw_is_scalar((enum gw_ir_op)insn->op) || !insn->bits || insn->bits > 64) {
			forget_defs(e, insn, index, mask, GW_WHY_OPAQUE);
			return;
		}
		scalar(e, insn, index, mask);
	}
	gw_eval_write(e, def, &e->result, sure, maybe, why);
}

void gw_eval_insn(struct gw_eval *e, uint32_t index)
{
	const struct gw_ir_insn *insn = &e->p->insns[index];
	uint32_t maybe, sure;
	gw_base why;

	sure = guarded(e, insn, &maybe, &why);
	switch (insn->op) {
	case IR_LD:
	case IR_ST:
	case IR_ATOM:
	case IR_RED:
		if (insn->space != IR_SPACE_FRAME)
			count_effect(e, insn, index, sure, maybe, why);
		if (sure | maybe)
			gw_eval_memory(e, insn, index, sure, maybe);
		break;
	case IR_BAR:
		count_effect(e, insn, index, sure, maybe, why);
		break;
	case IR_NOP:
	case IR_FENCE:
		break;
	default:
		if (sure | maybe)
			run(e, insn, index, sure, maybe, why);
	}
}
