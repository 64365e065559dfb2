#include "calib/groups/reference.h"

#include <math.h>
#include <string.h>

#include "kernels/shape.h"

/* A step as a function: not every step uses both constants. */
#define FLOATING(name, format, low, high, b0, c0, tolerance, step) \
	static double real_##name(double x, double b, double c) \
	{ \
		(void)b; \
		(void)c; \
		return step; \
	}
#define WHOLE(name, format, low, high, b0, c0, step) \
	static uint64_t whole_##name(uint64_t x, uint64_t b, uint64_t c) \
	{ \
		(void)b; \
		(void)c; \
		return step; \
	}
#include "calib/groups/reference.def"
#undef FLOATING
#undef WHOLE

static const struct gw_reference rows[] = {
#define FLOATING(name, format, low, high, b, c, tolerance, step) \
	{#name, GW_FORMAT_##format, low, high, b, c, tolerance, real_##name, NULL},
#define WHOLE(name, format, low, high, b, c, step) \
	{#name, GW_FORMAT_##format, low, high, b, c, 0, NULL, whole_##name},
#include "calib/groups/reference.def"
#undef FLOATING
#undef WHOLE
};

const struct gw_reference *gw_reference_of(const char *operation)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(rows[i].name, operation))
			return &rows[i];
	return NULL;
}

double gw_reference_rounded(double x, int digits)
{
	int exponent;

	if (x == 0 || !isfinite(x))
		return x;
	frexp(x, &exponent);
	return ldexp(nearbyint(ldexp(x, digits - exponent)), exponent - digits);
}

static uint32_t bits_of(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Normal numbers only, which is all that reference.def gives. */
static uint32_t narrow(double value, int exponent_bits, int digits)
{
	int exponent, bias = (1 << (exponent_bits - 1)) - 1, fraction_bits = digits - 1;
	double fraction = frexp(gw_reference_rounded(fabs(value), digits), &exponent);

	if (value == 0)
		return 0;
	return (uint32_t)(value < 0) << (exponent_bits + fraction_bits) |
	       (uint32_t)(exponent - 1 + bias) << fraction_bits |
	       ((uint32_t)ldexp(fraction, digits) & ((1u << fraction_bits) - 1));
}

static double widened(uint32_t bits, int exponent_bits, int digits)
{
	int fraction_bits = digits - 1, bias = (1 << (exponent_bits - 1)) - 1;
	uint32_t fraction = bits & ((1u << fraction_bits) - 1);
	int exponent = (int)(bits >> fraction_bits & ((1u << exponent_bits) - 1));
	double x = ldexp(1 + ldexp(fraction, -fraction_bits), exponent - bias);

	return bits >> (exponent_bits + fraction_bits) & 1 ? -x : x;
}

uint32_t gw_reference_word(const struct gw_reference *r, double value)
{
	switch (r->format) {
	case GW_FORMAT_F32:
	case GW_FORMAT_MMA_TF32:
		return bits_of((float)value);
	case GW_FORMAT_F16:
	case GW_FORMAT_MMA_F16:
		return narrow(value, 5, 11) * 0x10001u;
	case GW_FORMAT_BF16:
	case GW_FORMAT_MMA_BF16:
		return narrow(value, 8, 8) * 0x10001u;
	case GW_FORMAT_MMA_E4M3:
		return narrow(value, 4, 4) * 0x1010101u;
	case GW_FORMAT_MMA_S8:
		return (uint32_t)value * 0x1010101u;
	default:
		return (uint32_t)value;
	}
}

/* The sum's elements of a tensor operation, or @p value itself, in @p bytes at @p to. */
static void put(const struct gw_reference *r, size_t bytes, double value, bool factor, void *to)
{
	uint64_t whole = (uint64_t)value;
	uint32_t word = gw_reference_word(r, value);

	if (!factor && r->format >= GW_FORMAT_MMA_F16)
		word = r->format == GW_FORMAT_MMA_S8 ? (uint32_t)value : bits_of((float)value);
	if (r->format == GW_FORMAT_F64 || r->format == GW_FORMAT_MMA_F64)
		for (size_t at = 0; at < bytes; at += sizeof(value))
			memcpy((char *)to + at, &value, sizeof(value));
	else if (r->format == GW_FORMAT_S64)
		memcpy(to, &whole, sizeof(whole));
	else
		for (size_t at = 0; at < bytes; at += sizeof(word))
			memcpy((char *)to + at, &word, sizeof(word));
}

/* First operand of a lane. */
static double first_operand(const struct gw_reference *r, unsigned lane)
{
	double x = r->low + (r->high - r->low) * lane / (GW_LANES - 1);

	switch (r->format) {
	case GW_FORMAT_F32:
		return gw_reference_rounded(x, 24);
	case GW_FORMAT_F16:
		return gw_reference_rounded(x, 11);
	case GW_FORMAT_BF16:
		return gw_reference_rounded(x, 8);
	case GW_FORMAT_F64:
		return x;
	default:
		/* A tensor operation adds up all lanes: they must not differ. */
		return r->format >= GW_FORMAT_MMA_F16 ? r->low : floor(x);
	}
}

void gw_reference_operands(const struct gw_reference *r, size_t bytes, void *in)
{
	for (unsigned lane = 0; lane < GW_LANES; lane++) {
		char *at = (char *)in + lane * bytes;

		put(r, bytes, first_operand(r, lane), false, at);
		put(r, bytes, r->b, true, at + GW_LANES * bytes);
		put(r, bytes, r->c, true, at + 2 * GW_LANES * bytes);
	}
}

void gw_reference_random(const struct gw_reference *r, uint32_t *words, size_t count)
{
	/*
	 * Bits of a word that are random, and bits that are set: sign and fraction and some of the
	 * exponent, so that numbers are between 2^-7 and 2.
	 */
	static const struct {
		enum gw_format format;
		uint32_t random, set;
	} masks[] = {
		{GW_FORMAT_MMA_F16, 0x8fff8fff, 0x30003000},
		{GW_FORMAT_MMA_BF16, 0x83ff83ff, 0x3c003c00},
		{GW_FORMAT_MMA_TF32, 0x83ffffff, 0x3c000000},
		{GW_FORMAT_MMA_E4M3, 0xbfbfbfbf, 0},
		{GW_FORMAT_MMA_S8, 0xffffffff, 0},
	};
	uint64_t state = 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < count; i++) {
		/* The generator is splitmix64. */
		uint64_t z = state += 0x9e3779b97f4a7c15u;
		uint32_t bits;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
		z = (z ^ z >> 27) * 0x94d049bb133111ebu;
		bits = (uint32_t)(z >> 32);
		for (size_t m = 0; m < sizeof(masks) / sizeof(*masks); m++)
			if (masks[m].format == r->format)
				words[i] = (bits & masks[m].random) | masks[m].set;
	}
}

/* Binary digits of a result; 0: whole. */
static int digits_of(enum gw_format format)
{
	switch (format) {
	case GW_FORMAT_F16:
		return 11;
	case GW_FORMAT_BF16:
		return 8;
	case GW_FORMAT_F64:
	case GW_FORMAT_MMA_F64:
		return 53;
	case GW_FORMAT_S32:
	case GW_FORMAT_S64:
	case GW_FORMAT_ADDRESS:
	case GW_FORMAT_MMA_S8:
		return 0;
	default:
		return 24;
	}
}

/* The value that stands at @p at. */
static double real_at(enum gw_format format, const void *at)
{
	double wide;
	uint32_t word;

	if (format == GW_FORMAT_F64 || format == GW_FORMAT_MMA_F64) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&word, at, sizeof(word));
	if (format == GW_FORMAT_F16)
		return widened(word & 0xffff, 5, 11);
	if (format == GW_FORMAT_BF16)
		return widened(word & 0xffff, 8, 8);
	return (double)float_of(word);
}

static uint64_t whole_at(const void *at, size_t bytes)
{
	uint64_t wide = 0;

	memcpy(&wide, at, bytes == sizeof(wide) ? sizeof(wide) : sizeof(uint32_t));
	return wide;
}

/* Operands that the kernel reports: equally spaced from thread to thread. */
static bool evenly_spaced(size_t bytes, const void *out, size_t count, size_t *bad)
{
	const char *at = out;
	uint64_t first = whole_at(at, bytes),
		 step = count > 1 ? whole_at(at + bytes, bytes) - first : 0;

	for (*bad = 0; *bad < count; ++*bad)
		if (whole_at(at + *bad * bytes, bytes) != first + *bad * step)
			return false;
	return true;
}

bool gw_reference_agrees(const struct gw_reference *r, size_t bytes, const void *out, size_t count,
			 unsigned chains, unsigned steps, size_t *bad)
{
	int digits = digits_of(r->format);
	double real[GW_LANES];
	uint64_t whole[GW_LANES];
	uint64_t mask = r->format == GW_FORMAT_S64 ? UINT64_MAX : UINT32_MAX;

	if (r->format == GW_FORMAT_ADDRESS)
		return evenly_spaced(bytes, out, count, bad);
	for (unsigned lane = 0; lane < GW_LANES; lane++) {
		real[lane] = first_operand(r, lane);
		whole[lane] = (uint64_t)real[lane];
		for (unsigned i = 0; i < steps && r->real; i++)
			real[lane] = gw_reference_rounded(r->real(real[lane], r->b, r->c), digits);
		for (unsigned i = 0; i < steps && r->whole; i++)
			whole[lane] = r->whole(whole[lane], (uint64_t)r->b, (uint64_t)r->c) & mask;
	}
	for (*bad = 0; *bad < count; ++*bad) {
		const char *at = (const char *)out + *bad * bytes;
		size_t lane = (*bad / chains + *bad % chains) % GW_LANES;

		if (r->whole ? whole_at(at, bytes) != whole[lane]
			     : !(fabs(real_at(r->format, at) - real[lane]) <=
				 r->tolerance * fabs(real[lane])))
			return false;
	}
	return true;
}
