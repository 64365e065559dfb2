/* One lane's arithmetic: the exact meaning of the intermediate form's operations (ir.def). */
#ifndef GW_CODE_EVAL_SCALAR_H
#define GW_CODE_EVAL_SCALAR_H

#include "predictor/code/ir/ir.h"

/** The low @p bits of @p v. */
static inline uint64_t gw_low_bits(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

/** The low @p bits of @p v as a signed number. */
static inline int64_t gw_signed_bits(uint64_t v, unsigned bits)
{
	uint64_t sign;

	if (bits >= 64 || !bits)
		return (int64_t)v;
	sign = UINT64_C(1) << (bits - 1);
	return (int64_t)((gw_low_bits(v, bits) ^ sign) - sign);
}

/** Compute @p op, one of those with a single def that depends on its sources alone, from @p in.
 *  @p to is the width of the register written, bits. False: the result is not defined. */
bool gw_scalar(enum gw_ir_op op, unsigned bits, unsigned aux, unsigned to, const uint64_t in[4],
	       uint64_t *out);

/** gw_scalar()'s frequent part, for @p n values side by side. False: another operation. */
bool gw_scalar_lanes(enum gw_ir_op op, unsigned bits, unsigned aux, unsigned to, unsigned n,
		     const uint64_t *const v[3], uint64_t *out);

/** gw_scalar()'s part for floats. False: not a float's operation, or not followed. */
bool gw_scalar_float(enum gw_ir_op op, unsigned bits, unsigned aux, const uint64_t in[4],
		     uint64_t *out);

/** Comparison @p cond of two integers of @p bits. */
bool gw_scalar_compare(enum gw_ir_cond cond, unsigned bits, uint64_t a, uint64_t b);

/** The operation has a gw_scalar() form. */
bool gw_is_scalar(enum gw_ir_op op);

#endif
