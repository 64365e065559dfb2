/*
 * The evaluator: runs chosen warps of a launch through the intermediate form. Arguments, thread
 * and block indices are concrete; memory contents are not known. Each lane's value is a number, or
 * an unknown base plus a number (a loaded pointer plus an offset), or unknown with the instruction
 * and the reason that made it so.
 *
 * Beside its value a register carries its exact linear dependence on the block's indices, on the
 * warp's index and on the iteration of the loops being run, as long as it has one. Each decision
 * (branch, guard, selection) then holds not only here but in a box of neighbouring warps, blocks
 * and iterations, and the box is kept where the decision stays the same. So one warp stands for
 * all those in its box, and a loop of a billion equal iterations is run three times, and neither
 * is an approximation: what can't be shown to hold is run.
 *
 * Where a branch is unknown both sides are run, as "may": counts then have a least and a most, and
 * a loop that such a branch ends has no most. Registers written there are unknown afterwards.
 */
#ifndef GW_CODE_EVAL_H
#define GW_CODE_EVAL_H

#include "predictor/code/binary/bytes.h"
#include "predictor/code/eval/tensor_map.h"
#include "predictor/code/ir/ir.h"
#include "predictor/core/types.h"

enum {
	GW_LANES = 32,
	GW_EVAL_LOOPS = 4, /**< nested loops whose iterations may be stood for at a time */
	GW_EVAL_AXES = 4,  /**< in which a warp's like lie: warps of the block, blocks in x, y, z */
};

/** A launch to evaluate. */
struct gw_eval_launch {
	struct gw_config config;
	struct gw_bytes arguments;     /**< the kernel's parameter bytes, by offset; may be short */
	const uint8_t *argument_known; /**< one flag per byte of them; NULL: all are known */
	const double *block_cost; /**< of each basic block, what an execution by a warp costs, to
				       find the longest warp; NULL: its source instructions */
};

/** Bounds of one evaluation; zero: the default. */
struct gw_eval_limits {
	uint64_t steps;      /**< warp instructions of one gw_eval_grid (default 4,000,000) */
	uint64_t warp_steps; /**< of one warp (default 1,000,000) */
	uint32_t warps;      /**< warps that are run (default 16384) */
	/** Asked about every GW_EVAL_ASK steps, so that who has other things to do can do them
	 * meanwhile; false: stop, as when the steps of all are spent. NULL: never asked. */
	bool (*go_on)(void *arg);
	void *go_on_arg;
};
enum { GW_EVAL_ASK = 256 };

/** Iterations that one event stands for: `count` executions, a step of `step` bytes apart. */
struct gw_eval_repeat {
	uint64_t count; /**< at least 1 */
	int64_t step;   /**< what each address grows by from one to the next */
	bool linear;    /**< the step is known; else only the first execution's address is */
};

/** Address base of a lane, that is what has to be added to its `address`: nothing, since the
 *  address is a number; anything, since it is not known. Between them: numbers of unknown bases. */
#define GW_BASE_NONE    UINT32_C(0)
#define GW_BASE_UNKNOWN UINT32_MAX

/** A tile that a copy through a tensor map moves. */
struct gw_eval_tile {
	const struct gw_tensor_map *map; /**< the evaluator's; NULL: not known */
	bool placed; /**< where the tile lies is known, of all iterations that are stood for */
	uint8_t receivers; /**< blocks of the cluster that get it, 1 without a cluster; 0: not known
			    */
	int32_t at[GW_TENSOR_RANK];                  /**< coordinates of its first element */
	int32_t step[GW_EVAL_LOOPS][GW_TENSOR_RANK]; /**< their growth with each of `repeat` */
};

/** One execution of a memory instruction by a warp. */
struct gw_eval_access {
	uint32_t insn;               /**< index in the program's insns[] */
	const struct gw_ir_insn *op; /**< that instruction */
	enum gw_ir_space space;      /**< resolved: a generic address that is known to be shared,
					  local or constant says so; else generic ones are global */
	struct gw_dim3 block;        /**< of the grid */
	uint32_t warp;               /**< of the block */
	uint32_t active;             /**< lanes that may execute it */
	uint32_t certain;            /**< lanes of these that surely do */
	uint64_t address[GW_LANES]; /**< of each active lane's first byte, less its base; bytes of a
					 lane are op->width * op->elements, contiguous */
	uint32_t base[GW_LANES];    /**< GW_BASE_NONE, GW_BASE_UNKNOWN, or the number of an unknown
					 base: lanes (and accesses of this warp) with the same number
					 have the same */
	uint64_t bytes;             /**< of a bulk copy, when known; else 0 */
	struct gw_eval_tile tile;   /**< of a copy through a tensor map */
	uint32_t repeats;           /**< enclosing loops whose iterations this stands for */
	struct gw_eval_repeat repeat[GW_EVAL_LOOPS]; /**< outermost first */
	bool unbounded; /**< in a loop whose trip count is unknown: repeats are the least */
	/** What each address grows by from one warp, and from one block, to the next; only of
	 * gw_eval_alike(), among the warps it answers for. */
	int64_t grows[GW_EVAL_AXES];
};

/** Product of an access's repeats: executions it stands for. */
uint64_t gw_eval_times(const struct gw_eval_access *access);

/** Called for each memory access of the warps that are run, in their order. */
typedef void gw_eval_sink(void *arg, const struct gw_eval_access *access);

/** Called after each run of a grid's warps: the accesses that the sink saw since the last call are
 * those of @p warps warps, at addresses grown by as much as `grows` says from one to the next. */
typedef void gw_eval_ran(void *arg, double warps);

/**
 * A number of executions: at least `least`, at most `most` (infinite: not bounded). `likely` lies
 * between them, by conventions where data decide: lanes that part at a branch whose way is not
 * known go both ways, a warp that does not part one of them; a loop that such a branch ends has
 * GW_EVAL_ROUNDS rounds. Where blocks wait for each other there are GW_EVAL_MEET rounds, and
 * GW_EVAL_MEET_MOST at most: what the others have yet to do is their work.
 */
struct gw_eval_count {
	double least, most, likely;
};
enum { GW_EVAL_ROUNDS = 8, GW_EVAL_MEET = 3, GW_EVAL_MEET_MOST = 8 };

/** What one basic block or instruction did in one warp, or in all of a grid's. */
struct gw_eval_block {
	struct gw_eval_count runs;      /**< executions by a warp */
	struct gw_eval_count divergent; /**< of its ending branch, with lanes going both ways */
};

/** Trips of one loop (gw_ir_program.loops[]): executions of its header per entry. */
struct gw_eval_trips {
	double entries;     /**< times the loop was entered, surely */
	double least, most; /**< header's executions in an entry; infinite when not bounded */
	double total;       /**< header's executions, surely */
	bool unknown;       /**< an unknown branch decides it */
	bool extrapolated;  /**< iterations were stood for, shown to be alike */
};

/** Why an answer is not exact, in the order found. */
struct gw_eval_reason {
	enum gw_why why;
	uint32_t block;  /**< the basic block whose decision or end it concerns */
	uint32_t source; /**< source number of the deciding instruction */
	uint32_t origin; /**< source number of the instruction that the unknown value comes from;
			      UINT32_MAX: none */
};
enum { GW_EVAL_REASONS = 16 };

/** The share of a grid that was covered. */
enum gw_eval_coverage {
	GW_COVER_EXACT,   /**< every warp was run or stood for */
	GW_COVER_SAMPLED, /**< chosen warps were run; the totals are scaled up from them */
	GW_COVER_NONE,    /**< no warp could be run to its end */
};

/** What a grid does. Arrays belong to the arena given. */
struct gw_eval_report {
	enum gw_eval_coverage coverage;
	bool control_known; /**< no branch or guard that counts was unknown in the warps run */
	bool awaits;   /**< waits were found, for an mbarrier or registers: a round of each counts
			* once
			*/
	bool complete; /**< no limit was reached in the warps run */
	double sure;   /**< how likely the counts are within 25% of the grid's, as far as that hangs
			  on which warps were run: 1 where all were */
	uint64_t warps;                /**< of the grid */
	uint64_t warps_run;            /**< evaluated */
	uint64_t warps_covered;        /**< run or stood for */
	uint64_t steps;                /**< warp instructions evaluated */
	struct gw_eval_block *blocks;  /**< per basic block, sum over the grid's warps */
	struct gw_eval_block *longest; /**< per basic block, of the costliest warp (by `least`) */
	struct gw_eval_block *first;   /**< per basic block, sum over the warps of block (0,0,0) */
	uint32_t first_warps;          /**< warps in it: those of a block, or fewer were run */
	struct gw_eval_trips *trips;   /**< per loop, over the grid */
	struct gw_eval_count *insns;  /**< per instruction of the program: executions by a warp with
					 at  least one lane whose guard held, sum over the grid */
	uint16_t *spaces;             /**< per instruction: bit of each enum gw_ir_space that its
					   accesses went to, as far as generic addresses show */
	struct gw_dim3 longest_block; /**< where the costliest warp is */
	uint32_t longest_warp;
	double longest_cost, mean_cost; /**< in block_cost's unit; NaN when no warp was run */
	struct gw_eval_count
		branches; /**< conditional branches executed by a warp, over the grid */
	struct gw_eval_count divergent; /**< of these, with lanes going both ways */
	struct gw_eval *eval;  /**< what ran the warps, which may run more of the launch's */
	uint32_t reason_count; /**< of reasons[]; distinct */
	struct gw_eval_reason reasons[GW_EVAL_REASONS];
};

/** What one warp does; arrays as in struct gw_eval_report, of this warp alone. */
struct gw_eval_warp_report {
	bool complete, control_known, awaits;
	bool halted; /**< go_on returned false: incomplete and not usable */
	uint64_t steps;
	double cost;
	struct gw_eval_block *blocks;
	struct gw_eval_trips *trips;
	struct gw_eval_count *insns;
	uint32_t reason_count;
	struct gw_eval_reason reasons[GW_EVAL_REASONS];
};

/** NULL when the launch can be evaluated, else a static text of why not. */
const char *gw_eval_check(const struct gw_ir_program *program, const struct gw_eval_launch *launch);

/**
 * Evaluate a whole grid: warps are run until all are covered or a limit is reached.
 * @p sink (may be NULL) sees the accesses of the warps that are run, not of those stood for.
 * @p arena holds the answer and the evaluator's state. Returns NULL, or a static text of why
 * nothing could be done (a configuration out of range, no room).
 */
const char *gw_eval_grid(const struct gw_ir_program *program, const struct gw_eval_launch *launch,
			 const struct gw_eval_limits *limits, gw_eval_sink *sink, void *arg,
			 struct gw_arena *arena, struct gw_eval_report *out);

/** An evaluator whose state is used again from warp to warp; NULL when @p arena has no room. The
 * launch is one that gw_eval_check() lets pass. */
struct gw_eval;
struct gw_eval *gw_eval_new(const struct gw_ir_program *program,
			    const struct gw_eval_launch *launch,
			    const struct gw_eval_limits *limits, struct gw_arena *arena);

/** gw_eval_grid() by an evaluator there is. */
const char *gw_eval_grid_by(struct gw_eval *eval, gw_eval_sink *sink, void *arg,
			    struct gw_arena *arena, struct gw_eval_report *out);

/**
 * Run the grid's warps once more for their accesses, within @p steps warp instructions and
 * @p warps warps: each run is announced to @p ran with the number of warps that it stands for.
 * True when every warp of the grid was run or stood for, so that all were announced.
 */
bool gw_eval_accesses(struct gw_eval *eval, uint64_t steps, uint32_t warps, gw_eval_sink *sink,
		      gw_eval_ran *ran, void *arg, struct gw_arena *arena);

/** From now on a grid may take @p steps, a warp @p warp_steps; 0: as before. */
void gw_eval_allow(struct gw_eval *eval, uint64_t steps, uint64_t warp_steps);

/**
 * Run one warp of block @p block. @p sink may be NULL. The report's arrays are the evaluator's and
 * hold until the next call. NULL, or a static text of why not (an index out of range).
 */
const char *gw_eval_warp(struct gw_eval *eval, struct gw_dim3 block, uint32_t warp,
			 gw_eval_sink *sink, void *arg, struct gw_eval_warp_report *out);

/**
 * The same, and how far it holds: the warps up to @p alike further on, along each axis, do what
 * this one does, their accesses those that the sink saw with addresses grown by as much as `grows`
 * says. Zeros: it answers for itself alone.
 */
const char *gw_eval_alike(struct gw_eval *eval, struct gw_dim3 block, uint32_t warp,
			  gw_eval_sink *sink, void *arg, struct gw_eval_warp_report *out,
			  int64_t alike[GW_EVAL_AXES]);

#endif
