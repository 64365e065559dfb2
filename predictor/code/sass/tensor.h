/* Operand type and size of tensor instructions. */
#ifndef GW_CODE_SASS_TENSOR_H
#define GW_CODE_SASS_TENSOR_H

#include "predictor/code/sass/sass.h"

/** Fill @p insn's `tensor` and `tensor_flops`; it is one of the class TENSOR. */
void gw_sass_tensor(struct gw_sass_insn *insn);

/** Whether @p insn is a matrix operation of a warp group. */
bool gw_sass_is_group(const struct gw_sass_insn *insn);

/** Operations of one warp: of a warp group's a quarter. */
double gw_sass_warp_flops(const struct gw_sass_insn *insn);

/** The columns of its result; 0: not known. */
unsigned gw_sass_group_columns(const struct gw_sass_insn *insn);

#endif
