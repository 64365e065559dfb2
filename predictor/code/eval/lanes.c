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
	static const gw_base none[GW_LANES];
	uint32_t any = 0;

	if (x->uniform) {
		for (unsigned i = 0; i < GW_LANES; i++)
			room[i] = x->v[0];
		*out = room;
		return !x->base[0];
	}
	*out = x->v;
	if (!memcmp(x->base, none, sizeof(none)))
		return true;
	for (unsigned i = 0; i < GW_LANES; i++)
		any |= x->base[i] & (0 - (mask >> i & 1));
	return !any;
}

#define EACH(expression) \
	for (unsigned i = 0; i < GW_LANES; i++) { \
		uint64_t x = a[i], y = b[i]; \
		out[i] = (uint64_t)(expression); \
	} \
	break

/* A comparison of numbers; false for floats' own. */
static bool compare(unsigned cond, unsigned bits, const uint64_t *a, const uint64_t *b,
		    uint64_t *out)
{
	/* a > b is b < a, and a <= b is not. */
	enum {
		SWAP = 1 << IR_COND_LES | 1 << IR_COND_GTS | 1 << IR_COND_LEU | 1 << IR_COND_GTU,
		NOT = 1 << IR_COND_NE | 1 << IR_COND_LES | 1 << IR_COND_GES | 1 << IR_COND_LEU |
		      1 << IR_COND_GEU
	};
	const uint64_t not = NOT >> cond & 1, *first = a;
	/* At the top of a word signed numbers of any width compare as they are. */
	unsigned up = 64 - bits;

	if (SWAP >> cond & 1) {
		a = b;
		b = first;
	}
	if (cond <= IR_COND_NE)
		for (unsigned i = 0; i < GW_LANES; i++)
			out[i] = (a[i] << up == b[i] << up) ^ not ;
	else if (cond <= IR_COND_GES)
		for (unsigned i = 0; i < GW_LANES; i++)
			out[i] = ((int64_t)(a[i] << up) < (int64_t)(b[i] << up)) ^ not ;
	else if (cond <= IR_COND_GEU)
		for (unsigned i = 0; i < GW_LANES; i++)
			out[i] = (a[i] << up < b[i] << up) ^ not ;
	return cond <= IR_COND_GEU;
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

/* Numbers of up to 32 bits, as parts of wider ones. */
static bool part(enum gw_ir_op op, unsigned bits, const uint64_t *const v[SOURCES], uint64_t *out)
{
	const uint64_t *a = v[0], *b = v[1], *c = v[2], low = gw_low_bits(~UINT64_C(0), bits);

	if (bits > 32)
		return false;
	switch (op) {
	case IR_PACK:
		EACH((x & low) | y << bits);
	case IR_CARRY:
		EACH(((x & low) + (y & low) + (c[i] & 1)) >> bits);
	case IR_BORROW:
		EACH((x & low) < (y & low) + (c[i] & 1));
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
	case IR_PACK:
		return 2 * bits;
	case IR_SEXT:
		return 64;
	case IR_CMP:
	case IR_CARRY:
	case IR_BORROW:
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
				   !multiply(op, bits, v[0], v[1], out->v) &&
				   !part(op, bits, v, out->v))
		return false;
	/* As elsewhere a selection is as wide as its sides. */
	most = gw_low_bits(~UINT64_C(0), width < to || op == IR_SEL ? width : to);
	for (unsigned i = 0; i < GW_LANES; i++)
		out->v[i] &= most;
	memset(out->base, 0, sizeof(out->base));
	return true;
}
