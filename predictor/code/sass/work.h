/*
 * The work of a launch as far as its machine code determines it: what the blocks are made of, times
 * how often they run (the evaluator's counts), and the schedule of its warps. Rows of memory
 * traffic are not among them.
 */
#ifndef GW_CODE_SASS_WORK_H
#define GW_CODE_SASS_WORK_H

#include "predictor/code/eval/eval.h"
#include "predictor/code/sass/lower.h"
#include "predictor/code/timing/schedule.h"
#include "predictor/core/types.h"

/** What a launch's work is read off. */
struct gw_sass_launch {
	const struct gw_cfg *cfg;
	const struct gw_schedule
		*schedule; /**< of it; NULL: rows of a warp's critical path stay unknown */
	const struct gw_sass_lowered *lowered; /**< what was evaluated */
	const struct gw_eval_report *report;   /**< of the launch */
	struct gw_config config;
};

/** The instructions of a row of work.def that stands for pipes, from those of each pipe; NaN for
 *  every other row. */
double gw_sass_pipe_sum(enum gw_work_field row, const double pipe[GW_SASS_PIPES]);

/** The same of a row of tensor operations, from @p flops of each type. */
double gw_sass_tensor_sum(enum gw_work_field row, const double flops[GW_SASS_TENSORS]);

/** Instructions at the head of block @p block of @p cfg up to where lanes that parted meet again
 *  (BSYNC, counted in): each part of a warp runs them for itself. 0: there is none. */
uint32_t gw_sass_head(const struct gw_cfg *cfg, uint32_t block);

/** How often, by @p report, parts of warps come to the head of block @p at of @p program beside
 *  the ones that its runs count. */
struct gw_eval_count gw_sass_parts(const struct gw_ir_program *program,
				   const struct gw_eval_report *report, uint32_t at);

/**
 * Add to @p runs, an element for each block of @p cfg, how often those of @p program's blocks that
 * bear its number run, by @p blocks of an evaluation, over @p warps: the middle where that is a
 * range; of functions and calls of them the least.
 */
void gw_sass_runs(const struct gw_ir_program *program, const struct gw_cfg *cfg,
		  const struct gw_eval_block *blocks, double warps, double *runs);

/**
 * Set the rows of a warp's critical path: cycles, waits, loads in flight, of a mean warp whose
 * blocks ran as @p mean says, and of the longest, the same. @p insts: instructions of the mean
 * warp. @p sure: how sure the counts are; cycles, which hold for a warp alone, are less so.
 */
void gw_sass_critical_path(const struct gw_cfg *cfg, const struct gw_schedule *schedule,
			   const double *mean, const double *longest, double insts, double sure,
			   struct gw_work *work);

/**
 * Set the rows of @p work that can be determined, with GW_SOURCE_STATIC. Rows whose counts are not
 * settled (a branch depends on memory, a called function runs, a limit was reached) are left as
 * they are. Confidence: 1 for exact counts of warp instructions; less for thread instructions where
 * lanes may be off, for sampled grids, and for cycles, which hold for a warp alone. A NULL return
 * says that rows were set, else it is a static text of why none were, or of a path that
 * @p arena has no room for.
 */
const char *gw_sass_work(const struct gw_sass_launch *launch, struct gw_arena *arena,
			 struct gw_work *work);

#endif
