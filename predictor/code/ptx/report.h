/*
 * A launch by its kernel's PTX: memory operations, barriers and atomics, how often loops
 * run, where warps diverge, and how far that is exact. Machine instructions are not claimed: what
 * the assembler makes of PTX only SASS shows.
 */
#ifndef GW_CODE_PTX_REPORT_H
#define GW_CODE_PTX_REPORT_H

#include "predictor/code/eval/eval.h"
#include "predictor/code/ptx/ptx.h"

/** Kinds of what is counted. */
enum gw_access_kind {
	GW_ACCESS_LOAD,
	GW_ACCESS_STORE,
	GW_ACCESS_ATOMIC, /**< with a result */
	GW_ACCESS_REDUCE, /**< an atomic without one */
	GW_ACCESS_PREFETCH,
	GW_ACCESS_KINDS
};

/** Executions by a warp, over the grid. */
struct gw_access_counts {
	struct gw_eval_count by[GW_IR_SPACES][GW_ACCESS_KINDS]; /**< GENERIC: of several spaces, or
								   of one that isn't known */
	struct gw_eval_count barriers[GW_IR_BARRIERS];
};

/** The answer for one launch. */
struct gw_ptx_report {
	struct gw_ptx_kernel kernel;
	struct gw_ir_program program;
	struct gw_eval_report eval;
	struct gw_access_counts counts;
	bool exact; /**< every count is: all warps covered, no way unknown, no limit reached,
		       nothing called that isn't in the text */
};

/** Sum an evaluation's instruction counts by space and kind. */
void gw_access_count(const struct gw_ir_program *program, const struct gw_eval_report *eval,
		     struct gw_access_counts *out);

/** Kind of an instruction; false when it is no access that counts. */
bool gw_access_kind(const struct gw_ir_insn *insn, enum gw_access_kind *kind);

/** Lower-case name of a kind ("load"); never NULL. */
const char *gw_access_name(enum gw_access_kind kind);

/**
 * Parse @p text, lower kernel @p name (NULL: the only one) and evaluate it for @p config with
 * the @p arguments' bytes. @p limits, @p sink as in gw_eval_grid(). Everything belongs to
 * @p arena. False, with @p fault, when it can't be.
 */
bool gw_ptx_evaluate(struct gw_bytes text, const char *name, const struct gw_config *config,
		     struct gw_bytes arguments, const struct gw_eval_limits *limits,
		     gw_eval_sink *sink, void *arg, struct gw_arena *arena,
		     struct gw_ptx_report *out, struct gw_ptx_fault *fault);

#endif
