/* What the rules share that say how a result depends on distances (linear.c). */
#ifndef GW_CODE_EVAL_RULE_H
#define GW_CODE_EVAL_RULE_H

#include "predictor/code/eval/state.h"

/** A rule's working set: an instruction, its sources, and the form that is made. */
struct gw_rule {
	struct gw_eval *e;
	const struct gw_ir_insn *insn;
	const struct gw_value *const *in;
	struct gw_form *out;
	uint32_t mask;
	unsigned n;        /* width of the operation */
	unsigned relevant; /* of what is written: enum gw_ir_relevance */
};

/** @p v modulo @p bits, between as much below zero as above. */
static inline int64_t gw_rule_wrap(uint64_t v, unsigned bits)
{
	return gw_signed_bits(v, bits);
}

/** Keep to where @p within holds: true; or, where the result doesn't matter enough for that and it
 * doesn't hold as things are: false. */
bool gw_rule_hold(struct gw_rule *r, const struct gw_within *within, unsigned enough);

/** Restrict to where source @p x, a number of @p bits, doesn't wrap; false when that is impossible.
 */
bool gw_rule_no_wrap(struct gw_rule *r, const struct gw_value *x, unsigned bits, bool is_signed);

/* words.c */
/** The upper half of a number, as machine code takes addresses apart: it grows by the upper halves
 * of the growths where the lower ones don't carry into it. */
bool gw_rule_upper_half(struct gw_rule *r, unsigned half);

/** Whether a sum (or difference) of low words carries: keep to where it does as here in every lane.
 */
bool gw_rule_carry(struct gw_rule *r, bool borrow);

#endif
