/*
 * Floats of 32 and 64 bits as far as they decide control: exact operations, rounded to nearest
 * even, never depending on the process's rounding mode beyond its default. A result that is no
 * number has the bits the hardware gives it.
 */
#include "predictor/code/eval/scalar.h"

#include <math.h>
#include <string.h>

#define NAN32 UINT64_C(0x7fffffff)
#define NAN64 UINT64_C(0x7ff8000000000000)

static double number(uint64_t v, unsigned bits)
{
	uint32_t low = (uint32_t)v;
	double d;
	float f;

	if (bits == 64) {
		memcpy(&d, &v, sizeof(d));
		return d;
	}
	memcpy(&f, &low, sizeof(f));
	return (double)f;
}

/* @p d as a float of @p bits; it must be one exactly, or have been rounded by the caller. */
static uint64_t pattern(double d, unsigned bits)
{
	float f = (float)d;
	uint32_t low;
	uint64_t v;

	if (isnan(d))
		return bits == 64 ? NAN64 : NAN32;
	if (bits == 64) {
		memcpy(&v, &d, sizeof(v));
		return v;
	}
	memcpy(&low, &f, sizeof(low));
	return low;
}

static bool compare(enum gw_ir_cond cond, double a, double b)
{
	bool unordered = isnan(a) || isnan(b);

	switch (cond) {
	case IR_COND_EQ:
		return a == b;
	case IR_COND_NE:
		return !unordered && a != b;
	case IR_COND_LTS:
		return a < b;
	case IR_COND_LES:
		return a <= b;
	case IR_COND_GTS:
		return a > b;
	case IR_COND_GES:
		return a >= b;
	case IR_COND_LTU:
		return unordered || a < b;
	case IR_COND_LEU:
		return unordered || a <= b;
	case IR_COND_GTU:
		return unordered || a > b;
	case IR_COND_GEU:
		return unordered || a >= b;
	case IR_COND_EQU:
		return unordered || a == b;
	case IR_COND_NEU:
		return unordered || a != b;
	case IR_COND_NUM:
		return !unordered;
	case IR_COND_NAN:
		return unordered;
	default:
		return false;
	}
}

static double round_integral(double d, unsigned how)
{
	switch (how) {
	case IR_ROUND_ZERO:
		return trunc(d);
	case IR_ROUND_DOWN:
		return floor(d);
	case IR_ROUND_UP:
		return ceil(d);
	default:
		return nearbyint(d);
	}
}

/* A number that was rounded to nearest: the neighbour that direction @p how asks for, given that
 * the true value lies @p above (> 0) or below (< 0) it. */
static double redirect(double d, int above, unsigned how, unsigned bits)
{
	double to;

	if (!above || how == IR_ROUND_NEAREST)
		return d;
	if (how == IR_ROUND_ZERO)
		how = d > 0 || (d == 0 && above > 0) ? IR_ROUND_DOWN : IR_ROUND_UP;
	if ((above > 0) != (how == IR_ROUND_UP))
		return d;
	to = above > 0 ? (double)INFINITY : -(double)INFINITY;
	return bits == 64 ? nextafter(d, to) : (double)nextafterf((float)d, (float)to);
}

/* @p bits of float from an integer given by sign and magnitude. */
static uint64_t from_integer(bool negative, uint64_t magnitude, unsigned bits, unsigned how)
{
	/* One rounding, to the width wanted. */
	double d = bits == 64 ? (double)magnitude : (double)(float)magnitude;
	/* 2^64 is what the greatest magnitudes round to; it doesn't fit back. */
	bool over = d >= 0x1p64;
	uint64_t back = over ? 0 : (uint64_t)d;
	int above = over ? -1 : magnitude > back ? 1 : magnitude < back ? -1 : 0;

	return pattern(negative ? redirect(-d, -above, how, bits) : redirect(d, above, how, bits),
		       bits);
}

static uint64_t to_integer(bool is_signed, double d, unsigned bits, unsigned how, unsigned from)
{
	double limit = ldexp(1, (int)bits - (is_signed ? 1 : 0));

	if (isnan(d)) /* where either side has 64 bits, the top bit alone */
		return from == 64 || bits == 64 ? UINT64_C(1) << (bits - 1) : 0;
	d = round_integral(d, how);
	if (is_signed) {
		if (d >= limit)
			return gw_low_bits(~UINT64_C(0), bits - 1);
		return d < -limit ? UINT64_C(1) << (bits - 1) : (uint64_t)(int64_t)d;
	}
	if (d >= limit)
		return gw_low_bits(~UINT64_C(0), bits);
	return d <= 0 ? 0 : (uint64_t)d;
}

static uint64_t narrow(double d, unsigned bits, unsigned how)
{
	double to;

	if (bits == 64)
		return pattern(d, 64);
	to = (double)(float)d;
	return pattern(redirect(to, d > to ? 1 : d < to ? -1 : 0, how, 32), 32);
}

static uint64_t lesser(double a, double b, unsigned bits, bool greater)
{
	if (isnan(a) || isnan(b))
		return pattern(isnan(a) ? b : a, bits);
	if (a == b) /* of two zeros, -0 is the lesser */
		return pattern((signbit(a) != 0) != greater ? a : b, bits);
	return pattern((a < b) != greater ? a : b, bits);
}

/* In 32 bits a sum, product or quotient of two floats rounded to double first is the same as one
 * rounded once; a fused one isn't, hence fmaf. */
static uint64_t arithmetic(enum gw_ir_op op, unsigned bits, double a, double b, double c)
{
	switch (op) {
	case IR_FADD:
		return pattern(a + b, bits);
	case IR_FMUL:
		return pattern(a * b, bits);
	case IR_FDIV:
		return pattern(a / b, bits);
	case IR_FSQRT:
		return pattern(sqrt(a), bits);
	case IR_FFMA:
		if (bits == 32)
			return pattern((double)fmaf((float)a, (float)b, (float)c), 32);
		return pattern(fma(a, b, c), 64);
	case IR_FMIN:
	case IR_FMAX:
		return lesser(a, b, bits, op == IR_FMAX);
	default: /* FSAT */
		return pattern(isnan(a) || a <= 0 ? 0 : a > 1 ? 1 : a, bits);
	}
}

static bool is_float(unsigned bits)
{
	return bits == 32 || bits == 64;
}

static uint64_t signed_to_float(uint64_t v, unsigned from, unsigned bits, unsigned how)
{
	int64_t s = gw_signed_bits(v, from);

	return from_integer(s < 0, s < 0 ? 0 - (uint64_t)s : (uint64_t)s, bits, how);
}

bool gw_scalar_float(enum gw_ir_op op, unsigned bits, unsigned aux, const uint64_t in[4],
		     uint64_t *out)
{
	unsigned from = aux & 255, how = aux >> 8;
	uint64_t sign = UINT64_C(1) << (bits - 1);

	switch (op) {
	case IR_S2F:
		*out = signed_to_float(in[0], from, bits, how);
		return is_float(bits);
	case IR_U2F:
		*out = from_integer(false, gw_low_bits(in[0], from), bits, how);
		return is_float(bits);
	case IR_F2S:
	case IR_F2U:
		*out = to_integer(op == IR_F2S, number(in[0], from), bits, how, from);
		return is_float(from);
	case IR_F2F:
		*out = narrow(number(in[0], from), bits, how);
		return is_float(bits) && is_float(from);
	case IR_FNEG:
		*out = in[0] ^ sign;
		return is_float(bits);
	case IR_FABS:
		*out = in[0] & ~sign;
		return is_float(bits);
	case IR_FCMP:
		*out = compare((enum gw_ir_cond)aux, number(in[0], bits), number(in[1], bits));
		return is_float(bits);
	case IR_FRINT:
		*out = pattern(round_integral(number(in[0], bits), aux), bits);
		return is_float(bits);
	default:
		if (op < IR_FADD || op > IR_FSAT || !is_float(bits))
			return false;
		*out = arithmetic(op, bits, number(in[0], bits), number(in[1], bits),
				  number(in[2], bits));
		return true;
	}
}
