/* The critical path of a warp where data decide how often its blocks run. */
#include "predictor/code/static_work.h"

#include <math.h>

enum {
	ROUNDS = 8,    /* of a loop */
	DEPTH_MOST = 6 /* nests that are distinguished */
};
static const double nominal = 0.3; /* confidence */

double gw_static_nominal_block(const struct gw_ir_program *program, uint32_t block)
{
	uint32_t loop = program->blocks[block].loop;
	uint32_t depth = loop == GW_IR_NONE ? 0 : program->loops[loop].depth;
	double runs = 1;

	for (uint32_t i = 0; i < depth && i < DEPTH_MOST; i++)
		runs *= ROUNDS;
	return runs;
}

double gw_static_nominal_insn(const struct gw_ir_program *program, uint32_t insn)
{
	for (uint32_t b = 0; b < program->block_count; b++)
		if (insn - program->blocks[b].first < program->blocks[b].count)
			return gw_static_nominal_block(program, b);
	return 0;
}

bool gw_static_nominal(const struct gw_static_in *in, const struct gw_cfg *cfg,
		       const struct gw_schedule *schedule, struct gw_arena *arena,
		       struct gw_work *work)
{
	double *runs = gw_arena_array(arena, cfg->block_count, sizeof(*runs)), insts = 0;
	struct gw_critical_path path;

	if (!runs)
		return false;
	for (uint32_t b = 0; b < in->program->block_count; b++) {
		uint32_t tag = in->program->blocks[b].tag;

		/* Called functions are the rare cases of divisions and roots
		 * (sass/critical_path.c). */
		if (tag < cfg->block_count && cfg->blocks[tag].entry == 0)
			runs[tag] += gw_static_nominal_block(in->program, b);
	}
	for (uint32_t b = 0; b < cfg->block_count; b++)
		insts += runs[b] * cfg->blocks[b].count;
	path = gw_schedule_critical_path(schedule, cfg, runs);
	if (!(insts > 0) || isnan(path.fixed))
		return true;
	gw_static_set(work, GW_WORK_warp_insts, insts, nominal);
	gw_static_set(work, GW_WORK_warp_fixed_cycles, path.fixed, nominal);
	gw_static_set(work, GW_WORK_warp_fixed_chain, path.chain, nominal);
	return true;
}
