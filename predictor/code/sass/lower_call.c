/*
 * Calls in machine code. A function that was not inlined stands behind its kernel, takes and gives
 * back what it likes in registers, and returns to the instruction after the call: so a copy of its
 * blocks at each call is what the call does. The bounds keep code that calls much from growing.
 */
#include "predictor/code/sass/lower_parts.h"

#include <string.h>

enum {
	DEPTH = 8,               /* calls inside calls */
	TAKEN_IN_MOST = 1 << 16, /* instructions of all copies */
};

/* A call that is passed over: all that the function at @p entry, and those it calls, may write. */
static void opaque_call(struct gw_lowering *l, uint32_t entry)
{
	bool written[GW_SASS_PLACES] = {false}, all = entry == GW_CFG_NONE;
	struct gw_ir_insn anywhere = {
		.op = IR_ST, .bits = 8, .space = IR_SPACE_FRAME, .width = 1, .elements = 1};
	struct gw_sass_insn insn;
	gw_ir_operand uses[3];

	uses[0] = gw_lower_unknown(l, 32, "a function that is called writes it");
	uses[1] = uses[2] = gw_ir_const(&l->b, 0);
	gw_ir_append(&l->b, anywhere, NULL, 0, uses, 3);
	for (uint32_t b = 0; b < l->cfg->block_count && !all; b++) {
		const struct gw_cfg_block *block = &l->cfg->blocks[b];

		if (block->entry != entry)
			continue;
		all = block->end == GW_CFG_CALL || block->end == GW_CFG_INDIRECT;
		for (uint32_t i = block->first; i < block->first + block->count; i++) {
			gw_cfg_insn(l->cfg, i, &insn);
			all |= insn.op == GW_SASS_OP_UNKNOWN;
			for (unsigned d = 0; d < insn.def_count; d++)
				memset(written + insn.defs[d].first, true, insn.defs[d].count);
		}
	}
	for (unsigned place = 0; place < GW_SASS_PLACES; place++)
		if ((all && l->place[place] != GW_IR_NONE) || written[place])
			gw_lower_opaque_place(l, place, "a function that is called writes it");
}

/* Whether the function at @p entry is being run where the function at hand is. */
static bool is_running(const struct gw_lowering *l, uint32_t entry)
{
	uint32_t f = l->function;

	while (l->functions[f].entry != entry && f != l->functions[f].caller)
		f = l->functions[f].caller;
	return l->functions[f].entry == entry;
}

/* Blocks of the function at @p entry, its instructions; false when it leads to blocks of others. */
static bool measure(const struct gw_cfg *cfg, uint32_t entry, struct gw_lowered_function *out,
		    uint32_t *insns)
{
	uint32_t first = cfg->block_count, last = 0;

	*insns = 0;
	for (uint32_t b = 0; b < cfg->block_count; b++) {
		const struct gw_cfg_block *block = &cfg->blocks[b];

		if (block->entry != entry)
			continue;
		first = b < first ? b : first;
		last = b;
		*insns += block->count;
		for (uint32_t k = 0; k < block->succ_count; k++)
			if (cfg->blocks[cfg->edges[block->succ_first + k]].entry != entry)
				return false;
	}
	*out = (struct gw_lowered_function){.entry = entry, .first = first};
	out->blocks = first <= last ? last - first + 1 : 0;
	return out->blocks != 0;
}

static bool take_in(struct gw_lowering *l, uint32_t entry, uint32_t after, uint32_t *begin)
{
	uint32_t insns, depth = l->functions[l->function].depth + 1;
	struct gw_lowered_function f;

	if (depth > DEPTH || l->function_count == GW_LOWERED_FUNCTIONS || is_running(l, entry) ||
	    !measure(l->cfg, entry, &f, &insns) || insns + f.blocks > TAKEN_IN_MOST - l->taken_in)
		return false;
	f.after = after;
	f.caller = l->function;
	f.depth = depth;
	l->taken_in += insns + f.blocks;
	f.base = l->b.program.block_count;
	for (uint32_t b = 0; b < f.blocks; b++) {
		uint32_t block = gw_ir_block_new(&l->b);

		if (!l->b.failed)
			l->b.program.blocks[block].tag = f.first + b;
	}
	l->functions[l->function_count++] = f;
	*begin = f.base + (entry - f.first);
	return true;
}

/* Why the function that is called at the end of @p block was not taken in. */
static const char *left_out(const struct gw_lowering *l, const struct gw_cfg_block *block)
{
	struct gw_sass_insn insn;

	gw_cfg_insn(l->cfg, block->first + block->count - 1, &insn);
	if (block->call != GW_CFG_NONE)
		return is_running(l, block->call) ? "a function that calls itself is not followed"
						  : "more functions are called than are followed";
	if (gw_lower_outside(l, block))
		return "a function of the driver's is called, as by printf";
	return insn.form == 4 ? "a function is called that lies elsewhere"
			      : "a function is called by a register, so which one is not known";
}

bool gw_lower_call(struct gw_lowering *l, const struct gw_cfg_block *block, uint32_t after,
		   uint32_t *begin)
{
	uint32_t entry = l->functions[l->function].entry;

	if (block->call != GW_CFG_NONE && block->call != entry &&
	    l->cfg->blocks[block->call].entry == entry) {
		*begin = gw_lower_block_of(l, block->call); /* a jump within the function */
		return true;
	}
	if (block->call != GW_CFG_NONE && take_in(l, block->call, after, begin))
		return true;
	if (!l->calls)
		l->calls = left_out(l, block);
	opaque_call(l, block->call);
	return false;
}
