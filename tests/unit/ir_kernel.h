/* Kernels of the intermediate form, written by hand for tests. */
#ifndef GW_IR_KERNEL_H
#define GW_IR_KERNEL_H

#include "predictor/code/ir/ir.h"

enum { IR_KERNEL_PARAMS = 6 /**< parameters of 8 bytes each */ };

struct ir_kernel {
	struct gw_arena arena;
	struct gw_ir_builder b;
};

/** Begin a kernel: its parameters declared, its first block open. */
void ir_begin(struct ir_kernel *k);

/** Value of parameter @p index. */
gw_ir_operand ir_param(struct ir_kernel *k, unsigned index);

/** An operation of two operands on @p bits, into a new register of @p to. */
gw_ir_operand ir_op(struct ir_kernel *k, enum gw_ir_op op, unsigned bits, unsigned to,
		    gw_ir_operand a, gw_ir_operand b);
gw_ir_operand ir_special(struct ir_kernel *k, enum gw_ir_sreg sreg);
gw_ir_operand ir_number(struct ir_kernel *k, uint64_t value);

/** Load 4 bytes at @p base + @p offset; the register loaded. */
gw_ir_operand ir_load(struct ir_kernel *k, enum gw_ir_space space, gw_ir_operand base,
		      uint64_t offset);
/** Store 4 bytes at @p base. */
void ir_store(struct ir_kernel *k, enum gw_ir_space space, gw_ir_operand base, gw_ir_operand value);

/** 4 * (ctaid.x * ntid.x + tid.x) as 64 bits, and the index itself. */
gw_ir_operand ir_thread_offset(struct ir_kernel *k, gw_ir_operand *index);

#endif
