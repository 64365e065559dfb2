/* The most frequent operations, for all lanes of a warp at once. */
#include "predictor/code/eval/state.h"

#include <string.h>

enum { SOURCES = 3 };
__extension__ typedef unsigned __int128 gw_uwide;

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
	for (unsigned i = 0; i < n; i++) { \
		uint64_t x = a[i], y = b[i]; \
		out[i] = (uint64_t)(expression); \
	} \
	break

/* A comparison of numbers; floats' own have no meaning. */
static void compare(unsigned cond, unsigned bits, unsigned n, const uint64_t *a, const uint64_t *b,
		    uint64_t *out)
{
	/* a > b is b < a, and a <= b is not. */
	enum {
		SWAP = 1 << IR_COND_LES | 1 << IR_COND_GTS | 1 << IR_COND_LEU | 1 << IR_COND_GTU,
		NOT = 1 << IR_COND_NE | 1 << IR_COND_LES | 1 << IR_COND_GES | 1 << IR_COND_LEU |
		      1 << IR_COND_GEU
	};
	const uint64_t turned = NOT >> cond & 1, *first = a;
	/* At the top of a word signed numbers of any width compare as they are. */
	unsigned up = 64 - bits;

	if (SWAP >> cond & 1) {
		a = b;
		b = first;
	}
	if (cond <= IR_COND_NE)
		for (unsigned i = 0; i < n; i++)
			out[i] = (a[i] << up == b[i] << up) ^ turned;
	else if (cond <= IR_COND_GES)
		for (unsigned i = 0; i < n; i++)
			out[i] = ((int64_t)(a[i] << up) < (int64_t)(b[i] << up)) ^ turned;
	else if (cond <= IR_COND_GEU)
		for (unsigned i = 0; i < n; i++)
			out[i] = (a[i] << up < b[i] << up) ^ turned;
	else
		memset(out, 0, n * sizeof(*out));
}

static void logic(unsigned table, unsigned n, const uint64_t *const v[SOURCES], uint64_t *out)
{
	memset(out, 0, n * sizeof(*out));
	for (unsigned t = 0; t < 8; t++)
		for (unsigned i = 0; table >> t & 1 && i < n; i++)
			out[i] |= (t & 4 ? v[0][i] : ~v[0][i]) & (t & 2 ? v[1][i] : ~v[1][i]) &
				  (t & 1 ? v[2][i] : ~v[2][i]);
}

static bool shift(enum gw_ir_op op, unsigned bits, unsigned n, const uint64_t *a, const uint64_t *b,
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

static bool multiply(enum gw_ir_op op, unsigned bits, unsigned n, const uint64_t *a,
		     const uint64_t *b, uint64_t *out)
{
	switch (op) {
	case IR_MUL:
		EACH(x * y);
	case IR_MULWS:
		EACH((uint64_t)gw_signed_bits(x, bits) * (uint64_t)gw_signed_bits(y, bits));
	case IR_MULWU:
		EACH(gw_low_bits(x, bits) * gw_low_bits(y, bits));
	case IR_MULHS:
		EACH((gw_wide)gw_signed_bits(x, bits) * gw_signed_bits(y, bits) >> bits);
	case IR_MULHU:
		EACH((gw_uwide)gw_low_bits(x, bits) * gw_low_bits(y, bits) >> bits);
	default:
		return false;
	}
	return true;
}

/* Parts of wider numbers: does a + b + c carry out of @p bits, or does a - b - c borrow? */
static bool part(enum gw_ir_op op, unsigned bits, unsigned n, const uint64_t *const v[SOURCES],
		 uint64_t *out)
{
	const uint64_t *a = v[0], *b = v[1], *c = v[2], low = gw_low_bits(~UINT64_C(0), bits);

	switch (op) {
	case IR_PACK:
		EACH((x & low) | (bits < 64 ? y << bits : 0));
	case IR_CARRY:
		if (bits == 64) {
			EACH(x + y < x || (x + y == ~UINT64_C(0) && c[i] & 1));
		}
		EACH(((x & low) + (y & low) + (c[i] & 1)) >> bits);
	case IR_BORROW:
		EACH((x & low) < (y & low) || ((x & low) == (y & low) && c[i] & 1));
	default:
		return false;
	}
	return true;
}

static bool plain(enum gw_ir_op op, unsigned bits, unsigned n, const uint64_t *const v[SOURCES],
		  uint64_t *out)
{
	const uint64_t *a = v[0], *b = v[1];

	switch (op) {
	case IR_MOV:
	case IR_ZEXT:
		memcpy(out, a, n * sizeof(*out));
		break;
	case IR_NOT:
		for (unsigned i = 0; i < n; i++)
			out[i] = ~a[i];
		break;
	case IR_SEXT:
		for (unsigned i = 0; i < n; i++)
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
		for (unsigned i = 0; i < n; i++)
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

bool gw_scalar_lanes(enum gw_ir_op op, unsigned bits, unsigned aux, unsigned to, unsigned n,
		     const uint64_t *const v[SOURCES], uint64_t *out)
{
	const unsigned width = width_of(op, bits);
	uint64_t most;

	if (op == IR_LOP3)
		logic(aux, n, v, out);
	else if (op == IR_CMP)
		compare(aux, bits, n, v[0], v[1], out);
	else if (!plain(op, bits, n, v, out) && !shift(op, bits, n, v[0], v[1], out) &&
		 !multiply(op, bits, n, v[0], v[1], out) && !part(op, bits, n, v, out))
		return false;
	/* As elsewhere a selection is as wide as its sides. */
	most = gw_low_bits(~UINT64_C(0), width < to || op == IR_SEL ? width : to);
	for (unsigned i = 0; i < n; i++)
		out[i] &= most;
	return true;
}

bool gw_eval_lanes(const struct gw_ir_insn *insn, unsigned to,
		   const struct gw_value *const in[GW_SOURCES_MAX], uint32_t mask,
		   struct gw_value *out)
{
	static const uint64_t none[GW_LANES];
	uint64_t room[SOURCES][GW_LANES];
	const uint64_t *v[SOURCES] = {none, none, none};

	if (insn->uses > SOURCES)
		return false;
	for (unsigned s = 0; s < insn->uses; s++)
		if (!numbers(in[s], mask, room[s], &v[s]))
			return false;
	if (!gw_scalar_lanes((enum gw_ir_op)insn->op, insn->bits, insn->aux, to, GW_LANES, v,
			     out->v))
		return false;
	memset(out->base, 0, sizeof(out->base));
	return true;
}
