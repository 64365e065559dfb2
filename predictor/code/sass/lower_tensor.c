/*
 * Copies that the tensor memory accelerator makes beside the warp, one for the whole warp: bulk
 * copies of as many bytes as a register says, and tiles of a tensor, whose coordinates are in
 * registers. Only the side of global memory is modelled.
 */
#include "predictor/code/sass/lower_parts.h"

enum {
	SIZE_MASK = 0xffff, /* of a bulk copy's size register; above: the blocks that get it */
	SIZE_UNIT = 4,      /* it counts 2^4 bytes */
	SHARED_TO_GLOBAL = 2,
	GLOBAL_TO_SHARED = 1,
};

static void copy(struct gw_lowering *l, enum gw_ir_op op, unsigned flags, gw_ir_operand address,
		 const gw_ir_operand *rest, unsigned count)
{
	struct gw_ir_insn insn = {.op = (uint16_t)op,
				  .space = IR_SPACE_GLOBAL,
				  .flags = (uint8_t)(IR_MEM_ASYNC | IR_MEM_BULK | flags),
				  .elements = 1};
	gw_ir_operand uses[3 + GW_TENSOR_RANK] = {address, gw_ir_const(&l->b, 0)};

	for (unsigned i = 0; i < count; i++)
		uses[2 + i] = rest[i];
	gw_lower_append(l, insn, NULL, 0, uses, 2 + count);
}

/* [registers], [map]: an address in shared memory and an mbarrier, as far as there are any, come
 * before the coordinates. */
static void tile(struct gw_lowering *l, enum gw_ir_op op, unsigned flags, unsigned before)
{
	unsigned rank = (unsigned)gw_sass_bits(&l->insn, 79, 3) + 1, count;
	gw_ir_operand at[GW_TENSOR_RANK + 1];

	rank = rank < GW_TENSOR_RANK ? rank : GW_TENSOR_RANK;
	for (count = 0; count < rank; count++)
		at[count] = gw_lower_uniform(l, 32, before + count);
	if (l->insn.op == GW_SASS_OP_UTMALDG && gw_sass_bits(&l->insn, 75, 1)) {
		at[count++] = gw_lower_uniform(l, 64, 0);
		flags |= IR_MEM_MATRIX;
	}
	copy(l, op, flags | IR_MEM_TENSOR, gw_lower_pair(l, 24, true), at, count);
}

static void bulk(struct gw_lowering *l, enum gw_ir_op op, unsigned flags, unsigned address)
{
	gw_ir_operand size = GW_LOWER(l, AND, 32, 0, 2, gw_lower_reg(l, 64, true),
				      gw_ir_const(&l->b, SIZE_MASK));

	size = GW_LOWER(l, SHL, 32, 0, 2, size, gw_ir_const(&l->b, SIZE_UNIT));
	copy(l, op, flags, gw_lower_pair(l, address, true), &size, 1);
}

bool gw_lower_tensor(struct gw_lowering *l)
{
	unsigned way = (unsigned)gw_sass_bits(&l->insn, 73, 2);

	if (l->insn.sm < 90 || l->insn.sm >= 100)
		return false;
	switch (l->insn.op) {
	case GW_SASS_OP_UTMALDG:
		tile(l, IR_LD, 0, 2);
		return true;
	case GW_SASS_OP_UTMASTG:
		tile(l, IR_ST, 0, 1);
		return true;
	case GW_SASS_OP_UTMAREDG:
		tile(l, IR_RED, 0, 1);
		return true;
	case GW_SASS_OP_UTMAPF:
		tile(l, IR_LD, IR_MEM_PREFETCH, 0);
		return true;
	case GW_SASS_OP_UBLKPF:
		bulk(l, IR_LD, IR_MEM_PREFETCH, 24);
		return true;
	case GW_SASS_OP_UBLKRED:
		bulk(l, IR_RED, 0, 32);
		return true;
	case GW_SASS_OP_UBLKCP: /* between shared memories otherwise */
		if (way == GLOBAL_TO_SHARED)
			bulk(l, IR_LD, 0, 24);
		else if (way == SHARED_TO_GLOBAL)
			bulk(l, IR_ST, 0, 32);
		return way == GLOBAL_TO_SHARED || way == SHARED_TO_GLOBAL;
	default:
		return false;
	}
}
