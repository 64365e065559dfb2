/* Rows of work.def that stand for the critical path of one warp, by the compiler's own schedule. */
#include "predictor/code/sass/work.h"
#include "predictor/code/static_work.h"

#include <math.h>

/*
 * Of cycles, beside how sure the counts are: they are those of a warp alone, at idle latencies. Of
 * the launches of the development set that `bounds` calls bound by latency, counts settled, its
 * estimates were within 25% for 57%: this times the factor of the model itself.
 */
static const double alone = 0.7;

/*
 * Where it isn't known whether a function is called, it counts as not called: what compilers leave
 * behind such a branch are the rare cases of divisions and roots.
 */
static bool is_rare(const struct gw_cfg_block *block)
{
	return block->entry != 0 || block->end == GW_CFG_CALL;
}

void gw_sass_runs(const struct gw_ir_program *program, const struct gw_cfg *cfg,
		  const struct gw_eval_block *blocks, double warps, double *runs)
{
	for (uint32_t b = 0; b < program->block_count; b++) {
		uint32_t tag = program->blocks[b].tag;

		if (tag < cfg->block_count)
			runs[tag] +=
				(is_rare(&cfg->blocks[tag]) ? blocks[b].runs.least
							    : gw_gather_mean(&blocks[b].runs)) /
				warps;
	}
}

/* Loads that a warp waits for, and those that it has outstanding then, mean over its waits. */
static void set_loads(const struct gw_cfg *cfg, const struct gw_schedule *schedule,
		      const double *runs, double sure, struct gw_work *work)
{
	double waits = 0, in_flight = 0;

	for (uint32_t b = 0; b < cfg->block_count; b++) {
		const struct gw_schedule_block *s = &schedule->blocks[b];

		if (!(runs[b] > 0) || !s->waits)
			continue;
		waits += runs[b] * s->waits;
		in_flight += runs[b] * s->waits * s->in_flight;
	}
	gw_static_set(work, GW_WORK_warp_memory_chain, waits, sure);
	if (waits > 0)
		gw_static_set(work, GW_WORK_warp_loads_in_flight, fmax(in_flight / waits, 1), sure);
}

void gw_sass_critical_path(const struct gw_cfg *cfg, const struct gw_schedule *schedule,
			   const double *mean, const double *longest, double insts, double sure,
			   struct gw_work *work)
{
	struct gw_critical_path path = gw_schedule_critical_path(schedule, cfg, mean);

	gw_static_set(work, GW_WORK_warp_insts, insts, sure);
	gw_static_set(work, GW_WORK_warp_cycles, path.cycles, sure * alone);
	gw_static_set(work, GW_WORK_warp_fixed_cycles, path.fixed, sure * alone);
	gw_static_set(work, GW_WORK_warp_fixed_chain, path.chain, sure);
	set_loads(cfg, schedule, mean, sure, work);
	path = gw_schedule_critical_path(schedule, cfg, longest);
	gw_static_set(work, GW_WORK_warp_cycles_longest, path.cycles, sure * alone);
	gw_static_set(work, GW_WORK_warp_longest_fixed_cycles, path.fixed, sure * alone);
	gw_static_set(work, GW_WORK_warp_longest_chain, path.chain, sure);
}
