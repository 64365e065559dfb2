/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/code/sass_lower_source.h"

/* ---- logic and comparisons ---- */

static void logic3(struct gw_lowering *l)
{
	gw_ir_operand a = gw_lower_reg(l, 24, uniform(l)), b = source_b(l), c = source_c(l), value;

	value = GW_LOWER(l, LOP3, 32, (unsigned)gw_sass_bits(&l->insn, 72, 8), 3, a, b, c);
	gw_lower_set(l, 16, uniform(l), value);
	/* Its predicate is combined with another: only with one that is false is it plain. */
	if (gw_sass_bits(&l->insn, 87, 4) == 15)
		gw_lower_set_predicate(l, 81,
		                       GW_LOWER(l, CMP, 32, IR_COND_NE, 2, value, number(l, 0)));
	else
		gw_lower_set_predicate(l, 81, gw_lower_unknown(l, 1, "LOP3 with a predicate"));
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
	gw_ir_operand a = gw_lower_predicate(l, 87, 90), b = gw_lower_predicate(l, 77, 80),
	              c = gw_lower_predicate(l, 68, 71);

	gw_lower_set_predicate(l, 81, GW_LOWER(l, LOP3, 1, table, 3, a, b, c));
	gw_lower_set_predicate(l, 84, gw_lower_unknown(l, 1, "PLOP3 of two results"));
}

/* ---- moves ---- */

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
			return gw_ir_emit(&l->b, IR_SREG, 32, known[i].sreg, gw_ir_reg(&l->b, 32),
			                  0);
	return gw_lower_unknown(l, 32, "a special register that is not known before the launch");
}

/* VIMNMX and UVIMNMX have their sign one bit lower, and above it what says that it is of packed
 * numbers. */
static bool minimum(struct gw_lowering *l)
{
	bool vector = l->insn.op != GW_SASS_OP_IMNMX, sign = bit(l, vector ? 72 : SIGNED);
	gw_ir_operand a, b, low, high;

	if (vector && gw_sass_bits(&l->insn, 73, 3))
		return false;
	a = gw_lower_reg(l, 24, uniform(l));
	b = low_source(l);
	low = sign ? GW_LOWER(l, MINS, 32, 0, 2, a, b) : GW_LOWER(l, MINU, 32, 0, 2, a, b);
	high = sign ? GW_LOWER(l, MAXS, 32, 0, 2, a, b) : GW_LOWER(l, MAXU, 32, 0, 2, a, b);
	gw_lower_set(l, 16, uniform(l),
	             GW_LOWER(l, SEL, 32, 0, 3, gw_lower_predicate(l, 87, 90), low, high));
	return true;
}

/* The least or the greatest of a sum and a third number, after it. */
static bool add_minimum(struct gw_lowering *l)
{
	gw_ir_operand sum, b, c, low, high;
	bool sign = bit(l, 72);

	if (gw_sass_bits(&l->insn, 73, 2) || (!swapped(l) && bit(l, NEGATE_C)))
		return false; /* of packed numbers; a negated third one was not seen */
	b = source_b(l);
	if (negated_b(l))
		b = GW_LOWER(l, SUB, 32, 0, 2, number(l, 0), b);
	sum = GW_LOWER(l, ADD, 32, 0, 2, gw_lower_reg(l, 24, false), b);
	c = source_c(l);
	low = sign ? GW_LOWER(l, MINS, 32, 0, 2, sum, c) : GW_LOWER(l, MINU, 32, 0, 2, sum, c);
	high = sign ? GW_LOWER(l, MAXS, 32, 0, 2, sum, c) : GW_LOWER(l, MAXU, 32, 0, 2, sum, c);
	gw_lower_set(l, 16, false,
	             GW_LOWER(l, SEL, 32, 0, 3, gw_lower_predicate(l, 87, 90), low, high));
	return true;
}

static bool permute(struct gw_lowering *l)
{
	if (gw_sass_bits(&l->insn, 72, 3))
		return false; /* a mode of its own */
	gw_lower_set(l, 16, uniform(l),
	             GW_LOWER(l, PRMT, 32, 0, 3, gw_lower_reg(l, 24, uniform(l)), source_c(l),
	                      source_b(l)));
	return true;
}

/* A constant without an index: the parameters are read so. */
static bool load_constant(struct gw_lowering *l)
{
	unsigned at = l->insn.op == GW_SASS_OP_LDCU ? 37 : 38, words = l->insn.width / 32u;
	unsigned bank = (unsigned)gw_sass_bits(&l->insn, 54, 5);
	unsigned offset = (unsigned)gw_sass_bits(&l->insn, at, 16);
	bool indexed =
	        l->insn.op == GW_SASS_OP_ULDC_R ||
	        (l->insn.op == GW_SASS_OP_LDC && gw_sass_bits(&l->insn, 24, 8) != GW_SASS_RZ) ||
	        (l->insn.op == GW_SASS_OP_LDCU &&
	         gw_sass_bits(&l->insn, 24, 8) != gw_sass_urz(l->insn.sm));

	gw_lower_note_table(l);
	if (indexed || l->insn.width < 32 || words > 2)
		return false;
	if (words == 2)
		gw_lower_set_pair(l, 16, uniform(l),
		                  GW_LOWER(l, PACK, 32, 0, 2, gw_lower_constant(l, bank, offset),
		                           gw_lower_constant(l, bank, offset + 4)));
	else
		gw_lower_set(l, 16, uniform(l), gw_lower_constant(l, bank, offset));
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

static bool lower_move(struct gw_lowering *l)
{
	switch (l->insn.op) {
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
		gw_lower_set(l, 16, true, gw_lower_reg(l, 24, false));
		return true;
	case GW_SASS_OP_S2R:
		gw_lower_set(l, 16, false, special(l));
		return true;
	case GW_SASS_OP_S2UR:
		gw_lower_set(l, 16, true, special(l));
		return true;
	case GW_SASS_OP_CS2R:
		if (gw_sass_bits(&l->insn, 72, 8) != 0xff)
			return false; /* a clock */
		if (bit(l, 80))
			gw_lower_set_pair(l, 16, false, number(l, 0));
		else
			gw_lower_set(l, 16, false, number(l, 0));
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
		return load_constant(l);
	default:
		return false;
	}
}

/* ---- division of integers ---- */

/*
 * Compilers divide 32-bit integers by I2F.RP, MUFU.RCP, an addition of 0x0ffffffe to the float's
 * bits, F2I, and corrections that make the quotient exact whatever the last bits of the reciprocal
 * were. So there, and only there, the reciprocal may be taken for the correctly rounded one.
 */
enum { RECIPROCAL = 4, SCALE = 0x0ffffffe, LOOK_AHEAD = 24 };

static bool divides(const struct gw_lowering *l)
{
	unsigned to = (unsigned)gw_sass_bits(&l->insn, 16, 8);
	uint32_t end = l->b.source + LOOK_AHEAD;
	struct gw_sass_insn next;

	if (end > l->cfg->insn_count)
		end = l->cfg->insn_count;
	for (uint32_t i = l->b.source + 1; i < end; i++) {
		gw_cfg_insn(l->cfg, i, &next);
		if ((next.op == GW_SASS_OP_IADD3 || next.op == GW_SASS_OP_VIADD ||
		     next.op == GW_SASS_OP_IADD) &&
		    next.form == 4 && gw_sass_bits(&next, 32, 32) == SCALE &&
		    gw_sass_bits(&next, 24, 8) == to)
			return true;
		for (unsigned d = 0; d < next.def_count; d++)
			if (to >= next.defs[d].first &&
			    to < (unsigned)next.defs[d].first + next.defs[d].count)
				return false;
	}
	return false;
}

static bool lower_division(struct gw_lowering *l)
{
	/* Modifiers of I2F.RP and I2F.U32.RP, and of F2I.FTZ.U32.TRUNC.NTZ. */
	unsigned modifiers = (unsigned)gw_sass_bits(&l->insn, 72, 16);
	enum gw_ir_op to_float = modifiers & 4 ? IR_S2F : IR_U2F;
	gw_ir_operand value;

	if (l->insn.op == GW_SASS_OP_I2F && (modifiers & ~4u) == 0x2090) {
		value = gw_ir_emit(&l->b, to_float, 32, 32 | IR_ROUND_UP << 8, gw_ir_reg(&l->b, 32),
		                   1, low_source(l));
	} else if (l->insn.op == GW_SASS_OP_MUFU && l->insn.form == 1 &&
	           gw_sass_bits(&l->insn, 74, 4) == RECIPROCAL && divides(l)) {
		value = GW_LOWER(l, FDIV, 32, 0, 2, number(l, 0x3f800000), low_source(l));
	} else if (l->insn.op == GW_SASS_OP_F2I && modifiers == 0x21f0 && l->insn.form == 1) {
		value = gw_ir_emit(&l->b, IR_F2U, 32, 32 | IR_ROUND_ZERO << 8, gw_ir_reg(&l->b, 32),
		                   1, low_source(l));
	} else {
		return false;
	}
	gw_lower_set(l, 16, false, value);
	return true;
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
	case GW_SASS_OP_UVIMNMX:
		return minimum(l);
	case GW_SASS_OP_VIADDMNMX:
		return add_minimum(l);
	case GW_SASS_OP_I2F:
	case GW_SASS_OP_MUFU:
	case GW_SASS_OP_F2I:
		return lower_division(l);
	case GW_SASS_OP_HFMA2:
	case GW_SASS_OP_HFMA2_MMA:
		return half_number(l);
	case GW_SASS_OP_IABS:
		gw_lower_set(l, 16, false, GW_LOWER(l, ABS, 32, 0, 1, low_source(l)));
		return true;
	default:
		return lower_move(l);
	}
}
