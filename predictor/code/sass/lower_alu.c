#include "predictor/code/sass/lower_source.h"

/* ---- additions ---- */

/* A sum of up to three terms and carries, with its carry out. */
struct sum {
	gw_ir_operand value, carry; /* carry: GW_IR_NONE when unknown */
	bool used;                  /* a term has been added */
};

static bool is_zero(const struct gw_lowering *l, gw_ir_operand o)
{
	return gw_ir_is_constant(o) && gw_ir_constant(&l->b.program, o) == 0;
}

/* Add @p term and a carry of 0 or 1. The carries of several additions that can carry are added up
 * to more than one bit: unknown then. */
static void add_term(struct gw_lowering *l, struct sum *s, gw_ir_operand term, gw_ir_operand carry)
{
	gw_ir_operand out, in;

	if (is_zero(l, term) && is_zero(l, carry))
		return;
	out = GW_LOWER(l, CARRY, 32, 0, 3, s->value, term, carry);
	in = GW_LOWER(l, SEL, 32, 0, 3, carry, number(l, 1), number(l, 0));
	s->value = GW_LOWER(l, ADD, 32, 0, 2, s->value, term);
	s->value = GW_LOWER(l, ADD, 32, 0, 2, s->value, in);
	s->carry = s->used ? GW_IR_NONE : out;
	s->used = true;
}

/* Terms and carries of an addition; those that are nothing are left out. */
struct terms {
	gw_ir_operand term[3], carry[5];
	unsigned terms, carries;
};

static void take_term(struct gw_lowering *l, struct terms *t, gw_ir_operand value)
{
	if (!is_zero(l, value))
		t->term[t->terms++] = value;
}

static void take_carry(struct gw_lowering *l, struct terms *t, gw_ir_operand value)
{
	if (!is_zero(l, value))
		t->carry[t->carries++] = value;
}

/* A source as the addition has it: with .X its negation is that of each bit, otherwise one is
 * added, as a carry. */
static void take_source(struct gw_lowering *l, struct terms *t, gw_ir_operand value, bool negate)
{
	take_term(l, t, negate ? GW_LOWER(l, NOT, 32, 0, 1, value) : value);
	if (negate && !bit(l, EXTENDED))
		take_carry(l, t, number(l, 1));
}

static gw_ir_operand nth(struct gw_lowering *l, const gw_ir_operand *list, unsigned count,
			 unsigned n)
{
	return n < count ? list[n] : number(l, 0);
}

/* What the terms carry out: two additions, each with a carry in, carry once each. Where both can,
 * what they mean is their sum, which is what takes both; where only one of them is asked for, it
 * isn't known which. */
static void carries_of(struct gw_lowering *l, const struct terms *t, gw_ir_operand first_sum,
		       gw_ir_operand out[2])
{
	bool both = gw_sass_bits(&l->insn, 81, 3) != GW_SASS_PT &&
		    gw_sass_bits(&l->insn, 84, 3) != GW_SASS_PT;
	bool again = t->terms > 2 || t->carries > 1;

	if (t->carries > 2 || (again && !both)) {
		out[0] = out[1] = gw_lower_unknown(l, 1, "two carries of one sum");
		return;
	}
	out[0] = GW_LOWER(l, CARRY, 32, 0, 3, nth(l, t->term, t->terms, 0),
			  nth(l, t->term, t->terms, 1), nth(l, t->carry, t->carries, 0));
	out[1] = both ? number(l, 0) : out[0];
	if (again)
		out[1] = GW_LOWER(l, CARRY, 32, 0, 3, first_sum, nth(l, t->term, t->terms, 2),
				  nth(l, t->carry, t->carries, 1));
}

static gw_ir_operand add_carry(struct gw_lowering *l, gw_ir_operand sum, gw_ir_operand carry)
{
	if (is_zero(l, carry))
		return sum;
	if (!gw_ir_is_constant(carry))
		carry = GW_LOWER(l, SEL, 32, 0, 3, carry, number(l, 1), number(l, 0));
	return GW_LOWER(l, ADD, 32, 0, 2, sum, carry);
}

/* IADD3, and what is like it. */
static void add3(struct gw_lowering *l, bool has_c)
{
	bool carried = has_c && (gw_sass_bits(&l->insn, 81, 3) != GW_SASS_PT ||
				 gw_sass_bits(&l->insn, 84, 3) != GW_SASS_PT);
	struct terms t = {.terms = 0};
	gw_ir_operand sum, out[2] = {number(l, 0), number(l, 0)};

	take_source(l, &t, gw_lower_reg(l, 24, uniform(l)), bit(l, NEGATE_A));
	take_source(l, &t, source_b(l), negated_b(l));
	if (has_c)
		take_source(l, &t, source_c(l), negated_c(l));
	if (has_c && bit(l, EXTENDED)) {
		take_carry(l, &t, gw_lower_predicate(l, 87, 90));
		take_carry(l, &t, gw_lower_predicate(l, 77, 80));
	}
	sum = nth(l, t.term, t.terms, 0);
	if (t.terms > 1)
		sum = GW_LOWER(l, ADD, 32, 0, 2, sum, t.term[1]);
	sum = add_carry(l, sum, nth(l, t.carry, t.carries, 0));
	if (carried)
		carries_of(l, &t, sum, out);
	if (t.terms > 2)
		sum = GW_LOWER(l, ADD, 32, 0, 2, sum, t.term[2]);
	for (unsigned i = 1; i < t.carries; i++)
		sum = add_carry(l, sum, t.carry[i]);
	gw_lower_set(l, 16, uniform(l), sum);
	if (carried) {
		gw_lower_set_predicate(l, 81, out[0]);
		gw_lower_set_predicate(l, 84, out[1]);
	}
}

static bool add64(struct gw_lowering *l)
{
	gw_ir_operand a = gw_lower_pair(l, 24, uniform(l)), b;

	if (!bit(l, 73) || l->insn.form == 2 || l->insn.form == 3 || l->insn.form == 5 ||
	    gw_sass_bits(&l->insn, 81, 3) != GW_SASS_PT)
		return false;
	if (l->insn.form == 4)
		b = gw_ir_emit(&l->b, IR_SEXT, 32, 0, gw_ir_reg(&l->b, 64), 1,
			       number(l, gw_sass_bits(&l->insn, 32, 32)));
	else
		b = gw_lower_pair(l, 32, l->insn.form != 1);
	if (l->insn.form != 4 && bit(l, NEGATE_B))
		b = GW_LOWER(l, SUB, 64, 0, 2, number(l, 0), b);
	if (bit(l, NEGATE_A))
		a = GW_LOWER(l, SUB, 64, 0, 2, number(l, 0), a);
	gw_lower_set_pair(l, 16, uniform(l), GW_LOWER(l, ADD, 64, 0, 2, a, b));
	return true;
}

static gw_ir_operand low_word(struct gw_lowering *l, gw_ir_operand wide)
{
	return gw_ir_emit(&l->b, IR_ZEXT, 32, 0, gw_ir_reg(&l->b, 32), 1, wide);
}

static gw_ir_operand high_word(struct gw_lowering *l, gw_ir_operand wide)
{
	return low_word(l, GW_LOWER(l, SHRU, 64, 0, 2, wide, number(l, 32)));
}

/* ---- multiplications ---- */

static gw_ir_operand negate_if(struct gw_lowering *l, bool negate, unsigned bits, gw_ir_operand v)
{
	if (!negate)
		return v;
	return bits == 64 ? GW_LOWER(l, SUB, 64, 0, 2, number(l, 0), v)
			  : GW_LOWER(l, SUB, 32, 0, 2, number(l, 0), v);
}

static bool multiply_add(struct gw_lowering *l)
{
	gw_ir_operand a = gw_lower_reg(l, 24, uniform(l)), b = source_b(l), c = source_c(l),
		      product;
	bool negate = negated_c(l);

	if (bit(l, EXTENDED) && negate)
		c = GW_LOWER(l, NOT, 32, 0, 1, c);
	else
		c = negate_if(l, negate, 32, c);
	product = GW_LOWER(l, MUL, 32, 0, 2, a, b);
	product = negate_if(l, !swapped(l) && negated_b(l), 32, product);
	product = GW_LOWER(l, ADD, 32, 0, 2, product, c);
	if (bit(l, EXTENDED))
		product = GW_LOWER(l, ADD, 32, 0, 2, product,
				   GW_LOWER(l, SEL, 32, 0, 3, gw_lower_predicate(l, 87, 90),
					    number(l, 1), number(l, 0)));
	gw_lower_set(l, 16, uniform(l), product);
	return true;
}

/* The addend of 64 bits: a constant's or a uniform register's pair, or a register's. */
static gw_ir_operand wide_addend(struct gw_lowering *l)
{
	unsigned bank = (unsigned)gw_sass_bits(&l->insn, 54, 5);
	unsigned offset = (unsigned)gw_sass_bits(&l->insn, 40, 14) * 4;

	if (!swapped(l))
		return gw_lower_pair(l, 64, uniform(l));
	if (l->insn.form == 3)
		return GW_LOWER(l, PACK, 32, 0, 2, gw_lower_constant(l, bank, offset),
				gw_lower_constant(l, bank, offset + 4));
	if (l->insn.form == 7)
		return gw_lower_pair(l, 32, true);
	return gw_ir_emit(&l->b, IR_SEXT, 32, 0, gw_ir_reg(&l->b, 64), 1,
			  number(l, gw_sass_bits(&l->insn, 32, 32)));
}

/* A product of 64 bits plus the addend and, with .X, a carry; what it carries out. */
static bool multiply_wide(struct gw_lowering *l, bool high)
{
	bool extended = bit(l, EXTENDED), carried = gw_sass_bits(&l->insn, 81, 3) != GW_SASS_PT;
	gw_ir_operand a, b, c, sum, carry = number(l, 0), out;

	if (negated_b(l) || (carried && negated_c(l) && !extended))
		return false;
	a = gw_lower_reg(l, 24, uniform(l));
	b = source_b(l);
	sum = bit(l, SIGNED) ? GW_LOWER(l, MULWS, 32, 0, 2, a, b)
			     : GW_LOWER(l, MULWU, 32, 0, 2, a, b);
	c = wide_addend(l);
	if (negated_c(l))
		c = extended ? GW_LOWER(l, NOT, 64, 0, 1, c) : negate_if(l, true, 64, c);
	if (extended)
		carry = gw_lower_predicate(l, 87, 90);
	out = carried ? GW_LOWER(l, CARRY, 64, 0, 3, sum, c, carry) : carry;
	sum = GW_LOWER(l, ADD, 64, 0, 2, sum, c);
	if (extended)
		sum = GW_LOWER(l, ADD, 64, 0, 2, sum,
			       GW_LOWER(l, SEL, 64, 0, 3, carry, number(l, 1), number(l, 0)));
	if (!high)
		gw_lower_set_pair(l, 16, uniform(l), sum);
	else
		gw_lower_set(l, 16, uniform(l), high_word(l, sum));
	if (carried)
		gw_lower_set_predicate(l, 81, out);
	return true;
}

/* ---- shifts ---- */

/* C and A as one number of 64 bits, shifted by B; its high or its low word. The type (bits 73-74:
 * s64 u64 s32 u32) selects signedness, and with wrap-around (bit 75) how many bits of B count. */
static void funnel(struct gw_lowering *l)
{
	unsigned type = (unsigned)gw_sass_bits(&l->insn, 73, 2);
	gw_ir_operand a = gw_lower_reg(l, 24, uniform(l)), b = source_b(l), c = source_c(l), wide;

	if (bit(l, 75))
		b = GW_LOWER(l, AND, 32, 0, 2, b, number(l, type < 2 ? 63 : 31));
	wide = GW_LOWER(l, PACK, 32, 0, 2, a, c);
	if (!bit(l, 76))
		wide = GW_LOWER(l, SHL, 64, 0, 2, wide, b);
	else if (type == 0 || type == 2)
		wide = GW_LOWER(l, SHRS, 64, 0, 2, wide, b);
	else
		wide = GW_LOWER(l, SHRU, 64, 0, 2, wide, b);
	gw_lower_set(l, 16, uniform(l), bit(l, 80) ? high_word(l, wide) : low_word(l, wide));
}

/* B + (A << n), or B + the high word of (C:A << n). */
static bool shift_add(struct gw_lowering *l)
{
	unsigned shift = (unsigned)gw_sass_bits(&l->insn, 75, 5);
	bool high = bit(l, 80), extended = bit(l, EXTENDED), negate = negated_b(l);
	gw_ir_operand a = gw_lower_reg(l, 24, uniform(l)), b = source_b(l), c, zero = number(l, 0);
	struct sum s = {zero, zero, false};

	if (bit(l, NEGATE_A) || (swapped(l) && (!high || negate)))
		return false;
	if (!high) {
		a = GW_LOWER(l, SHL, 32, 0, 2, a, number(l, shift));
	} else {
		c = bit(l, 73) ? GW_LOWER(l, SHRS, 32, 0, 2, a, number(l, 31)) : source_c(l);
		a = GW_LOWER(l, PACK, 32, 0, 2, a, c);
		a = high_word(l, GW_LOWER(l, SHL, 64, 0, 2, a, number(l, shift)));
	}
	s.value = a;
	add_term(l, &s, negate ? GW_LOWER(l, NOT, 32, 0, 1, b) : b,
		 extended ? gw_lower_predicate(l, 87, 90) : number(l, negate));
	gw_lower_set(l, 16, uniform(l), s.value);
	gw_lower_set_predicate(l, 81, s.carry);
	return true;
}

/* A number of the lowest bits, so many as B says. */
static bool extend(struct gw_lowering *l)
{
	unsigned cut = 32 - (unsigned)gw_sass_bits(&l->insn, 32, 32);
	gw_ir_operand a = gw_lower_reg(l, 24, uniform(l));

	if (!immediate(l) || cut > 31 || bit(l, 75))
		return false; /* modulo 32, or of no bit */
	a = GW_LOWER(l, SHL, 32, 0, 2, a, number(l, cut));
	gw_lower_set(l, 16, uniform(l),
		     bit(l, SIGNED) ? GW_LOWER(l, SHRS, 32, 0, 2, a, number(l, cut))
				    : GW_LOWER(l, SHRU, 32, 0, 2, a, number(l, cut)));
	return true;
}

/* UIADD3.64, of pairs; a number is extended by its sign. */
static bool add3_wide(struct gw_lowering *l)
{
	gw_ir_operand a = gw_lower_pair(l, 24, true), c = gw_lower_pair(l, 64, true), b;

	if (bit(l, NEGATE_A) || bit(l, NEGATE_C) || swapped(l) ||
	    (!immediate(l) && bit(l, NEGATE_B)))
		return false;
	b = immediate(l) ? number(l, (uint64_t)(int32_t)gw_sass_bits(&l->insn, 32, 32))
			 : gw_lower_pair(l, 32, true);
	a = GW_LOWER(l, ADD, 64, 0, 2, a, b);
	gw_lower_set_pair(l, 16, true, GW_LOWER(l, ADD, 64, 0, 2, a, c));
	return true;
}

bool gw_lower_alu(struct gw_lowering *l)
{
	switch (l->insn.op) {
	case GW_SASS_OP_IADD3:
	case GW_SASS_OP_UIADD3:
		add3(l, true);
		return true;
	case GW_SASS_OP_UIADD3_64:
		return add3_wide(l);
	case GW_SASS_OP_VIADD:
		add3(l, false);
		return true;
	case GW_SASS_OP_IADD:
		return add64(l);
	case GW_SASS_OP_IMAD:
	case GW_SASS_OP_UIMAD:
		return multiply_add(l);
	case GW_SASS_OP_IMAD_WIDE:
	case GW_SASS_OP_UIMAD_WIDE:
		return multiply_wide(l, false);
	case GW_SASS_OP_IMAD_HI:
		return multiply_wide(l, true);
	case GW_SASS_OP_SHF:
	case GW_SASS_OP_USHF:
		funnel(l);
		return true;
	case GW_SASS_OP_LEA:
	case GW_SASS_OP_ULEA:
		return shift_add(l);
	case GW_SASS_OP_SGXT:
	case GW_SASS_OP_USGXT:
		return extend(l);
	default:
		return gw_lower_logic(l);
	}
}
