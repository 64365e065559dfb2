#include "ir_kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void ir_begin(struct ir_kernel *k)
{
	gw_arena_init(&k->arena, 256 << 20);
	assert_true(gw_ir_builder_init(&k->b, &k->arena));
	for (uint32_t i = 0; i < IR_KERNEL_PARAMS; i++)
		gw_ir_add_param(&k->b,
				&(struct gw_ir_param){.offset = 8 * i, .size = 8, .align = 8});
	k->b.program.param_bytes = 8 * IR_KERNEL_PARAMS;
	gw_ir_block_open(&k->b);
}

static struct gw_ir_insn memory(enum gw_ir_op op, enum gw_ir_space space, unsigned bytes)
{
	return (struct gw_ir_insn){.op = (uint16_t)op,
				   .bits = (uint8_t)(8 * bytes),
				   .space = (uint8_t)space,
				   .width = (uint8_t)bytes,
				   .elements = 1};
}

gw_ir_operand ir_param(struct ir_kernel *k, unsigned index)
{
	gw_ir_operand def = gw_ir_reg(&k->b, 64);
	gw_ir_operand use[2] = {gw_ir_const(&k->b, 8 * index), gw_ir_const(&k->b, 0)};

	gw_ir_append(&k->b, memory(IR_LD, IR_SPACE_PARAM, 8), &def, 1, use, 2);
	return def;
}

gw_ir_operand ir_op(struct ir_kernel *k, enum gw_ir_op op, unsigned bits, unsigned to,
		    gw_ir_operand a, gw_ir_operand b)
{
	return gw_ir_emit(&k->b, op, bits, 0, gw_ir_reg(&k->b, to), 2, a, b);
}

gw_ir_operand ir_special(struct ir_kernel *k, enum gw_ir_sreg sreg)
{
	return gw_ir_emit(&k->b, IR_SREG, 32, sreg, gw_ir_reg(&k->b, 32), 0);
}

gw_ir_operand ir_number(struct ir_kernel *k, uint64_t value)
{
	return gw_ir_const(&k->b, value);
}

gw_ir_operand ir_load(struct ir_kernel *k, enum gw_ir_space space, gw_ir_operand base,
		      uint64_t offset)
{
	gw_ir_operand def = gw_ir_reg(&k->b, 32), use[2] = {base, gw_ir_const(&k->b, offset)};

	gw_ir_append(&k->b, memory(IR_LD, space, 4), &def, 1, use, 2);
	return def;
}

void ir_store(struct ir_kernel *k, enum gw_ir_space space, gw_ir_operand base, gw_ir_operand value)
{
	gw_ir_operand use[3] = {base, gw_ir_const(&k->b, 0), value};

	gw_ir_append(&k->b, memory(IR_ST, space, 4), NULL, 0, use, 3);
}

gw_ir_operand ir_thread_offset(struct ir_kernel *k, gw_ir_operand *index)
{
	gw_ir_operand block = ir_special(k, IR_SREG_CTAID_X), size = ir_special(k, IR_SREG_NTID_X);

	*index = ir_op(k, IR_ADD, 32, 32, ir_op(k, IR_MUL, 32, 32, block, size),
		       ir_special(k, IR_SREG_TID_X));
	return ir_op(k, IR_MULWS, 32, 64, *index, ir_number(k, 4));
}
