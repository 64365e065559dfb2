/*
 * Numbers in two words, as machine code has addresses: how each word depends on distances. The
 * words seldom decide anything, and what holds them together would cost boxes: they are kept to
 * where they hang together as they do here only where addresses are asked for.
 */
#include "predictor/code/eval/rule.h"

#include <string.h>

bool gw_rule_upper_half(struct gw_rule *r, unsigned half)
{
	const struct gw_value *x = r->in[0];
	struct gw_within w = {.low = -((gw_wide)1 << half), .high = (gw_wide)1 << half};
	int64_t upper[GW_DIMS];
	bool grows = false;

	for (unsigned i = 0; i < GW_DIMS; i++) {
		w.form.d[i] = gw_rule_wrap((uint64_t)x->form.d[i], half);
		upper[i] = (int64_t)((uint64_t)x->form.d[i] - (uint64_t)w.form.d[i]) >> half;
		grows |= upper[i] != 0;
	}
	for (unsigned i = 0; i < GW_LANES; i++) {
		gw_wide lower = gw_low_bits(x->v[gw_at(x, i)], half);

		if (!(r->mask >> i & 1) || x->base[gw_at(x, i)])
			continue;
		w.low = -lower > w.low ? -lower : w.low;
		w.high = ((gw_wide)1 << half) - 1 - lower < w.high
				 ? ((gw_wide)1 << half) - 1 - lower
				 : w.high;
	}
	w.form.bent = x->form.bent;
	if (!r->e->alike || (grows && !gw_rule_no_wrap(r, x, r->n, r->insn->op == IR_SHRS)) ||
	    !gw_rule_hold(r, &w, IR_RELEVANT_ADDRESS))
		return false;
	memcpy(r->out->d, upper, sizeof(upper));
	return true;
}

bool gw_rule_carry(struct gw_rule *r, bool borrow)
{
	const struct gw_value *a = r->in[0], *b = r->in[1], *c = r->in[2];
	gw_wide whole = (gw_wide)1 << r->n;
	struct gw_within w = {.low = -2 * whole, .high = 2 * whole};

	if (!r->e->alike || gw_form_dims(&c->form) || !gw_rule_no_wrap(r, a, r->n, false) ||
	    !gw_rule_no_wrap(r, b, r->n, false))
		return false;
	w.form.bent = a->form.bent | b->form.bent;
	for (unsigned i = 0; i < GW_DIMS; i++) {
		int64_t with = gw_rule_wrap((uint64_t)b->form.d[i], r->n);

		w.form.d[i] = gw_rule_wrap((uint64_t)a->form.d[i], r->n) + (borrow ? -with : with);
	}
	for (unsigned i = 0; i < GW_LANES; i++) {
		gw_wide x = gw_low_bits(a->v[gw_at(a, i)], r->n);
		gw_wide y = gw_low_bits(b->v[gw_at(b, i)], r->n) + c->v[gw_at(c, i)];
		gw_wide sum = borrow ? x - y : x + y, least = 0, most = whole - 1;

		if (!(r->mask >> i & 1) || a->base[gw_at(a, i)] || b->base[gw_at(b, i)] ||
		    c->base[gw_at(c, i)])
			continue;
		least += sum > most ? whole : sum < 0 ? -whole - 1 : 0;
		most += sum > most ? whole : sum < 0 ? -whole : 0;
		w.low = least - sum > w.low ? least - sum : w.low;
		w.high = most - sum < w.high ? most - sum : w.high;
	}
	return gw_rule_hold(r, &w, IR_RELEVANT_ADDRESS);
}
