/*
 * What a launch's memory instructions do, gathered from the evaluator: how often each runs over the
 * grid, what its requests look like to the memory system, and the locality of chosen blocks.
 * Counts are the evaluator's and cover the grid. So do the shapes of requests where each warp of
 * the grid is run or stood for; else they are those of a sample: of all warps of the blocks that
 * gw_locality_choose() picks, and of one more block for each instruction that runs in none of
 * these.
 */
#ifndef GW_CODE_GATHER_H
#define GW_CODE_GATHER_H

#include "predictor/code/memory/coalescing.h"
#include "predictor/code/memory/copies.h"
#include "predictor/code/eval/eval.h"
#include "predictor/code/memory/locality.h"
#include "predictor/code/memory/replay.h"

/** One memory instruction. */
struct gw_gather_access {
	uint32_t insn; /**< index in the program's insns[] */
	uint8_t space; /**< enum gw_ir_space as last seen: global, shared, local or constant */
	bool store;    /**< writes memory; an atomic does too */
	bool atomic;
	struct gw_eval_count runs;       /**< executions by a warp, over the grid */
	struct gw_coalescing coalescing; /**< of the sample; global memory */
	double wavefronts;  /**< of the sample: passes through the data stage, by banks; constant
			       memory: distinct words */
	double conflicts;   /**< of these, beyond what the words would fill; shared memory */
	double sectors;     /**< of the sample; local memory, whose words lie lane by lane */
	uint64_t low, high; /**< of the addresses of the blocks looked at, the least and the most */
	double requests;    /**< of the sample, that were counted */
	double uncounted;   /**< of the sample, with addresses that are not known */
	double lanes;       /**< active in these and those */
	/** Of those counted, taken to be as the first of their loop: the address has no fixed step.
	 */
	double assumed;
	double maybe; /**< of the sample, that may not be made (unknown branch) */
};

/** The answer. Arrays are the arena's. */
struct gw_gather {
	struct gw_gather_access *access;
	uint32_t count;
	struct gw_locality *locality; /**< of global memory, by instruction index */
	bool counted_alone; /**< questions to it are about the requests whose addresses are known */
	struct gw_replay replay;      /**< global loads of the grid's middle block */
	struct gw_tma_copies copies;  /**< of the blocks looked at */
	struct gw_eval_report report; /**< of the whole grid */
	uint32_t blocks;              /**< looked at */
	bool whole;                   /**< the sample is the grid: shapes are of each warp */
	bool complete;                /**< all their warps that were run ran to their ends */
	bool cut;                     /**< the steps ended before all blocks had been looked at */
	bool trial;                   /**< a part of the steps was all (struct gw_gather_limits) */
};

/** Bounds; zero: the default. */
struct gw_gather_limits {
	struct gw_eval_limits eval; /**< of the grid's counts */
	uint32_t blocks;            /**< looked at (default 16, at least 8) */
	uint64_t steps;             /**< warp instructions spent on these (default 2,000,000) */
	/** Steps of one warp where no warp comes to its end within those of `eval`; 0: no more. */
	uint64_t long_warp;
	/** Where data decide what is done, which a part of the steps shows, that part is all: one
	 * in so many of `eval` and of `steps`; 0: all are spent. */
	uint32_t trial;
};

/** Gather. Returns NULL, or a static text of why nothing could be determined. */
const char *gw_gather_run(const struct gw_ir_program *program, const struct gw_eval_launch *launch,
			  const struct gw_gather_limits *limits, struct gw_arena *arena,
			  struct gw_gather *out);

/** Mean of an evaluator's count; NaN when it has no upper bound. */
double gw_gather_mean(const struct gw_eval_count *count);

/** Lanes that a request is of; all, where none was seen. */
double gw_gather_lanes(const struct gw_gather_access *a);

#endif
