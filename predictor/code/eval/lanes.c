/*
 * The most frequent operations for all lanes of a warp at once: what gw_scalar() gives for each,
 * without asking for each which operation it is.
 */
#include "predictor/code/eval/state.h"

#include <string.h>

enum { SOURCES = 3 };

/* The lanes' numbers side by side; false when a lane of @p mask has none. */
static bool numbers(const struct gw_value *x, uint32_t mask, uint64_t room[GW_LANES],
		    const uint64_t **out)
{
	uint32_t any = 0;

	if (x->uniform) {
		for (unsigned i = 0; i < GW_LANES; i++)
			room[i] = x->v[0];
		*out = room;
		return !x->base[0];
	}
	for (unsigned i = 0; i < GW_LANES; i++)
		any |= x->base[i] & (0 - (mask >> i & 1));
	*out = x->v;
	return !any;
}

#define EACH(expression) \
	for (unsigned i = 0; i < GW_LANES; i++) { \
		uint64_t x = a[i], y = b[i]; \
		out[i] = (uint64_t)(expression); \
	} \
	break

/* A comparison of numbers of 32 bits or 64; false for others. */
static bool compare(unsigned cond, unsigned bits, const uint64_t *a, const uint64_t *b,
		    uint64_t *out)
{
	/* At the top of a word signed numbers of any width compare as they are. */
	unsigned up = 64 - bits;

	switch (cond) {
	case IR_COND_EQ:
		EACH(x << up == y << up);
	case IR_COND_NE:
		EACH(x << up != y << up);
	case IR_COND_LTS:
		EACH((int64_t)(x << up) < (int64_t)(y << up));
	case IR_COND_LES:
		EACH((int64_t)(x << up) <= (int64_t)(y << up));
	case IR_COND_GTS:
		EACH((int64_t)(x << up) > (int64_t)(y << up));
	case IR_COND_GES:
		EACH((int64_t)(x << up) >= (int64_t)(y << up));
	case IR_COND_LTU:
		EACH(x << up < y << up);
	case IR_COND_LEU:
		EACH(x << up <= y << up);
	case IR_COND_GTU:
		EACH(x << up > y << up);
	case IR_COND_GEU:
		EACH(x << up >= y << up);
	default:
		return false;
	}
	return true;
}

static void logic(unsigned table, const uint64_t *const v[SOURCES], uint64_t *out)
{
	memset(out, 0, GW_LANES * sizeof(*out));
	for (unsigned t = 0; t < 8; t++)
		for (unsigned i = 0; table >> t & 1 && i < GW_LANES; i++)
			out[i] |= (t & 4 ? v[0][i] : ~v[0][i]) & (t & 2 ? v[1][i] : ~v[1][i]) &
				  (t & 1 ? v[2][i] : ~v[2][i]);
}

static bool shift(enum gw_ir_op op, unsigned bits, const uint64_t *a, const uint64_t *b,
		  uint64_t *out)
{
	switch (op) {
	case IR_SHL:
		EACH((uint32_t)y < bits ? x << (uint32_t)y : 0);
	case IR_SHRU:
		EACH((uint32_t)y < bits ? gw_low_bits(x, bits) >> (uint32_t)y : 0);
	case IR_SHRS:
		EACH(gw_signed_bits(x, bits) >> ((uint32_t)y < bits ? (uint32_t)y : bits - 1));
	default:
		return false;
	}
	return true;
}

/* Products, which in 64 bits are exact for sources of up to 32. */
static bool multiply(enum gw_ir_op op, unsigned bits, const uint64_t *a, const uint64_t *b,
		     uint64_t *out)
{
	if (op != IR_MUL && bits > 32)
		return false;
	switch (op) {
	case IR_MUL:
		EACH(x * y);
	case IR_MULWS:
		EACH(gw_signed_bits(x, bits) * gw_signed_bits(y, bits));
	case IR_MULWU:
		EACH(gw_low_bits(x, bits) * gw_low_bits(y, bits));
	case IR_MULHS:
		EACH((gw_signed_bits(x, bits) * gw_signed_bits(y, bits)) >> bits);
	case IR_MULHU:
		EACH((gw_low_bits(x, bits) * gw_low_bits(y, bits)) >> bits);
	default:
		return false;
	}
	return true;
}

static bool plain(enum gw_ir_op op, unsigned bits, const uint64_t *const v[SOURCES], uint64_t *out)
{
	const uint64_t *a = v[0], *b = v[1];

	switch (op) {
	case IR_MOV:
	case IR_ZEXT:
		memcpy(out, a, GW_LANES * sizeof(*out));
		break;
	case IR_NOT:
		for (unsigned i = 0; i < GW_LANES; i++)
			out[i] = ~a[i];
		break;
	case IR_SEXT:
		for (unsigned i = 0; i < GW_LANES; i++)
			out[i] = (uint64_t)gw_signed_bits(a[i], bits);
		break;
	case IR_AND:
		EACH(x & y);
	case IR_OR:
		EACH(x | y);
	case IR_XOR:
		EACH(x ^ y);
	case IR_ADD:
		EACH(x + y);
	case IR_SUB:
		EACH(x - y);
	case IR_SEL:
		for (unsigned i = 0; i < GW_LANES; i++)
			out[i] = a[i] & 1 ? b[i] : v[2][i];
		break;
	default:
		return false;
	}
	return true;
}

/* Bits of the result before the register has its say. */
static unsigned width_of(enum gw_ir_op op, unsigned bits)
{
	switch (op) {
	case IR_MULWS:
	case IR_MULWU:
		return 2 * bits;
	case IR_SEXT:
		return 64;
	case IR_CMP:
		return 1;
	default:
		return bits;
	}
}

bool gw_eval_lanes(const struct gw_ir_insn *insn, unsigned to,
		   const struct gw_value *const in[GW_SOURCES_MAX], uint32_t mask,
		   struct gw_value *out)
{
	enum gw_ir_op op = (enum gw_ir_op)insn->op;
	unsigned bits = insn->bits, width = width_of(op, bits);
	static const uint64_t none[GW_LANES];
	uint64_t room[SOURCES][GW_LANES], most;
	const uint64_t *v[SOURCES] = {none, none, none};

	if (insn->uses > SOURCES)
		return false;
	for (unsigned s = 0; s < insn->uses; s++)
		if (!numbers(in[s], mask, room[s], &v[s]))
			return false;
	if (op == IR_LOP3)
		logic(insn->aux, v, out->v);
	else if (op == IR_CMP
			 ? !compare(insn->aux, bits, v[0], v[1], out->v)
			 : !plain(op, bits, v, out->v) && !shift(op, bits, v[0], v[1], out->v) &&
				   !multiply(op, bits, v[0], v[1], out->v))
		return false;
	/* As elsewhere a selection is as wide as its sides. */
	most = gw_low_bits(~UINT64_C(0), width < to || op == IR_SEL ? width : to);
	for (unsigned i = 0; i < GW_LANES; i++)
		out->v[i] &= most;
	memset(out->base, 0, sizeof(out->base));
	return true;
}
