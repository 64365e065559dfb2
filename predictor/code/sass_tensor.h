/* SPDX-License-Identifier: Apache-2.0 */
/* Operand type and size of tensor instructions. */
#ifndef GW_CODE_SASS_TENSOR_H
#define GW_CODE_SASS_TENSOR_H

#include "predictor/code/sass.h"

/** Fill @p insn's `tensor` and `tensor_flops`; it is one of the class TENSOR. */
void gw_sass_tensor(struct gw_sass_insn *insn);

#endif
