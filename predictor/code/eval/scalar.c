/* Integer, bitwise and predicate operations; the frequent ones are in lanes.c, floats in float.c.
 */
#include "predictor/code/eval/scalar.h"

__extension__ typedef __int128 wide;

bool gw_is_scalar(enum gw_ir_op op)
{
	return op >= IR_MOV && op <= IR_F2F;
}

bool gw_scalar_compare(enum gw_ir_cond cond, unsigned bits, uint64_t a, uint64_t b)
{
	int64_t sa = gw_signed_bits(a, bits), sb = gw_signed_bits(b, bits);

	a = gw_low_bits(a, bits);
	b = gw_low_bits(b, bits);
	switch (cond) {
	case IR_COND_EQ:
		return a == b;
	case IR_COND_NE:
		return a != b;
	case IR_COND_LTS:
		return sa < sb;
	case IR_COND_LES:
		return sa <= sb;
	case IR_COND_GTS:
		return sa > sb;
	case IR_COND_GES:
		return sa >= sb;
	case IR_COND_LTU:
		return a < b;
	case IR_COND_LEU:
		return a <= b;
	case IR_COND_GTU:
		return a > b;
	case IR_COND_GEU:
		return a >= b;
	default: /* floats' own comparisons have no meaning for integers */
		return false;
	}
}

static bool divide(enum gw_ir_op op, unsigned bits, uint64_t a, uint64_t b, uint64_t *out)
{
	int64_t sa = gw_signed_bits(a, bits), sb = gw_signed_bits(b, bits);
	uint64_t ua = gw_low_bits(a, bits), ub = gw_low_bits(b, bits);
	bool is_signed = op == IR_DIVS || op == IR_REMS;

	if (!ub || (is_signed && sb == -1 && ua == UINT64_C(1) << (bits - 1)))
		return false;
	switch (op) {
	case IR_DIVS:
		*out = (uint64_t)(sa / sb);
		break;
	case IR_REMS:
		*out = (uint64_t)(sa % sb);
		break;
	case IR_DIVU:
		*out = ua / ub;
		break;
	default:
		*out = ua % ub;
	}
	return true;
}

static uint64_t clamp(wide v, wide low, wide high)
{
	return (uint64_t)(v < low ? low : v > high ? high : v);
}

static uint64_t saturate(enum gw_ir_op op, unsigned bits, unsigned from, uint64_t a)
{
	wide s = gw_signed_bits(a, from), u = gw_low_bits(a, from);
	wide half = (wide)1 << (bits - 1);

	switch (op) {
	case IR_SATS:
		return clamp(s, -half, half - 1);
	case IR_SATU:
		return clamp(u, 0, 2 * half - 1);
	case IR_SATSU:
		return clamp(s, 0, 2 * half - 1);
	default:
		return clamp(u, 0, half - 1);
	}
}

/* Byte @p n of the selection that a mode other than the default makes from c's low two bits. */
static unsigned permute_selector(unsigned mode, unsigned c, unsigned n)
{
	switch (mode) {
	case 1: /* forward 4 extract */
		return c + n;
	case 2: /* backward 4 extract */
		return (8 + c - n) & 7;
	case 3: /* replicate 8 */
		return c;
	case 4: /* edge clamp left */
		return n > c ? n : c;
	case 5: /* edge clamp right */
		return n < c ? n : c;
	default: /* replicate 16 */
		return (c & 1) * 2 + (n & 1);
	}
}

static uint64_t permute(uint64_t a, uint64_t b, uint64_t c, unsigned mode)
{
	uint64_t from = gw_low_bits(a, 32) | b << 32, out = 0;

	for (unsigned n = 0; n < 4; n++) {
		unsigned pick = (unsigned)(c >> (4 * n)) & 15;
		uint64_t byte;

		if (mode)
			pick = permute_selector(mode, (unsigned)c & 3, n);
		byte = from >> (8 * (pick & 7)) & 255;
		if (pick & 8)
			byte = byte & 128 ? 255 : 0;
		out |= byte << (8 * n);
	}
	return out;
}

static uint64_t extract(bool is_signed, unsigned bits, uint64_t a, uint64_t at, uint64_t length)
{
	unsigned from = (unsigned)(at & 255), count = (unsigned)(length & 255);
	unsigned sign_at = from + count - 1;
	uint64_t out;

	if (!count)
		return 0;
	a = gw_low_bits(a, bits);
	if (sign_at >= bits)
		sign_at = bits - 1;
	out = from < bits ? gw_low_bits(a >> from, count) : 0;
	/* The sign is the field's top bit, or the number's where the field goes beyond it. */
	if (is_signed && a >> sign_at & 1) {
		unsigned have = from < bits ? (count < bits - from ? count : bits - from) : 0;

		out |= have >= 64 ? 0 : ~UINT64_C(0) << have;
	}
	return out;
}

static uint64_t insert(unsigned bits, uint64_t a, uint64_t b, uint64_t at, uint64_t length)
{
	unsigned from = (unsigned)(at & 255), count = (unsigned)(length & 255);
	uint64_t mask;

	if (from >= bits || !count)
		return b;
	mask = gw_low_bits(~UINT64_C(0), count) << from;
	return (b & ~mask) | ((a << from) & mask);
}

static uint64_t reverse(unsigned bits, uint64_t a)
{
	uint64_t out = 0;

	for (unsigned i = 0; i < bits; i++)
		out |= (a >> i & 1) << (bits - 1 - i);
	return out;
}

/* Place of the highest one bit, counted from 0; -1 when there is none. */
static int highest(uint64_t a)
{
	return a ? 63 - __builtin_clzll(a) : -1;
}

static uint64_t count_bits(enum gw_ir_op op, unsigned bits, uint64_t a)
{
	uint64_t low = gw_low_bits(a, bits);
	int64_t s = gw_signed_bits(a, bits);

	switch (op) {
	case IR_POPC:
		return (uint64_t)__builtin_popcountll(low);
	case IR_CLZ:
		return (uint64_t)((int)bits - 1 - highest(low));
	case IR_BFINDU:
		return gw_low_bits((uint64_t)(int64_t)highest(low), 32);
	default:
		return gw_low_bits((uint64_t)(int64_t)highest((uint64_t)(s < 0 ? ~s : s)), 32);
	}
}

static uint64_t lesser_or_greater(enum gw_ir_op op, unsigned bits, uint64_t a, uint64_t b)
{
	bool is_signed = op == IR_MINS || op == IR_MAXS, is_min = op == IR_MINS || op == IR_MINU;
	bool less = gw_scalar_compare(is_signed ? IR_COND_LTS : IR_COND_LTU, bits, a, b);

	return less == is_min ? a : b;
}

/* Those whose result is wider or narrower than `bits`; sets *width. */
static bool resized(enum gw_ir_op op, unsigned bits, const uint64_t in[4], unsigned *width,
		    uint64_t *out)
{
	switch (op) {
	case IR_CLZ:
	case IR_POPC:
	case IR_BFINDS:
	case IR_BFINDU:
		*width = 32;
		*out = count_bits(op, bits, in[0]);
		return true;
	default:
		return false;
	}
}

static bool others(enum gw_ir_op op, unsigned bits, unsigned aux, const uint64_t in[4],
		   uint64_t *out)
{
	switch (op) {
	case IR_ABS:
		*out = gw_signed_bits(in[0], bits) < 0 ? 0 - in[0] : in[0];
		return true;
	case IR_DIVS:
	case IR_DIVU:
	case IR_REMS:
	case IR_REMU:
		return divide(op, bits, in[0], in[1], out);
	case IR_MINS:
	case IR_MINU:
	case IR_MAXS:
	case IR_MAXU:
		*out = lesser_or_greater(op, bits, in[0], in[1]);
		return true;
	case IR_SATS:
	case IR_SATU:
	case IR_SATSU:
	case IR_SATUS:
		*out = saturate(op, bits, aux, in[0]);
		return true;
	case IR_PRMT:
		*out = permute(in[0], in[1], in[2], aux);
		return true;
	case IR_BFES:
	case IR_BFEU:
		*out = extract(op == IR_BFES, bits, in[0], in[1], in[2]);
		return true;
	case IR_BFI:
		*out = insert(bits, in[0], in[1], in[2], in[3]);
		return true;
	case IR_BREV:
		*out = reverse(bits, in[0]);
		return true;
	default:
		return false;
	}
}

bool gw_scalar(enum gw_ir_op op, unsigned bits, unsigned aux, unsigned to, const uint64_t in[4],
	       uint64_t *out)
{
	const uint64_t *const each[] = {&in[0], &in[1], &in[2]};
	unsigned width = bits;

	if (!bits || !gw_is_scalar(op))
		return false;
	if (gw_scalar_lanes(op, bits, aux, to, 1, each, out)) {
		width = 64;
	} else if (!resized(op, bits, in, &width, out) && !others(op, bits, aux, in, out)) {
		if (!gw_scalar_float(op, bits, aux, in, out))
			return false;
		width = op == IR_FCMP ? 1 : bits;
	}
	*out = gw_low_bits(*out, width < to ? width : to);
	return true;
}
