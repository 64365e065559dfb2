/*
 * How a result depends on distances (domain.h), given how its sources do. Growths are kept
 * modulo the value's width, so sums and products by a constant are exact whatever wraps. Where an
 * operation looks at a number's magnitude (a comparison, an extension), the domain is kept to where
 * the number doesn't wrap. What is neither linear nor constant is "bent" in the dimensions that it
 * depends on.
 */
#include "predictor/code/eval/rule.h"

#include <string.h>

/* Least and greatest number among the lanes; false when none is known. */
static bool range(const struct gw_value *x, uint32_t mask, unsigned bits, bool is_signed,
		  gw_wide *least, gw_wide *most)
{
	/* With their first bit turned signed numbers are in order. */
	const uint64_t turned = is_signed ? UINT64_C(1) << 63 : 0;
	uint64_t low = UINT64_MAX, high = 0;
	bool any = false;

	for (; mask; mask = x->uniform ? 0 : mask & (mask - 1)) {
		unsigned at = gw_at(x, (unsigned)__builtin_ctz(mask));
		uint64_t v = turned ^ (is_signed ? (uint64_t)gw_signed_bits(x->v[at], bits)
						 : gw_low_bits(x->v[at], bits));

		if (x->base[at])
			continue;
		low = v < low ? v : low;
		high = v > high ? v : high;
		any = true;
	}
	if (!any)
		return false;
	*least = is_signed ? (gw_wide)(int64_t)(low ^ turned) : (gw_wide)low;
	*most = is_signed ? (gw_wide)(int64_t)(high ^ turned) : (gw_wide)high;
	return true;
}

/* Everything that @p from depends on bends the result. */
static void bend(struct gw_rule *r, const struct gw_form *from)
{
	r->out->bent |= gw_form_dims(from) & gw_domain_open(&r->e->domain);
}

bool gw_rule_hold(struct gw_rule *r, const struct gw_within *within, unsigned enough)
{
	struct gw_within w = *within;

	w.form.bent &= gw_domain_open(&r->e->domain);
	if (w.form.bent)
		return false;
	if (r->relevant >= enough) {
		gw_domain_apply(&r->e->domain, &w);
		return true;
	}
	return gw_domain_holds(&r->e->domain, &w);
}

/*
 * A branch on a number that is bent decides for this warp and block alone. Known so before
 * the comparison, the number is one that a loop's count can be held against.
 */
static void settle_box(struct gw_rule *r, const struct gw_form *a, const struct gw_form *b)
{
	uint8_t bent = (a->bent | b->bent) & gw_domain_open(&r->e->domain);

	if (r->relevant >= IR_RELEVANT_CONTROL && bent < 1u << GW_BOX)
		gw_domain_pin(&r->e->domain, bent);
}

bool gw_rule_no_wrap(struct gw_rule *r, const struct gw_value *x, unsigned bits, bool is_signed)
{
	struct gw_within w = {.form = x->form};
	gw_wide least = 0, most = 0, half = (gw_wide)1 << (bits - 1);

	if (!gw_form_dims(&x->form))
		return true;
	for (unsigned i = 0; i < GW_DIMS; i++)
		w.form.d[i] = gw_rule_wrap((uint64_t)x->form.d[i], bits);
	if (!range(x, r->mask, bits, is_signed, &least, &most))
		return true;
	w.low = (is_signed ? -half : 0) - least;
	w.high = (is_signed ? half - 1 : 2 * half - 1) - most;
	return gw_rule_hold(r, &w, IR_RELEVANT_ADDRESS);
}

/* The result is @p scale times source @p x plus what the form holds already. */
static void add(struct gw_rule *r, const struct gw_form *x, int64_t scale, unsigned bits)
{
	r->out->bent |= x->bent;
	for (unsigned i = 0; i < GW_DIMS; i++)
		r->out->d[i] = gw_rule_wrap(
			(uint64_t)r->out->d[i] + (uint64_t)x->d[i] * (uint64_t)scale, bits);
}

/* All lanes have one number. */
static bool same(const struct gw_rule *r, const struct gw_value *x, uint64_t *v)
{
	bool any = false;

	*v = 0;
	for (unsigned i = 0; i < GW_LANES; i++) {
		if (!(r->mask >> i & 1))
			continue;
		if (x->base[gw_at(x, i)] || (any && x->v[gw_at(x, i)] != *v))
			return false;
		*v = x->v[gw_at(x, i)];
		any = true;
		if (x->uniform)
			break;
	}
	return any;
}

/* The greatest power of two that divides every lane's number and every growth; 64: all are 0. */
static unsigned even(const struct gw_rule *r, const struct gw_value *x, bool numbers)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < GW_DIMS; i++)
		all |= (uint64_t)x->form.d[i];
	for (unsigned i = 0; numbers && i < GW_LANES; i++)
		if (r->mask >> i & 1)
			all |= x->base[gw_at(x, i)] ? 1 : x->v[gw_at(x, i)];
	return all ? (unsigned)__builtin_ctzll(all) : 64;
}

static void bend_both(struct gw_rule *r)
{
	bend(r, &r->in[0]->form);
	bend(r, &r->in[1]->form);
}

/* A product: linear when one side is the same number everywhere. */
static void product(struct gw_rule *r, unsigned bits, bool widens, bool is_signed)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct gw_value *x = r->in[i], *by = r->in[1 - i];
		uint64_t v = 0;

		if (gw_form_dims(&by->form) || (gw_form_dims(&x->form) && !same(r, by, &v)))
			continue;
		if (!gw_form_dims(&x->form))
			return;
		if (widens) {
			v = is_signed ? (uint64_t)gw_signed_bits(v, r->n) : gw_low_bits(v, r->n);
			if (!gw_rule_no_wrap(r, x, r->n, is_signed))
				break;
		}
		add(r, &x->form, (int64_t)v, bits);
		return;
	}
	bend_both(r);
}

static void shift_left(struct gw_rule *r)
{
	uint64_t by;

	if (gw_form_dims(&r->in[1]->form) || !same(r, r->in[1], &by)) {
		bend_both(r);
	} else if (gw_low_bits(by, 32) < r->n) {
		add(r, &r->in[0]->form, (int64_t)(UINT64_C(1) << gw_low_bits(by, 32)), r->n);
	}
}

/* A quotient by a number that divides every growth grows by the growths' quotients, as long as the
 * number doesn't wrap; the remainder then doesn't grow. */
static void quotient(struct gw_rule *r, uint64_t by, bool is_signed, bool remainder)
{
	const struct gw_form *x = &r->in[0]->form;
	gw_wide least = 0, most = 0;
	bool whole = by && by <= INT64_MAX && !x->bent;

	for (unsigned i = 0; i < GW_DIMS && whole; i++)
		whole = gw_rule_wrap((uint64_t)x->d[i], r->n) % (int64_t)by == 0;
	/* Signed division rounds towards zero: the sign must not change either. */
	if (whole && is_signed && range(r->in[0], r->mask, r->n, true, &least, &most))
		whole = least >= 0;
	if (!whole || !gw_rule_no_wrap(r, r->in[0], r->n, is_signed)) {
		bend(r, x);
		return;
	}
	if (is_signed) {
		struct gw_within positive = {.form = *x, .low = -least, .high = (gw_wide)1 << 64};

		if (!gw_rule_hold(r, &positive, IR_RELEVANT_ADDRESS)) {
			bend(r, x);
			return;
		}
	}
	for (unsigned i = 0; i < GW_DIMS && !remainder; i++)
		r->out->d[i] = gw_rule_wrap((uint64_t)x->d[i], r->n) / (int64_t)by;
}

static void divide(struct gw_rule *r)
{
	bool is_signed = r->insn->op == IR_DIVS || r->insn->op == IR_REMS;
	uint64_t by;

	if (gw_form_dims(&r->in[1]->form) || !same(r, r->in[1], &by)) {
		bend_both(r);
		return;
	}
	if (is_signed && gw_signed_bits(by, r->n) <= 0)
		by = 0;
	quotient(r, gw_low_bits(by, r->n), is_signed,
		 r->insn->op == IR_REMS || r->insn->op == IR_REMU);
}

static void shift_right(struct gw_rule *r)
{
	const struct gw_form *x = &r->in[0]->form;
	uint64_t by;

	/* Unlike a division, a signed shift rounds down, on both sides of zero. */
	if (!gw_form_dims(&r->in[1]->form) && same(r, r->in[1], &by) && by < r->n && !x->bent &&
	    even(r, r->in[0], false) >= by &&
	    gw_rule_no_wrap(r, r->in[0], r->n, r->insn->op == IR_SHRS)) {
		for (unsigned i = 0; i < GW_DIMS; i++)
			r->out->d[i] = gw_rule_wrap((uint64_t)x->d[i], r->n) >> by;
		return;
	}
	if (!gw_form_dims(&r->in[1]->form) && r->n == 64 && same(r, r->in[1], &by) && by == 32 &&
	    gw_rule_upper_half(r, 32))
		return;
	bend(r, x);
	bend(r, &r->in[1]->form);
}

/* A mask of low bits below every growth, or of all bits above some: the rest doesn't grow. */
static void conjunction(struct gw_rule *r)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct gw_value *x = r->in[i], *mask = r->in[1 - i];
		unsigned low = even(r, x, false);
		uint64_t m;

		if (gw_form_dims(&mask->form) || !same(r, mask, &m) || x->form.bent)
			continue;
		m = gw_low_bits(m, r->n);
		if (low >= 64 || m >> low == 0)
			return;
		if (low >= r->n || m >> low == gw_low_bits(~UINT64_C(0), r->n - low)) {
			add(r, &x->form, 1, r->n);
			return;
		}
	}
	bend_both(r);
}

/* Compilers write a sum as a disjunction where no bit of the two is in common: it is one where one
 * side is below every bit of the other and stays what it is. */
static void disjunction(struct gw_rule *r)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct gw_value *x = r->in[i], *low = r->in[1 - i];
		gw_wide least = 0, most = 0;
		unsigned zeros = even(r, x, true);

		if (gw_form_dims(&low->form) || !range(low, r->mask, r->n, false, &least, &most))
			continue;
		if (x->form.bent || (zeros < 64 && most >> zeros))
			continue;
		add(r, &x->form, 1, r->n);
		return;
	}
	bend_both(r);
}

/* Bounds on the difference of two numbers within which a comparison's outcome stays in every
 * lane. False: no lane has one to keep. */
struct outcome {
	gw_wide low, high;
	bool any;
};

static void lane_outcome(struct outcome *o, enum gw_ir_cond cond, gw_wide difference)
{
	/* The outcome holds while the difference stays within [from, to]. */
	gw_wide from = -((gw_wide)1 << 66), to = (gw_wide)1 << 66;

	switch (cond) {
	case IR_COND_EQ:
	case IR_COND_NE:
		if (difference > 0)
			from = 1;
		else if (difference < 0)
			to = -1;
		else
			from = to = 0;
		break;
	case IR_COND_LTS:
	case IR_COND_LTU:
	case IR_COND_GES:
	case IR_COND_GEU:
		if (difference < 0)
			to = -1;
		else
			from = 0;
		break;
	default: /* <=, > */
		if (difference <= 0)
			to = 0;
		else
			from = 1;
	}
	from -= difference;
	to -= difference;
	o->low = !o->any || from > o->low ? from : o->low;
	o->high = !o->any || to < o->high ? to : o->high;
	o->any = true;
}

static bool is_signed_condition(enum gw_ir_cond cond)
{
	return cond < IR_COND_LTU;
}

/* Keep to where the comparison of a and b comes out as it does here. */
static bool steady(struct gw_rule *r, enum gw_ir_cond cond, const struct gw_value *a,
		   const struct gw_value *b)
{
	struct gw_within w = {.form = {.bent = 0}};
	struct outcome o = {0, 0, false};
	bool is_signed = is_signed_condition(cond), relative = false;

	settle_box(r, &a->form, &b->form);
	w.form.bent = (a->form.bent | b->form.bent) & gw_domain_open(&r->e->domain);
	for (unsigned i = 0; i < GW_LANES; i++) {
		unsigned ia = gw_at(a, i), ib = gw_at(b, i);

		if (!(r->mask >> i & 1) || a->base[ia] != b->base[ib] || gw_is_unknown(a->base[ia]))
			continue;
		relative |= a->base[ia] != GW_BASE_NONE;
		if (a->base[ia])
			lane_outcome(&o, cond, gw_rule_wrap(a->v[ia] - b->v[ib], r->n));
		else if (is_signed)
			lane_outcome(&o, cond,
				     (gw_wide)gw_signed_bits(a->v[ia], r->n) -
					     gw_signed_bits(b->v[ib], r->n));
		else
			lane_outcome(&o, cond,
				     (gw_wide)gw_low_bits(a->v[ia], r->n) -
					     gw_low_bits(b->v[ib], r->n));
	}
	if (!o.any)
		return !w.form.bent;
	for (unsigned i = 0; i < GW_DIMS; i++) {
		gw_wide growth = (gw_wide)gw_rule_wrap((uint64_t)a->form.d[i], r->n) -
				 gw_rule_wrap((uint64_t)b->form.d[i], r->n);

		if (growth != (int64_t)growth)
			w.form.bent |= (uint8_t)(1u << i);
		else
			w.form.d[i] = (int64_t)growth;
	}
	w.low = o.low;
	w.high = o.high;
	if (!gw_form_dims(&w.form) && (relative || gw_form_dims(&a->form) == 0))
		return true;
	if (!relative &&
	    (!gw_rule_no_wrap(r, a, r->n, is_signed) || !gw_rule_no_wrap(r, b, r->n, is_signed)))
		return false;
	return gw_rule_hold(r, &w, IR_RELEVANT_CONTROL);
}

static void carry(struct gw_rule *r)
{
	if (r->n <= 32 && gw_rule_carry(r, r->insn->op == IR_BORROW))
		return;
	for (unsigned i = 0; i < r->insn->uses; i++)
		bend(r, &r->in[i]->form);
}

static void comparison(struct gw_rule *r, enum gw_ir_cond cond)
{
	if (steady(r, cond, r->in[0], r->in[1]))
		return;
	bend_both(r);
}

/* The form of what was chosen lane by lane from @p a (where @p first) and @p b. */
static void choice(struct gw_rule *r, const struct gw_value *a, const struct gw_value *b,
		   uint32_t first)
{
	uint32_t chosen = r->mask & first;
	const struct gw_form *fa = chosen ? &a->form : &b->form;
	const struct gw_form *fb = chosen == r->mask ? &a->form : &b->form;

	r->out->bent |= fa->bent | fb->bent;
	for (unsigned i = 0; i < GW_DIMS; i++) {
		if (fa->d[i] != fb->d[i])
			r->out->bent |= (uint8_t)(1u << i);
		else
			r->out->d[i] = fa->d[i];
	}
}

static void extreme(struct gw_rule *r)
{
	enum gw_ir_op op = (enum gw_ir_op)r->insn->op;
	bool is_signed = op == IR_MINS || op == IR_MAXS, is_min = op == IR_MINS || op == IR_MINU;
	uint32_t first = 0;

	if (!steady(r, is_signed ? IR_COND_LTS : IR_COND_LTU, r->in[0], r->in[1])) {
		bend_both(r);
		return;
	}
	for (unsigned i = 0; i < GW_LANES; i++)
		if (gw_scalar_compare(is_signed ? IR_COND_LTS : IR_COND_LTU, r->n,
				      r->in[0]->v[gw_at(r->in[0], i)],
				      r->in[1]->v[gw_at(r->in[1], i)]) == is_min)
			first |= UINT32_C(1) << i;
	choice(r, r->in[0], r->in[1], first);
}

static void selection(struct gw_rule *r)
{
	uint32_t yes;

	bend(r, &r->in[0]->form);
	gw_value_known(r->in[0], r->mask, &yes);
	if (r->out->bent) {
		bend(r, &r->in[1]->form);
		bend(r, &r->in[2]->form);
		return;
	}
	choice(r, r->in[1], r->in[2], yes);
}

/* An extension of the low n bits, or a cut to them: what is kept of the number must not wrap where
 * the register is wider. */
static void extension(struct gw_rule *r, unsigned to)
{
	bool is_signed = r->insn->op == IR_SEXT;

	if (to > r->n && !gw_rule_no_wrap(r, r->in[0], r->n, is_signed)) {
		bend(r, &r->in[0]->form);
		return;
	}
	for (unsigned i = 0; i < GW_DIMS; i++)
		r->out->d[i] = gw_rule_wrap((uint64_t)r->in[0]->form.d[i], r->n);
	r->out->bent = r->in[0]->form.bent;
}

static void pack(struct gw_rule *r)
{
	if (r->n > 32 || !gw_rule_no_wrap(r, r->in[0], r->n, false)) {
		bend_both(r);
		return;
	}
	add(r, &r->in[0]->form, 1, 2 * r->n);
	add(r, &r->in[1]->form, (int64_t)(UINT64_C(1) << r->n), 2 * r->n);
}

static void bend_all(struct gw_rule *r)
{
	for (unsigned i = 0; i < r->insn->uses; i++)
		bend(r, &r->in[i]->form);
}

static bool is_constant(const struct gw_rule *r)
{
	for (unsigned i = 0; i < r->insn->uses && i < GW_SOURCES_MAX; i++)
		if (gw_form_dims(&r->in[i]->form))
			return false;
	return true;
}

static void apply_rule(struct gw_rule *r, unsigned to)
{
	switch (r->insn->op) {
	case IR_MOV:
		add(r, &r->in[0]->form, 1, r->n);
		break;
	case IR_NOT:
		if (r->n == 1)
			bend(r, &r->in[0]->form);
		else
			add(r, &r->in[0]->form, -1, r->n);
		break;
	case IR_ADD:
		add(r, &r->in[0]->form, 1, r->n);
		add(r, &r->in[1]->form, 1, r->n);
		break;
	case IR_SUB:
		add(r, &r->in[0]->form, 1, r->n);
		add(r, &r->in[1]->form, -1, r->n);
		break;
	case IR_MUL:
		product(r, r->n, false, false);
		break;
	case IR_MULWS:
	case IR_MULWU:
		product(r, 2 * r->n, true, r->insn->op == IR_MULWS);
		break;
	case IR_SHL:
		shift_left(r);
		break;
	case IR_SHRS:
	case IR_SHRU:
		shift_right(r);
		break;
	case IR_DIVS:
	case IR_DIVU:
	case IR_REMS:
	case IR_REMU:
		divide(r);
		break;
	case IR_AND:
		conjunction(r);
		break;
	case IR_OR:
		disjunction(r);
		break;
	case IR_CMP:
		comparison(r, (enum gw_ir_cond)r->insn->aux);
		break;
	case IR_CARRY:
	case IR_BORROW:
		carry(r);
		break;
	case IR_MINS:
	case IR_MINU:
	case IR_MAXS:
	case IR_MAXU:
		extreme(r);
		break;
	case IR_SEL:
		selection(r);
		break;
	case IR_ZEXT:
	case IR_SEXT:
		extension(r, to);
		break;
	case IR_PACK:
		pack(r);
		break;
	default:
		bend_all(r);
	}
}

/* Bits of the result proper; above them the register is zero, and a growth must not reach there. */
static unsigned result_bits(const struct gw_ir_insn *insn)
{
	switch (insn->op) {
	case IR_MULWS:
	case IR_MULWU:
	case IR_PACK:
		return 2u * insn->bits;
	case IR_SEXT:
	case IR_ZEXT: /* extension() has seen to it */
		return 64;
	default:
		return insn->bits;
	}
}

void gw_eval_form(struct gw_eval *e, const struct gw_ir_insn *insn,
		  const struct gw_value *const in[GW_SOURCES_MAX], struct gw_value *out,
		  uint32_t mask)
{
	gw_ir_operand def = gw_ir_defs(e->p, insn)[0];
	struct gw_rule r = {e, insn, in, &out->form, mask, insn->bits, e->p->relevant[def]};

	memset(&out->form, 0, sizeof(out->form));
	if (is_constant(&r))
		return;
	apply_rule(&r, e->p->widths[def]);
	if (e->p->widths[def] > result_bits(insn) &&
	    !gw_rule_no_wrap(&r, out, result_bits(insn), false))
		bend(&r, &out->form);
	/* A dimension is bent or linear, not both. */
	for (unsigned i = 0; out->form.bent && i < GW_DIMS; i++)
		if (out->form.bent >> i & 1)
			out->form.d[i] = 0;
}
