/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code of sm_90 as our own reader of images and our own decoder tell it, in the words of
 * nvdisasm. */
#ifndef GW_TESTS_SASS_DECODED_H
#define GW_TESTS_SASS_DECODED_H

#include <stdbool.h>

#include "predictor/code/binary/bytes.h"
#include "predictor/code/sass/sass.h"
#include "tests/kernels/sass_text.h"

/**
 * Write @p insn as nvdisasm prints it: the operation with the modifiers that sass_spell.def lists.
 * Of the operands only what the checks look at: the first register written and the first read, the
 * clock, the bank of a constant.
 */
void sass_spell(const struct gw_sass_insn *insn, struct sass_instruction *out);

/** Whether sass_spell() knows the modifiers of the operation that @p opcode begins with. */
bool sass_spelled(const char *opcode);

/** Every kernel of every cubin in @p fatbin. False with the reason in *why. */
bool sass_decode(struct gw_bytes fatbin, struct sass_listing *out, const char **why);

#endif
