/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/code/timing/waits.h"

#include "predictor/code/sass/cfg.h"

/*
 * The memory order of a load, bits 77 to 80, as compiled code has it. Before sm_80: 77 and 78 the
 * scope, 79 and 80 the order, 2 being strong. From sm_80 on one field: 0 weak, 4 constant, others
 * strong in some scope.
 */
static bool is_strong(const struct gw_sass_insn *insn)
{
	if (insn->sm < 80)
		return gw_sass_bits(insn, 79, 2) == 2;
	return gw_sass_bits(insn, 77, 4) != 0 && gw_sass_bits(insn, 77, 4) != 4;
}

/* Global or generic: shared and local memory are the kernel's own. */
static bool is_outside(const struct gw_sass_insn *insn)
{
	return insn->space == GW_SASS_SPACE_GLOBAL || insn->space == GW_SASS_SPACE_GENERIC;
}

/* What makes an instruction part of a wait when it is repeated; NULL for nothing. */
static const char *waits_in_loop(const struct gw_sass_insn *insn)
{
	if (insn->cls == GW_SASS_LOAD && is_outside(insn) && is_strong(insn))
		return "a loop reads what others may write meanwhile";
	if (insn->cls == GW_SASS_ATOMIC && is_outside(insn) && insn->def_count)
		return "a loop uses the results of atomic operations";
	return NULL;
}

static const char *look_at(const struct gw_cfg *cfg, const struct gw_cfg_block *block)
{
	/* A function that was not inlined may be called from a loop. */
	bool repeated = block->loop != GW_CFG_NONE || block->entry != 0;
	struct gw_sass_insn insn;
	const char *why;

	if (block->end == GW_CFG_CALL && block->call == GW_CFG_NONE)
		return "it calls a function elsewhere";
	for (uint32_t i = 0; i < block->count; i++) {
		if (!gw_cfg_insn(cfg, block->first + i, &insn))
			return "it holds instructions that are not known";
		if (insn.op == GW_SASS_OP_NANOSLEEP)
			return "it sleeps";
		why = repeated ? waits_in_loop(&insn) : NULL;
		if (why)
			return why;
	}
	return NULL;
}

const char *gw_code_waits(const struct gw_code_kernel *kernel, struct gw_arena *arena)
{
	struct gw_fault fault = {0};
	struct gw_cfg cfg;
	const char *why = NULL;

	if (!gw_cfg_build(&cfg, kernel->code, kernel->arch.number, arena, &fault))
		return "its code can't be read";
	if (cfg.unknown_jumps || cfg.irreducible)
		return "where its code jumps is not known";
	for (uint32_t i = 0; i < cfg.block_count && !why; i++)
		if (cfg.blocks[i].entry != GW_CFG_NONE)
			why = look_at(&cfg, &cfg.blocks[i]);
	return why;
}
