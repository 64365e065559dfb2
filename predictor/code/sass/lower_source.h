/* Sources of arithmetic instructions; for the files that lower them. */
#ifndef GW_CODE_SASS_LOWER_SOURCE_H
#define GW_CODE_SASS_LOWER_SOURCE_H

#include "predictor/code/sass/lower_parts.h"

/* Bits that negate a source or extend an operation, common to most integer instructions. */
enum { NEGATE_A = 72, NEGATE_B = 63, NEGATE_C = 75, EXTENDED = 74, SIGNED = 73 };

static inline bool bit(const struct gw_lowering *l, unsigned at)
{
	return gw_sass_bits(&l->insn, at, 1);
}

static inline bool uniform(const struct gw_lowering *l)
{
	return l->insn.guard_uniform;
}

static inline gw_ir_operand number(struct gw_lowering *l, uint64_t value)
{
	return gw_ir_const(&l->b, value);
}

/* ---- sources that are where the form says ---- */

/* What lies at bits 32 to 63. */
static inline gw_ir_operand low_source(struct gw_lowering *l)
{
	const struct gw_sass_insn *in = &l->insn;

	switch (in->form) {
	case 1:
		return gw_lower_reg(l, 32, uniform(l));
	case 2:
	case 4:
		return number(l, gw_sass_bits(in, 32, 32));
	case 3:
	case 5:
		return gw_lower_constant(l, (unsigned)gw_sass_bits(in, 54, 5),
					 (unsigned)gw_sass_bits(in, 40, 14) * 4);
	default:
		return gw_lower_reg(l, 32, true);
	}
}

/* The same of 64 bits; a number stands for its upper half. */
static inline gw_ir_operand low_pair(struct gw_lowering *l)
{
	const struct gw_sass_insn *in = &l->insn;
	unsigned bank = (unsigned)gw_sass_bits(in, 54, 5);
	unsigned offset = (unsigned)gw_sass_bits(in, 40, 14) * 4;

	switch (in->form) {
	case 1:
		return gw_lower_pair(l, 32, uniform(l));
	case 2:
	case 4:
		return number(l, gw_sass_bits(in, 32, 32) << 32);
	case 3:
	case 5:
		return GW_LOWER(l, PACK, 32, 0, 2, gw_lower_constant(l, bank, offset),
				gw_lower_constant(l, bank, offset + 4));
	default:
		return gw_lower_pair(l, 32, true);
	}
}

static inline bool swapped(const struct gw_lowering *l)
{
	return l->insn.form == 2 || l->insn.form == 3 || l->insn.form == 7;
}

static inline bool immediate(const struct gw_lowering *l)
{
	return l->insn.form == 2 || l->insn.form == 4;
}

/* Source B and C as they stand in the text; negation left to the caller. */
static inline gw_ir_operand source_b(struct gw_lowering *l)
{
	return swapped(l) ? gw_lower_reg(l, 64, uniform(l)) : low_source(l);
}

static inline gw_ir_operand source_c(struct gw_lowering *l)
{
	return swapped(l) ? low_source(l) : gw_lower_reg(l, 64, uniform(l));
}

/* The negation bit of what lies at bit 32 is its own highest bit, unless it is a number; that of
 * what lies at 64 is bit 75. */
static inline bool negated_b(const struct gw_lowering *l)
{
	return swapped(l) ? bit(l, NEGATE_C) : !immediate(l) && bit(l, NEGATE_B);
}

static inline bool negated_c(const struct gw_lowering *l)
{
	return swapped(l) ? !immediate(l) && bit(l, NEGATE_B) : bit(l, NEGATE_C);
}

#endif
