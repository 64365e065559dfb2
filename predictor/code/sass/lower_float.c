/* Floats: arguments such as a factor that may be zero decide ways; and the division of integers. */
#include "predictor/code/sass/lower_source.h"

/* Bits of most instructions of floats: negation and magnitude of A and of what lies at bit 32. */
enum { MAGNITUDE_A = 73, MAGNITUDE_LOW = 62, MAGNITUDE_C = 74, TO_ZERO = 80 };

/* Bits of an instruction's floats; doubles are pairs of registers. */
static unsigned width(const struct gw_lowering *l)
{
	return l->insn.pipe == GW_SASS_PIPE_FP64 ? 64 : 32;
}

static gw_ir_operand with_sign(struct gw_lowering *l, gw_ir_operand value, bool magnitude,
			       bool negate)
{
	unsigned bits = width(l);

	if (magnitude)
		value = gw_ir_emit(&l->b, IR_FABS, bits, 0, gw_ir_reg(&l->b, bits), 1, value);
	if (negate)
		value = gw_ir_emit(&l->b, IR_FNEG, bits, 0, gw_ir_reg(&l->b, bits), 1, value);
	return value;
}

static gw_ir_operand float_a(struct gw_lowering *l)
{
	gw_ir_operand value =
		width(l) == 64 ? gw_lower_pair(l, 24, false) : gw_lower_reg(l, 24, false);

	return with_sign(l, value, bit(l, MAGNITUDE_A), bit(l, NEGATE_A));
}

static gw_ir_operand float_low(struct gw_lowering *l)
{
	return with_sign(l, width(l) == 64 ? low_pair(l) : low_source(l),
			 !immediate(l) && bit(l, MAGNITUDE_LOW), !immediate(l) && bit(l, NEGATE_B));
}

static gw_ir_operand double_c(struct gw_lowering *l)
{
	return with_sign(l, gw_lower_pair(l, 64, false), bit(l, MAGNITUDE_C), bit(l, NEGATE_C));
}

/* .FTZ: numbers too small for a normal float are zeros. */
static gw_ir_operand flushed(struct gw_lowering *l, gw_ir_operand value)
{
	gw_ir_operand size = GW_LOWER(l, AND, 32, 0, 2, value, number(l, 0x7fffffff)), small;

	small = GW_LOWER(l, CMP, 32, IR_COND_LTU, 2, size, number(l, 0x00800000));
	return GW_LOWER(l, SEL, 32, 0, 3, small,
			GW_LOWER(l, AND, 32, 0, 2, value, number(l, 0x80000000)), value);
}

static gw_ir_operand compared(struct gw_lowering *l, enum gw_ir_cond cond, gw_ir_operand a,
			      gw_ir_operand b)
{
	return gw_ir_emit(&l->b, IR_FCMP, width(l), cond, gw_ir_reg(&l->b, 1), 2, a, b);
}

static gw_ir_operand joined(struct gw_lowering *l, enum gw_ir_op op, gw_ir_operand a,
			    gw_ir_operand b)
{
	return gw_ir_emit(&l->b, op, 1, 0, gw_ir_reg(&l->b, 1), 2, a, b);
}

/*
 * DSETP.MIN and .MAX: whether the first of two doubles is the lesser, or greater, one, and whether
 * both are no numbers. One that is no number loses against one that is; -0 is less than 0.
 */
static bool lesser_double(struct gw_lowering *l, bool greater, enum gw_ir_op op)
{
	gw_ir_operand a = float_a(l), b = float_low(l), first, minus, tie, alone, none, with;

	first = compared(l, greater ? IR_COND_GTS : IR_COND_LTS, a, b);
	minus = gw_ir_emit(&l->b, IR_CMP, 64, greater ? IR_COND_GES : IR_COND_LTS,
			   gw_ir_reg(&l->b, 1), 2, a, number(l, 0));
	tie = joined(l, IR_AND, compared(l, IR_COND_EQ, a, b), minus);
	none = compared(l, IR_COND_NAN, b, b);
	alone = joined(l, IR_AND, compared(l, IR_COND_NUM, a, a), none);
	none = joined(l, IR_AND, compared(l, IR_COND_NAN, a, a), none);
	first = joined(l, IR_OR, joined(l, IR_OR, first, tie), alone);
	with = gw_lower_predicate(l, 87, 90);
	gw_lower_set_predicate(l, 81, joined(l, op, first, with));
	gw_lower_set_predicate(l, 84, joined(l, op, none, with));
	return true;
}

static bool set_predicate(struct gw_lowering *l)
{
	static const uint8_t conditions[16] = {0,           IR_COND_LTS, IR_COND_EQ,  IR_COND_LES,
					       IR_COND_GTS, IR_COND_NE,  IR_COND_GES, IR_COND_NUM,
					       IR_COND_NAN, IR_COND_LTU, IR_COND_EQU, IR_COND_LEU,
					       IR_COND_GTU, IR_COND_NEU, IR_COND_GEU, 0};
	unsigned kind = (unsigned)gw_sass_bits(&l->insn, 76, 4);
	unsigned join = (unsigned)gw_sass_bits(&l->insn, 74, 2);
	gw_ir_operand a, b, p, not_p, with;
	enum gw_ir_op op = join == 0 ? IR_AND : join == 1 ? IR_OR : IR_XOR;
	const unsigned never = 0, always = 15;

	if ((kind == never || kind == always) && l->insn.op == GW_SASS_OP_DSETP)
		return lesser_double(l, kind == always, op);
	if (kind == never || kind == always)
		return false; /* which compilers don't write */
	a = float_a(l);
	b = float_low(l);
	if (bit(l, TO_ZERO)) {
		a = flushed(l, a);
		b = flushed(l, b);
	}
	p = compared(l, conditions[kind], a, b);
	with = gw_lower_predicate(l, 87, 90);
	not_p = GW_LOWER(l, NOT, 1, 0, 1, p);
	gw_lower_set_predicate(l, 81, joined(l, op, p, with));
	gw_lower_set_predicate(l, 84, joined(l, op, not_p, with));
	return true;
}

/* A division's operands: a function divides zeros, and what else is rare. */
static bool check(struct gw_lowering *l)
{
	gw_lower_set_predicate(l, 81,
			       compared(l, IR_COND_EQ, gw_lower_reg(l, 24, false), number(l, 0)));
	return true;
}

/* Rounding, saturation and flushing, where they are not the plain ones. */
static bool plain(const struct gw_lowering *l)
{
	return !gw_sass_bits(&l->insn, 77, 4);
}

static bool arithmetic(struct gw_lowering *l)
{
	gw_ir_operand value, b, c;

	if (!plain(l))
		return false;
	switch (l->insn.op) {
	case GW_SASS_OP_FADD:
		value = GW_LOWER(l, FADD, 32, 0, 2, float_a(l), float_low(l));
		break;
	case GW_SASS_OP_FMUL:
		if (gw_sass_bits(&l->insn, 84, 3) != 4)
			return false; /* times a power of two */
		value = GW_LOWER(l, FMUL, 32, 0, 2, float_a(l), float_low(l));
		break;
	case GW_SASS_OP_FFMA:
		b = with_sign(l, source_b(l), false, negated_b(l));
		c = with_sign(l, source_c(l), false, negated_c(l));
		value = GW_LOWER(l, FFMA, 32, 0, 3, gw_lower_reg(l, 24, false), b, c);
		break;
	default:
		return false;
	}
	gw_lower_set(l, 16, false, value);
	return true;
}

/* Of doubles; what lies at bit 32 is the last source of a sum where the form says so. */
static bool of_doubles(struct gw_lowering *l)
{
	gw_ir_operand a, low, value;

	if (!plain(l))
		return false;
	a = float_a(l);
	if (l->insn.op == GW_SASS_OP_DADD) {
		value = GW_LOWER(l, FADD, 64, 0, 2, a, swapped(l) ? float_low(l) : double_c(l));
	} else if (l->insn.op == GW_SASS_OP_DMUL) {
		value = GW_LOWER(l, FMUL, 64, 0, 2, a, float_low(l));
	} else {
		low = float_low(l);
		value = double_c(l);
		value = GW_LOWER(l, FFMA, 64, 0, 3, a, swapped(l) ? value : low,
				 swapped(l) ? low : value);
	}
	gw_lower_set_pair(l, 16, false, value);
	return true;
}

static bool select(struct gw_lowering *l)
{
	if (bit(l, TO_ZERO))
		return false;
	gw_lower_set(l, 16, false,
		     GW_LOWER(l, SEL, 32, 0, 3, gw_lower_predicate(l, 87, 90), float_a(l),
			      float_low(l)));
	return true;
}

static bool lesser_or_greater(struct gw_lowering *l)
{
	gw_ir_operand a = float_a(l), b = float_low(l), low, high;

	if (bit(l, TO_ZERO) || gw_sass_bits(&l->insn, 74, 4))
		return false;
	low = GW_LOWER(l, FMIN, 32, 0, 2, a, b);
	high = GW_LOWER(l, FMAX, 32, 0, 2, a, b);
	gw_lower_set(l, 16, false,
		     GW_LOWER(l, SEL, 32, 0, 3, gw_lower_predicate(l, 87, 90), low, high));
	return true;
}

/* ---- division of integers ---- */

/*
 * Compilers divide integers by I2F.RP, MUFU.RCP, an addition to the float's bits (0x0ffffffe for 32
 * bits, 0x1ffffffe for 64), F2I, and corrections that make the quotient exact whatever the last
 * bits of the reciprocal were. So there, and only there, the reciprocal may be taken for the
 * correctly rounded one.
 */
enum { RECIPROCAL = 4, SCALE = 0x0ffffffe, SCALE_64 = 0x1ffffffe, LOOK_AHEAD = 24 };

static bool scales(const struct gw_sass_insn *insn, unsigned reg)
{
	uint64_t by = gw_sass_bits(insn, 32, 32);

	return (insn->op == GW_SASS_OP_IADD3 || insn->op == GW_SASS_OP_VIADD ||
		insn->op == GW_SASS_OP_IADD) &&
	       insn->form == 4 && (by == SCALE || by == SCALE_64) &&
	       gw_sass_bits(insn, 24, 8) == reg;
}

static bool divides(const struct gw_lowering *l)
{
	unsigned to = (unsigned)gw_sass_bits(&l->insn, 16, 8);
	uint32_t end = l->b.source + LOOK_AHEAD;
	struct gw_sass_insn next;

	if (end > l->cfg->insn_count)
		end = l->cfg->insn_count;
	for (uint32_t i = l->b.source + 1; i < end; i++) {
		gw_cfg_insn(l->cfg, i, &next);
		if (scales(&next, to))
			return true;
		for (unsigned d = 0; d < next.def_count; d++)
			if (to >= next.defs[d].first &&
			    to < (unsigned)next.defs[d].first + next.defs[d].count)
				return false;
	}
	return false;
}

/* To a float, rounded to nearest or upwards; from 64 bits only as the division needs it. */
static bool to_float(struct gw_lowering *l, unsigned modifiers)
{
	bool wide = l->insn.op == GW_SASS_OP_I2F_64;
	enum gw_ir_op op = modifiers & 4 ? IR_S2F : IR_U2F;
	unsigned kind = modifiers & ~4u, from = wide ? 64 : 32, round = IR_ROUND_NEAREST;
	gw_ir_operand value;

	if (wide && (kind == 0x2018 || kind == 0x3018)) { /* of 32 or 64 bits, to a double */
		from = kind & 0x1000 ? 64 : 32;
		value = from == 64 ? low_pair(l) : low_source(l);
		gw_lower_set_pair(l, 16, false,
				  gw_ir_emit(&l->b, op, 64, from, gw_ir_reg(&l->b, 64), 1, value));
		return true;
	}
	if (kind == (wide ? 0x3090u : 0x2090u))
		round = IR_ROUND_UP;
	else if (wide || kind != 0x2010)
		return false;
	value = wide ? low_pair(l) : low_source(l);
	value = gw_ir_emit(&l->b, op, 32, from | round << 8, gw_ir_reg(&l->b, 32), 1, value);
	gw_lower_set(l, 16, false, value);
	return true;
}

static bool double_to_integer(struct gw_lowering *l, enum gw_ir_op op, unsigned bits,
			      unsigned round)
{
	gw_ir_operand value = gw_ir_emit(&l->b, op, bits, 64 | round << 8, gw_ir_reg(&l->b, bits),
					 1, low_pair(l));

	if (bits == 64)
		gw_lower_set_pair(l, 16, false, value);
	else
		gw_lower_set(l, 16, false, value);
	return true;
}

/* Between floats and doubles, to nearest. */
static bool between_floats(struct gw_lowering *l, unsigned modifiers)
{
	if (l->insn.form != 1 || (modifiers != 0x3010 && modifiers != 0x2018))
		return false;
	if (modifiers == 0x3010)
		gw_lower_set(l, 16, false, GW_LOWER(l, F2F, 32, 64, 1, low_pair(l)));
	else
		gw_lower_set_pair(l, 16, false, GW_LOWER(l, F2F, 64, 32, 1, low_source(l)));
	return true;
}

/* To an integer of 32 bits, rounded in any way; to one of 64 as the division needs it. Flushing
 * changes nothing where it is cut off. */
static bool to_integer(struct gw_lowering *l, unsigned modifiers)
{
	static const uint8_t rounds[4] = {IR_ROUND_NEAREST, IR_ROUND_DOWN, IR_ROUND_UP,
					  IR_ROUND_ZERO};
	unsigned round = rounds[modifiers >> 6 & 3];
	enum gw_ir_op op = modifiers & 1 ? IR_F2S : IR_F2U;

	if (l->insn.form != 1)
		return false;
	if (l->insn.op == GW_SASS_OP_F2I_64 && (modifiers & ~0xc9u) == 0x3010)
		return double_to_integer(l, op, modifiers & 8 ? 64 : 32, round);
	if (l->insn.op == GW_SASS_OP_F2I_64) {
		if (modifiers != 0x20d8)
			return false;
		gw_lower_set_pair(l, 16, false,
				  gw_ir_emit(&l->b, IR_F2U, 64, 32 | IR_ROUND_ZERO << 8,
					     gw_ir_reg(&l->b, 64), 1, low_source(l)));
		return true;
	}
	if ((modifiers & ~0x1c1u) != 0x2030 || (modifiers & 0x100 && round != IR_ROUND_ZERO))
		return false;
	gw_lower_set(
		l, 16, false,
		gw_ir_emit(&l->b, op, 32, 32 | round << 8, gw_ir_reg(&l->b, 32), 1, low_source(l)));
	return true;
}

bool gw_lower_float(struct gw_lowering *l)
{
	unsigned modifiers = (unsigned)gw_sass_bits(&l->insn, 72, 16);

	switch (l->insn.op) {
	case GW_SASS_OP_FSETP:
	case GW_SASS_OP_DSETP:
		return set_predicate(l);
	case GW_SASS_OP_FCHK:
		return check(l);
	case GW_SASS_OP_FADD:
	case GW_SASS_OP_FMUL:
	case GW_SASS_OP_FFMA:
		return arithmetic(l);
	case GW_SASS_OP_DADD:
	case GW_SASS_OP_DMUL:
	case GW_SASS_OP_DFMA:
		return of_doubles(l);
	case GW_SASS_OP_F2F_64:
		return between_floats(l, modifiers);
	case GW_SASS_OP_FSEL:
		return select(l);
	case GW_SASS_OP_FMNMX:
		return lesser_or_greater(l);
	case GW_SASS_OP_I2F:
	case GW_SASS_OP_I2FP:
	case GW_SASS_OP_I2F_64:
		return to_float(l, modifiers);
	case GW_SASS_OP_F2I:
	case GW_SASS_OP_F2I_64:
		return to_integer(l, modifiers);
	case GW_SASS_OP_MUFU:
		if (l->insn.form != 1 || gw_sass_bits(&l->insn, 74, 4) != RECIPROCAL || !divides(l))
			return false;
		gw_lower_set(l, 16, false,
			     GW_LOWER(l, FDIV, 32, 0, 2, number(l, 0x3f800000), low_source(l)));
		return true;
	default:
		return false;
	}
}
