/* Lowering arithmetic. Floats are followed where they are rounded once, to nearest. */
#include "predictor/code/ptx/lower.h"

#include <string.h>

static gw_ir_operand use(struct gw_ptx_lower *l, uint32_t n)
{
	return gw_ptx_use(l, gw_ptx_operand(l, n), l->i.bits);
}

static gw_ir_operand def(struct gw_ptx_lower *l)
{
	return gw_ptx_def(l, gw_ptx_operand(l, 0));
}

static gw_ir_operand temporary(struct gw_ptx_lower *l, unsigned bits)
{
	return gw_ir_reg(&l->b, bits);
}

static bool emit1(struct gw_ptx_lower *l, enum gw_ir_op op)
{
	gw_ir_operand a = use(l, 1);

	gw_ir_emit(&l->b, op, l->i.bits, 0, def(l), 1, a);
	return true;
}

static bool emit2(struct gw_ptx_lower *l, enum gw_ir_op op)
{
	gw_ir_operand a = use(l, 1), b = use(l, 2);

	gw_ir_emit(&l->b, op, l->i.bits, 0, def(l), 2, a, b);
	return true;
}

static bool is_integer(const struct gw_ptx_lower *l)
{
	return l->i.type == 's' || l->i.type == 'u' || l->i.type == 'b';
}

/* A float whose operation has one, exact, meaning: no flushing, clamping or other rounding. */
static bool is_followed_float(const struct gw_ptx_lower *l)
{
	return l->i.type == 'f' && (l->i.bits == 32 || l->i.bits == 64) && !gw_ptx_has(l, "ftz") &&
	       !gw_ptx_has(l, "sat") && !gw_ptx_has(l, "rz") && !gw_ptx_has(l, "rm") &&
	       !gw_ptx_has(l, "rp") && !gw_ptx_has(l, "approx") && !gw_ptx_has(l, "full");
}

/* The sum of sign-extended operands, clamped: add.sat.s32 and sub.sat.s32. */
static bool saturating(struct gw_ptx_lower *l, enum gw_ir_op op)
{
	gw_ir_operand a = gw_ir_emit(&l->b, IR_SEXT, 32, 0, temporary(l, 64), 1, use(l, 1));
	gw_ir_operand b = gw_ir_emit(&l->b, IR_SEXT, 32, 0, temporary(l, 64), 1, use(l, 2));
	gw_ir_operand sum = gw_ir_emit(&l->b, op, 64, 0, temporary(l, 64), 2, a, b);

	gw_ir_emit(&l->b, IR_SATS, 32, 64, def(l), 1, sum);
	return true;
}

/* Sums with a carry in or out: the carry lives in one predicate of the function. */
static bool with_carry(struct gw_ptx_lower *l, bool minus, bool carry_in)
{
	gw_ir_operand a = use(l, 1), b = use(l, 2), zero = gw_ptx_number(l, 0), in = zero;
	gw_ir_operand carry = temporary(l, 1), sum = temporary(l, l->i.bits);
	enum gw_ir_op op = minus ? IR_SUB : IR_ADD;

	if (carry_in)
		in = l->carry;
	gw_ir_emit(&l->b, minus ? IR_BORROW : IR_CARRY, l->i.bits, 0, carry, 3, a, b, in);
	gw_ir_emit(&l->b, op, l->i.bits, 0, sum, 2, a, b);
	if (carry_in) {
		gw_ir_operand one = gw_ir_emit(&l->b, IR_SEL, l->i.bits, 0, temporary(l, l->i.bits),
					       3, in, gw_ptx_number(l, 1), zero);

		gw_ir_emit(&l->b, op, l->i.bits, 0, sum, 2, sum, one);
	}
	gw_ir_emit(&l->b, IR_MOV, l->i.bits, 0, def(l), 1, sum);
	if (gw_ptx_has(l, "cc"))
		gw_ir_emit(&l->b, IR_MOV, 1, 0, l->carry, 1, carry);
	return true;
}

bool gw_ptx_add_sub(struct gw_ptx_lower *l)
{
	bool minus = l->i.part[0][0] == 's', carry_in = l->i.part[0][3] == 'c';

	if (is_integer(l)) {
		if (gw_ptx_has(l, "sat"))
			return saturating(l, minus ? IR_SUB : IR_ADD);
		if (carry_in || gw_ptx_has(l, "cc"))
			return with_carry(l, minus, carry_in);
		return emit2(l, minus ? IR_SUB : IR_ADD);
	}
	if (!is_followed_float(l))
		return gw_ptx_opaque(l, NULL);
	if (minus) {
		gw_ir_operand a = use(l, 1), b = use(l, 2);
		gw_ir_operand negated =
			gw_ir_emit(&l->b, IR_FNEG, l->i.bits, 0, temporary(l, l->i.bits), 1, b);

		gw_ir_emit(&l->b, IR_FADD, l->i.bits, 0, def(l), 2, a, negated);
		return true;
	}
	return emit2(l, IR_FADD);
}

static enum gw_ir_op product_op(const struct gw_ptx_lower *l, unsigned *bits)
{
	bool is_signed = l->i.type == 's';

	*bits = l->i.bits;
	if (gw_ptx_has(l, "wide")) {
		*bits = 2 * l->i.bits;
		return is_signed ? IR_MULWS : IR_MULWU;
	}
	if (gw_ptx_has(l, "hi"))
		return is_signed ? IR_MULHS : IR_MULHU;
	return IR_MUL;
}

bool gw_ptx_mul_mad(struct gw_ptx_lower *l)
{
	bool mad = l->i.part[0][1] == 'a';
	gw_ir_operand a, b, c, product;
	enum gw_ir_op op;
	unsigned bits;

	if (l->i.type == 'f' && !mad)
		return is_followed_float(l) ? emit2(l, IR_FMUL) : gw_ptx_opaque(l, NULL);
	if (l->i.type == 'f')
		return gw_ptx_fma(l);
	op = product_op(l, &bits);
	if (!is_integer(l) || bits > 64 || gw_ptx_has(l, "sat") || gw_ptx_has(l, "cc"))
		return gw_ptx_opaque(l, NULL);
	a = use(l, 1);
	b = use(l, 2);
	if (!mad) {
		gw_ir_emit(&l->b, op, l->i.bits, 0, def(l), 2, a, b);
		return true;
	}
	product = gw_ir_emit(&l->b, op, l->i.bits, 0, temporary(l, bits), 2, a, b);
	c = gw_ptx_use(l, gw_ptx_operand(l, 3), bits);
	gw_ir_emit(&l->b, IR_ADD, bits, 0, def(l), 2, product, c);
	return true;
}

bool gw_ptx_fma(struct gw_ptx_lower *l)
{
	gw_ir_operand a, b, c;

	if (!is_followed_float(l))
		return gw_ptx_opaque(l, NULL);
	a = use(l, 1);
	b = use(l, 2);
	c = use(l, 3);
	gw_ir_emit(&l->b, IR_FFMA, l->i.bits, 0, def(l), 3, a, b, c);
	return true;
}

bool gw_ptx_sqrt(struct gw_ptx_lower *l)
{
	return is_followed_float(l) && gw_ptx_has(l, "rn") ? emit1(l, IR_FSQRT)
							   : gw_ptx_opaque(l, NULL);
}

bool gw_ptx_div_rem(struct gw_ptx_lower *l)
{
	bool is_signed = l->i.type == 's', rem = l->i.part[0][0] == 'r';

	if (l->i.type == 'f' && !rem && gw_ptx_has(l, "rn"))
		return is_followed_float(l) ? emit2(l, IR_FDIV) : gw_ptx_opaque(l, NULL);
	if (!is_integer(l))
		return gw_ptx_opaque(l, NULL);
	if (rem)
		return emit2(l, is_signed ? IR_REMS : IR_REMU);
	return emit2(l, is_signed ? IR_DIVS : IR_DIVU);
}

/* cnot: 1 when the source is 0, else 0. */
static bool logical_not(struct gw_ptx_lower *l)
{
	gw_ir_operand zero = gw_ptx_number(l, 0), one = gw_ptx_number(l, 1), a = use(l, 1);
	gw_ir_operand is_zero =
		gw_ir_emit(&l->b, IR_CMP, l->i.bits, IR_COND_EQ, temporary(l, 1), 2, a, zero);

	gw_ir_emit(&l->b, IR_SEL, l->i.bits, 0, def(l), 3, is_zero, one, zero);
	return true;
}

bool gw_ptx_unary(struct gw_ptx_lower *l)
{
	bool is_float = l->i.type == 'f';
	char first = l->i.part[0][0], second = l->i.part[0][1];

	if (l->i.type == 'h' || (is_float && !is_followed_float(l)))
		return gw_ptx_opaque(l, NULL);
	if (first == 'a')
		return emit1(l, is_float ? IR_FABS : IR_ABS);
	if (first == 'c')
		return logical_not(l);
	if (second == 'o')
		return emit1(l, IR_NOT);
	if (is_float)
		return emit1(l, IR_FNEG);
	gw_ir_emit(&l->b, IR_SUB, l->i.bits, 0, def(l), 2, gw_ptx_number(l, 0), use(l, 1));
	return true;
}

bool gw_ptx_min_max(struct gw_ptx_lower *l)
{
	bool min = l->i.part[0][1] == 'i', is_signed = l->i.type == 's';

	if (l->i.type == 'f')
		return is_followed_float(l) && !gw_ptx_has(l, "NaN") && !gw_ptx_has(l, "xorsign") &&
				       l->i.count == 3
			       ? emit2(l, min ? IR_FMIN : IR_FMAX)
			       : gw_ptx_opaque(l, NULL);
	if (!is_integer(l) || gw_ptx_has(l, "relu"))
		return gw_ptx_opaque(l, NULL);
	if (min)
		return emit2(l, is_signed ? IR_MINS : IR_MINU);
	return emit2(l, is_signed ? IR_MAXS : IR_MAXU);
}

bool gw_ptx_bitwise(struct gw_ptx_lower *l)
{
	char c = l->i.part[0][0];

	if (!l->i.type || l->i.type == 'h')
		return gw_ptx_opaque(l, NULL);
	return emit2(l, c == 'a' ? IR_AND : c == 'o' ? IR_OR : IR_XOR);
}

bool gw_ptx_lop3(struct gw_ptx_lower *l)
{
	const struct gw_ptx_operand *table = gw_ptx_operand(l, 4);
	gw_ir_operand a, b, c;

	if (table->kind != PTX_OPERAND_NUMBER || table->value > 255 || gw_ptx_has(l, "or") ||
	    gw_ptx_has(l, "and"))
		return gw_ptx_opaque(l, NULL);
	a = use(l, 1);
	b = use(l, 2);
	c = use(l, 3);
	gw_ir_emit(&l->b, IR_LOP3, 32, (unsigned)table->value, def(l), 3, a, b, c);
	return true;
}

bool gw_ptx_shift(struct gw_ptx_lower *l)
{
	gw_ir_operand a, b;

	if (!is_integer(l))
		return gw_ptx_opaque(l, NULL);
	a = use(l, 1);
	b = gw_ptx_use(l, gw_ptx_operand(l, 2), 32);
	gw_ir_emit(&l->b,
		   l->i.part[0][2] == 'l' ? IR_SHL
		   : l->i.type == 's'     ? IR_SHRS
					  : IR_SHRU,
		   l->i.bits, 0, def(l), 2, a, b);
	return true;
}

/* shf: 64 bits b:a shifted by c, which is clamped to 32 or wrapped; left gives the upper half. */
bool gw_ptx_funnel(struct gw_ptx_lower *l)
{
	bool left = gw_ptx_has(l, "l");
	gw_ir_operand a, b, c, both, by, shifted;

	a = use(l, 1);
	b = use(l, 2);
	c = use(l, 3);
	both = gw_ir_emit(&l->b, IR_PACK, 32, 0, temporary(l, 64), 2, a, b);
	if (gw_ptx_has(l, "wrap"))
		by = gw_ir_emit(&l->b, IR_AND, 32, 0, temporary(l, 32), 2, c, gw_ptx_number(l, 31));
	else
		by = gw_ir_emit(&l->b, IR_MINU, 32, 0, temporary(l, 32), 2, c,
				gw_ptx_number(l, 32));
	shifted = gw_ir_emit(&l->b, left ? IR_SHL : IR_SHRU, 64, 0, temporary(l, 64), 2, both, by);
	if (left)
		shifted = gw_ir_emit(&l->b, IR_SHRU, 64, 0, temporary(l, 64), 2, shifted,
				     gw_ptx_number(l, 32));
	gw_ir_emit(&l->b, IR_ZEXT, 32, 0, def(l), 1, shifted);
	return true;
}

bool gw_ptx_prmt(struct gw_ptx_lower *l)
{
	static const char modes[][5] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
	gw_ir_operand a = use(l, 1), b = use(l, 2), c = use(l, 3);
	unsigned mode = 0;

	for (unsigned n = 0; n < sizeof(modes) / sizeof(*modes); n++)
		if (gw_ptx_has(l, modes[n]))
			mode = n + 1;
	gw_ir_emit(&l->b, IR_PRMT, 32, mode, def(l), 3, a, b, c);
	return true;
}

bool gw_ptx_bfe(struct gw_ptx_lower *l)
{
	gw_ir_operand a = use(l, 1);
	gw_ir_operand b = gw_ptx_use(l, gw_ptx_operand(l, 2), 32);
	gw_ir_operand c = gw_ptx_use(l, gw_ptx_operand(l, 3), 32);

	gw_ir_emit(&l->b, l->i.type == 's' ? IR_BFES : IR_BFEU, l->i.bits, 0, def(l), 3, a, b, c);
	return true;
}

bool gw_ptx_bfi(struct gw_ptx_lower *l)
{
	gw_ir_operand a = use(l, 1), b = use(l, 2);
	gw_ir_operand c = gw_ptx_use(l, gw_ptx_operand(l, 3), 32);
	gw_ir_operand d = gw_ptx_use(l, gw_ptx_operand(l, 4), 32);

	gw_ir_emit(&l->b, IR_BFI, l->i.bits, 0, def(l), 4, a, b, c, d);
	return true;
}

/* bfind.shiftamt: by how much to shift the bit found to the top; all ones when there is none. */
static bool find_shift(struct gw_ptx_lower *l)
{
	gw_ir_operand place = temporary(l, 32), none = temporary(l, 1), shift = temporary(l, 32);
	gw_ir_operand ones = gw_ptx_number(l, UINT32_MAX), a = use(l, 1);

	gw_ir_emit(&l->b, l->i.type == 's' ? IR_BFINDS : IR_BFINDU, l->i.bits, 0, place, 1, a);
	gw_ir_emit(&l->b, IR_CMP, 32, IR_COND_EQ, none, 2, place, ones);
	gw_ir_emit(&l->b, IR_SUB, 32, 0, shift, 2, gw_ptx_number(l, l->i.bits - 1), place);
	gw_ir_emit(&l->b, IR_SEL, 32, 0, def(l), 3, none, ones, shift);
	return true;
}

bool gw_ptx_count(struct gw_ptx_lower *l)
{
	const char *name = l->i.part[0];

	if (!strcmp(name, "brev"))
		return emit1(l, IR_BREV);
	if (!strcmp(name, "clz"))
		return emit1(l, IR_CLZ);
	if (!strcmp(name, "popc"))
		return emit1(l, IR_POPC);
	if (gw_ptx_has(l, "shiftamt"))
		return find_shift(l);
	return emit1(l, l->i.type == 's' ? IR_BFINDS : IR_BFINDU);
}
