/* Lowering what lanes do together, and what waits. */
#include "predictor/code/ptx/lower.h"

#include <string.h>

bool gw_ptx_nothing(struct gw_ptx_lower *l)
{
	struct gw_ir_insn insn = {.op = IR_NOP};

	gw_ir_append(&l->b, insn, NULL, 0, NULL, 0);
	return true;
}

bool gw_ptx_shfl(struct gw_ptx_lower *l)
{
	static const char modes[][5] = {"up", "down", "bfly", "idx"};
	const struct gw_ptx_operand *to = gw_ptx_operand(l, 0);
	bool two = to->kind == PTX_OPERAND_PAIR;
	struct gw_ir_insn insn = {.op = IR_SHFL, .bits = 32, .aux = GW_IR_SPACES};
	gw_ir_operand defs[2], uses[3];

	for (uint16_t n = 0; n < sizeof(modes) / sizeof(*modes); n++)
		if (gw_ptx_has(l, modes[n]))
			insn.aux = n;
	if (insn.aux == GW_IR_SPACES || l->i.bits != 32)
		return gw_ptx_opaque(l, NULL);
	defs[0] = gw_ptx_def(l, two ? gw_ptx_item(l, to, 0) : to);
	defs[1] = two ? gw_ptx_def(l, gw_ptx_item(l, to, 1)) : GW_IR_NONE;
	for (uint32_t n = 0; n < 3; n++)
		uses[n] = gw_ptx_use(l, gw_ptx_operand(l, n + 1), 32);
	gw_ir_append(&l->b, insn, defs, 2, uses, 3);
	return true;
}

bool gw_ptx_vote(struct gw_ptx_lower *l)
{
	static const char modes[][7] = {"all", "any", "uni", "ballot"};
	gw_ir_operand a;

	for (unsigned n = 0; n < sizeof(modes) / sizeof(*modes); n++)
		if (gw_ptx_has(l, modes[n])) {
			a = gw_ptx_use(l, gw_ptx_operand(l, 1), 1);
			gw_ir_emit(&l->b, IR_VOTE, n == 3 ? 32 : 1, n,
				   gw_ptx_def(l, gw_ptx_operand(l, 0)), 1, a);
			return true;
		}
	return gw_ptx_opaque(l, NULL);
}

bool gw_ptx_activemask(struct gw_ptx_lower *l)
{
	gw_ir_emit(&l->b, IR_ACTIVE, 32, 0, gw_ptx_def(l, gw_ptx_operand(l, 0)), 0);
	return true;
}

bool gw_ptx_elect(struct gw_ptx_lower *l)
{
	const struct gw_ptx_operand *to = gw_ptx_operand(l, 0);
	struct gw_ir_insn insn = {.op = IR_ELECT, .bits = 32};
	gw_ir_operand defs[2];

	if (to->kind != PTX_OPERAND_PAIR)
		return gw_ptx_opaque(l, NULL);
	defs[0] = gw_ptx_def(l, gw_ptx_item(l, to, 0));
	defs[1] = gw_ptx_def(l, gw_ptx_item(l, to, 1));
	gw_ir_append(&l->b, insn, defs, 2, NULL, 0);
	return true;
}

static bool barrier(struct gw_ptx_lower *l, enum gw_ir_barrier kind)
{
	struct gw_ir_insn insn = {.op = IR_BAR, .aux = (uint16_t)kind};

	gw_ir_append(&l->b, insn, NULL, 0, NULL, 0);
	return true;
}

/* bar.red returns something; bar.arrive and barrier.cluster.arrive don't wait. */
bool gw_ptx_barrier(struct gw_ptx_lower *l)
{
	if (gw_ptx_has(l, "warp"))
		return barrier(l, IR_BARRIER_WARP);
	if (gw_ptx_has(l, "red") && !gw_ptx_opaque(l, "the result of a barrier's reduction"))
		return false;
	if (gw_ptx_has(l, "cluster"))
		return gw_ptx_has(l, "arrive") ? gw_ptx_nothing(l) : barrier(l, IR_BARRIER_CLUSTER);
	return barrier(l, IR_BARRIER_BLOCK);
}

bool gw_ptx_async_wait(struct gw_ptx_lower *l)
{
	return gw_ptx_has(l, "wait_group") || gw_ptx_has(l, "wait_all")
		       ? barrier(l, IR_BARRIER_ASYNC)
		       : gw_ptx_opaque(l, NULL);
}

bool gw_ptx_mbarrier(struct gw_ptx_lower *l)
{
	struct gw_ir_insn await = {.op = IR_AWAIT};
	gw_ir_operand def = gw_ptx_def(l, gw_ptx_operand(l, 0));

	if (!gw_ptx_has(l, "test_wait") && !gw_ptx_has(l, "try_wait"))
		return gw_ptx_opaque(l, NULL);
	gw_ir_append(&l->b, await, &def, 1, NULL, 0);
	return barrier(l, IR_BARRIER_MEMORY);
}

bool gw_ptx_fence(struct gw_ptx_lower *l)
{
	struct gw_ir_insn insn = {.op = IR_FENCE};

	gw_ir_append(&l->b, insn, NULL, 0, NULL, 0);
	return true;
}
