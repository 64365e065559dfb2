/*
 * Accesses of the warps of a launch, one warp after the other, where many are alike: one that was
 * run is kept with its accesses, and those it stands for (gw_eval_alike) make them again, at
 * addresses of their own, without being run.
 */
#ifndef GW_WARP_EQUIVALENCE_H
#define GW_WARP_EQUIVALENCE_H

#include "predictor/code/eval/eval.h"

enum {
	GW_ALIKE_RUNS = 64,     /**< warps kept at a time */
	GW_ALIKE_EVENTS = 4096, /**< accesses of all of them; a warp with more stands for none */
};

/** What a warp came to. */
struct gw_warp_equivalence_report {
	bool complete;  /**< it ran to its end */
	bool halted;    /**< limits.go_on returned false: not all accesses were passed on */
	uint64_t steps; /**< instructions run for it; of one not run its accesses */
};

/** What @p eval runs, with what is kept of it; NULL when @p arena has no room. Of @p limits only
 * `go_on` counts, asked about every GW_EVAL_ASK accesses. */
struct gw_warp_equivalence;
struct gw_warp_equivalence *gw_warp_equivalence_new(struct gw_eval *eval,
						    const struct gw_eval_limits *limits,
						    struct gw_arena *arena);

/** Pass the accesses of one warp to @p sink, in order, as gw_eval_warp() does. NULL, or why
 * not. */
const char *gw_warp_equivalence_warp(struct gw_warp_equivalence *alike, struct gw_dim3 block,
				     uint32_t warp, gw_eval_sink *sink, void *arg,
				     struct gw_warp_equivalence_report *out);

#endif
