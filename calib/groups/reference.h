/*
 * Operands of the timed operations, and their correct results (reference.def): a microbenchmark
 * with wrong arithmetic times something else.
 */
#ifndef GW_CALIB_REFERENCE_H
#define GW_CALIB_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** How an operand lies in memory. */
enum gw_format {
	GW_FORMAT_F32,
	GW_FORMAT_F64,
	GW_FORMAT_F16,  /**< two alike in a word */
	GW_FORMAT_BF16, /**< two alike in a word */
	GW_FORMAT_S32,
	GW_FORMAT_S64,
	GW_FORMAT_ADDRESS,
	GW_FORMAT_MMA_F16, /**< tensor operations: sums in x, factors in b and c */
	GW_FORMAT_MMA_BF16,
	GW_FORMAT_MMA_TF32,
	GW_FORMAT_MMA_E4M3,
	GW_FORMAT_MMA_S8,
	GW_FORMAT_MMA_F64,
};

/** An operation's row. */
struct gw_reference {
	const char *name;
	enum gw_format format;
	double low, high;                             /**< of x over the lanes */
	double b, c;                                  /**< the constants */
	double tolerance;                             /**< relative; 0: every bit */
	double (*real)(double x, double b, double c); /**< one step; NULL: whole */
	uint64_t (*whole)(uint64_t x, uint64_t b, uint64_t c);
};

/** The row of @p operation; NULL when there is none. */
const struct gw_reference *gw_reference_of(const char *operation);

/**
 * Fill a kernel's input (shape.h): 32 first operands, 32 times b, 32 times c, each of @p bytes.
 * Of tensor operations every element of a factor is the constant.
 */
void gw_reference_operands(const struct gw_reference *r, size_t bytes, void *in);

/**
 * Fill @p words with factors of a tensor operation, random but finite and of similar size, from
 * a generator that always gives the same.
 */
void gw_reference_random(const struct gw_reference *r, uint32_t *words, size_t count);

/** @p value in the operation's constant format, repeated over a 32-bit word; not for f64. */
uint32_t gw_reference_word(const struct gw_reference *r, double value);

/**
 * Are the @p count results in @p out right after @p steps steps? Each thread has @p chains of
 * them, one after the other; number k of thread t began with the first operand of lane
 * (t + k) % 32. False with the number of the first that is wrong in *bad.
 */
bool gw_reference_agrees(const struct gw_reference *r, size_t bytes, const void *out, size_t count,
			 unsigned chains, unsigned steps, size_t *bad);

/** @p x rounded to @p digits binary digits, to nearest even. */
double gw_reference_rounded(double x, int digits);

#endif
