#include "predictor/code/sass/lower_source.h"

/* ---- logic and comparisons ---- */

static void logic3(struct gw_lowering *l)
{
	gw_ir_operand a = gw_lower_reg(l, 24, uniform(l)), b = source_b(l), c = source_c(l), value;

	value = GW_LOWER(l, LOP3, 32, (unsigned)gw_sass_bits(&l->insn, 72, 8), 3, a, b, c);
	gw_lower_set(l, 16, uniform(l), value);
	if (gw_sass_bits(&l->insn, 81, 3) == GW_SASS_PT)
		return;
	/* Whether any bit is set, joined with another predicate, as a rule one that is false. */
	value = GW_LOWER(l, CMP, 32, IR_COND_NE, 2, value, number(l, 0));
	if (bit(l, 80))
		value = GW_LOWER(l, AND, 1, 0, 2, value, gw_lower_predicate(l, 87, 90));
	else if (gw_sass_bits(&l->insn, 87, 4) != 15)
		value = GW_LOWER(l, OR, 1, 0, 2, value, gw_lower_predicate(l, 87, 90));
	gw_lower_set_predicate(l, 81, value);
}

/* Comparison of the words, or, with .EX, of numbers of 64 bits whose low words' comparison is a
 * predicate. */
static gw_ir_operand compare(struct gw_lowering *l)
{
	static const uint8_t plain[8] = {0,           IR_COND_LTU, IR_COND_EQ,  IR_COND_LEU,
					 IR_COND_GTU, IR_COND_NE,  IR_COND_GEU, 0};
	static const uint8_t with_sign[8] = {0,           IR_COND_LTS, IR_COND_EQ,  IR_COND_LES,
					     IR_COND_GTS, IR_COND_NE,  IR_COND_GES, 0};
	static const uint8_t strict[8] = {0,           IR_COND_LTU, IR_COND_NE,  IR_COND_LTU,
					  IR_COND_GTU, IR_COND_NE,  IR_COND_GTU, 0};
	static const uint8_t strict_sign[8] = {0,           IR_COND_LTS, IR_COND_NE,  IR_COND_LTS,
					       IR_COND_GTS, IR_COND_NE,  IR_COND_GTS, 0};
	unsigned kind = (unsigned)gw_sass_bits(&l->insn, 76, 3);
	gw_ir_operand a = gw_lower_reg(l, 24, uniform(l)), b = low_source(l), low, equal, high;

	if (kind == 0 || kind == 7)
		return number(l, kind == 7);
	if (bit(l, 80)) {
		a = gw_lower_pair(l, 24, uniform(l));
		b = gw_lower_pair(l, 32, uniform(l) || l->insn.form == 6);
		return GW_LOWER(l, CMP, 64, bit(l, SIGNED) ? with_sign[kind] : plain[kind], 2, a,
				b);
	}
	if (!bit(l, 72))
		return GW_LOWER(l, CMP, 32, bit(l, SIGNED) ? with_sign[kind] : plain[kind], 2, a,
				b);
	low = gw_lower_predicate(l, 68, 71);
	equal = GW_LOWER(l, CMP, 32, IR_COND_EQ, 2, a, b);
	equal = GW_LOWER(l, AND, 1, 0, 2, equal, low);
	if (kind == 2)
		return equal;
	high = GW_LOWER(l, CMP, 32, bit(l, SIGNED) ? strict_sign[kind] : strict[kind], 2, a, b);
	return GW_LOWER(l, OR, 1, 0, 2, high, equal);
}

static bool set_predicate(struct gw_lowering *l)
{
	unsigned join = (unsigned)gw_sass_bits(&l->insn, 74, 2);
	gw_ir_operand p, with, not_p;

	if (!immediate(l) && bit(l, NEGATE_B))
		return false;
	if (bit(l, 80) && l->insn.form != 1 && l->insn.form != 6)
		return false; /* 64 bits, a form of which is not modelled */
	p = compare(l);
	with = gw_lower_predicate(l, 87, 90);
	not_p = GW_LOWER(l, NOT, 1, 0, 1, p);
	switch (join) {
	case 0:
		p = GW_LOWER(l, AND, 1, 0, 2, p, with);
		not_p = GW_LOWER(l, AND, 1, 0, 2, not_p, with);
		break;
	case 1:
		p = GW_LOWER(l, OR, 1, 0, 2, p, with);
		not_p = GW_LOWER(l, OR, 1, 0, 2, not_p, with);
		break;
	default:
		p = GW_LOWER(l, XOR, 1, 0, 2, p, with);
		not_p = GW_LOWER(l, XOR, 1, 0, 2, not_p, with);
	}
	gw_lower_set_predicate(l, 81, p);
	gw_lower_set_predicate(l, 84, not_p);
	return true;
}

static void predicate_logic(struct gw_lowering *l)
{
	unsigned table =
		(unsigned)(gw_sass_bits(&l->insn, 72, 5) << 3 | gw_sass_bits(&l->insn, 64, 3));
	unsigned second = (unsigned)gw_sass_bits(&l->insn, 16, 8);
	bool itself_uniform = l->insn.guard_uniform;
	gw_ir_operand a = gw_lower_predicate(l, 87, 90), b = gw_lower_predicate(l, 77, 80), c, p, q;

	l->insn.guard_uniform = itself_uniform || bit(l, 67);
	c = gw_lower_predicate(l, 68, 71);
	l->insn.guard_uniform = itself_uniform;
	p = GW_LOWER(l, LOP3, 1, table, 3, a, b, c);
	q = GW_LOWER(l, LOP3, 1, second, 3, a, b, c);
	gw_lower_set_predicate(l, 81, p);
	gw_lower_set_predicate(l, 84, q);
}

/* ---- moves ---- */

static gw_ir_operand special_register(struct gw_lowering *l, unsigned number)
{
	return gw_ir_emit(&l->b, IR_SREG, 32, number, gw_ir_reg(&l->b, 32), 0);
}

static gw_ir_operand special(struct gw_lowering *l)
{
	static const struct {
		uint8_t number;
		uint16_t sreg;
	} known[] = {{0x00, IR_SREG_LANEID},         {0x21, IR_SREG_TID_X},
		     {0x22, IR_SREG_TID_Y},          {0x23, IR_SREG_TID_Z},
		     {0x25, IR_SREG_CTAID_X},        {0x26, IR_SREG_CTAID_Y},
		     {0x27, IR_SREG_CTAID_Z},        {0x39, IR_SREG_LANEMASK_LT},
		     {0x88, IR_SREG_CLUSTER_CTARANK}};
	unsigned n = (unsigned)gw_sass_bits(&l->insn, 72, 8);

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].number == n)
			return special_register(l, known[i].sreg);
	return special_register(l, IR_SREG_UNKNOWN);
}

/* The lesser of @p a and @p b where the predicate holds, else the greater. */
static gw_ir_operand lesser(struct gw_lowering *l, bool sign, gw_ir_operand a, gw_ir_operand b)
{
	gw_ir_operand low =
		sign ? GW_LOWER(l, MINS, 32, 0, 2, a, b) : GW_LOWER(l, MINU, 32, 0, 2, a, b);
	gw_ir_operand high =
		sign ? GW_LOWER(l, MAXS, 32, 0, 2, a, b) : GW_LOWER(l, MAXU, 32, 0, 2, a, b);

	return GW_LOWER(l, SEL, 32, 0, 3, gw_lower_predicate(l, 87, 90), low, high);
}

/* VIMNMX and UVIMNMX have their sign one bit lower, and above it what says that it is of packed
 * numbers, or zero if that is greater. VIMNMX3 is of three numbers. */
static bool minimum(struct gw_lowering *l)
{
	bool vector = l->insn.op != GW_SASS_OP_IMNMX, sign = bit(l, vector ? 72 : SIGNED);
	gw_ir_operand a, b;

	if (vector && gw_sass_bits(&l->insn, 73, 4))
		return false;
	a = gw_lower_reg(l, 24, uniform(l));
	b = low_source(l);
	if (l->insn.op == GW_SASS_OP_VIMNMX3) {
		a = lesser(l, sign, a, b);
		b = gw_lower_reg(l, 64, false);
	}
	gw_lower_set(l, 16, uniform(l), lesser(l, sign, a, b));
	return true;
}

/* The least or the greatest of a sum and a third number, after it. */
static bool add_minimum(struct gw_lowering *l)
{
	gw_ir_operand sum, b, c;
	bool sign = bit(l, 72);

	if (gw_sass_bits(&l->insn, 73, 2) || bit(l, 76) || (!swapped(l) && bit(l, NEGATE_C)))
		return false; /* of packed numbers, or zero at least; a negated third one was not
				 seen */
	b = source_b(l);
	if (negated_b(l))
		b = GW_LOWER(l, SUB, 32, 0, 2, number(l, 0), b);
	sum = GW_LOWER(l, ADD, 32, 0, 2, gw_lower_reg(l, 24, false), b);
	c = source_c(l);
	gw_lower_set(l, 16, false, lesser(l, sign, sum, c));
	return true;
}

static bool permute(struct gw_lowering *l)
{
	struct gw_ir_insn insn = {.op = IR_PRMT, .bits = 32};
	gw_ir_operand uses[3], value;

	if (gw_sass_bits(&l->insn, 72, 3))
		return false; /* a mode of its own */
	value = gw_ir_reg(&l->b, 32);
	uses[0] = gw_lower_reg(l, 24, uniform(l));
	uses[1] = source_c(l);
	uses[2] = source_b(l);
	/* PRMT R, a, 0x7610, R: into the lower half, as numbers of 16 bits and truths are kept. */
	if (!uniform(l) && gw_sass_bits(&l->insn, 16, 8) == gw_sass_bits(&l->insn, 64, 8) &&
	    gw_ir_is_constant(uses[2]) && gw_ir_constant(&l->b.program, uses[2]) == 0x7610)
		insn.width = 2;
	gw_ir_append(&l->b, insn, &value, 1, uses, 3);
	gw_lower_set(l, 16, uniform(l), value);
	return true;
}

/* sm_120: both halves of a pair. */
static bool move64(struct gw_lowering *l)
{
	if (l->insn.form != 1)
		return false;
	gw_lower_set_pair(l, 16, uniform(l), gw_lower_pair(l, 32, uniform(l)));
	return true;
}

/* A number of 64 bits, from bit 24 on. */
static bool number64(struct gw_lowering *l)
{
	gw_lower_set_pair(l, 16, l->insn.op == GW_SASS_OP_UMOV_64,
			  number(l, gw_sass_bits(&l->insn, 24, 64)));
	return true;
}

/* CS2R: zeros, or a clock. Reading one is no more than computing: waits for barriers do. */
static void counter(struct gw_lowering *l)
{
	bool zero = gw_sass_bits(&l->insn, 72, 8) == 0xff;
	gw_ir_operand words[2];

	for (unsigned i = 0; i < 2; i++)
		words[i] = zero ? number(l, 0) : special_register(l, IR_SREG_UNKNOWN);
	gw_lower_set_words(l, 16, false, words, bit(l, 80) ? 2 : 1);
}

static bool lower_move(struct gw_lowering *l)
{
	switch (l->insn.op) {
	case GW_SASS_OP_MOV_64:
	case GW_SASS_OP_UMOV_64:
		return number64(l);
	case GW_SASS_OP_MOV:
		if (gw_sass_bits(&l->insn, 72, 4) != 15)
			return false; /* of some lanes of four */
				      /* fall through */
	case GW_SASS_OP_UMOV:
		if (bit(l, 80))
			return move64(l);
		gw_lower_set(l, 16, uniform(l), low_source(l));
		return true;
	case GW_SASS_OP_R2UR:
	case GW_SASS_OP_R2UR_V:
		if (gw_sass_bits(&l->insn, 81, 3) != GW_SASS_PT)
			return false;
		gw_lower_to_uniform(l);
		return true;
	case GW_SASS_OP_S2R:
		gw_lower_set(l, 16, false, special(l));
		return true;
	case GW_SASS_OP_S2UR:
		gw_lower_set(l, 16, true, special(l));
		return true;
	case GW_SASS_OP_CS2R:
		counter(l);
		return true;
	case GW_SASS_OP_SEL:
	case GW_SASS_OP_USEL:
		if (swapped(l))
			return false;
		gw_lower_set(l, 16, uniform(l),
			     GW_LOWER(l, SEL, 32, 0, 3, gw_lower_predicate(l, 87, 90),
				      gw_lower_reg(l, 24, uniform(l)), low_source(l)));
		return true;
	case GW_SASS_OP_PRMT:
	case GW_SASS_OP_UPRMT:
		return permute(l);
	case GW_SASS_OP_LDC:
	case GW_SASS_OP_ULDC:
	case GW_SASS_OP_ULDC_R:
	case GW_SASS_OP_LDCU:
		return gw_lower_load_constant(l);
	default:
		return false;
	}
}

/* A number made by a multiplication with zero: HFMA2 R, -RZ, RZ, number. */
static bool half_number(struct gw_lowering *l)
{
	if (l->insn.form != 2 || gw_sass_bits(&l->insn, 24, 8) != GW_SASS_RZ ||
	    gw_sass_bits(&l->insn, 64, 8) != GW_SASS_RZ)
		return false;
	gw_lower_set(l, 16, false, number(l, gw_sass_bits(&l->insn, 32, 32)));
	return true;
}

bool gw_lower_logic(struct gw_lowering *l)
{
	switch (l->insn.op) {
	case GW_SASS_OP_LOP3:
	case GW_SASS_OP_ULOP3:
		logic3(l);
		return true;
	case GW_SASS_OP_ISETP:
	case GW_SASS_OP_UISETP:
		return set_predicate(l);
	case GW_SASS_OP_PLOP3:
	case GW_SASS_OP_UPLOP3:
		predicate_logic(l);
		return true;
	case GW_SASS_OP_IMNMX:
	case GW_SASS_OP_VIMNMX:
	case GW_SASS_OP_VIMNMX3:
	case GW_SASS_OP_UVIMNMX:
		return minimum(l);
	case GW_SASS_OP_VIADDMNMX:
		return add_minimum(l);
	case GW_SASS_OP_HFMA2:
	case GW_SASS_OP_HFMA2_MMA:
		return half_number(l);
	case GW_SASS_OP_IABS:
		gw_lower_set(l, 16, false, GW_LOWER(l, ABS, 32, 0, 1, low_source(l)));
		return true;
	default:
		return lower_move(l) || gw_lower_float(l) || gw_lower_lanes(l);
	}
}
