/* What the groups of instructions share. */
#ifndef GW_CALIB_INSTRUCTION_H
#define GW_CALIB_INSTRUCTION_H

#include "calib/groups/operation.h"

enum { GW_SINGLES = 5 }; /**< operations that Sanchez Gil 2017 times one at a time */

/** Result of Sanchez Gil's method for one operation by one warp, cycles; NaN without one. */
struct gw_single {
	const char *name;
	double mean;    /**< of the convolved distribution, which is that of the difference */
	double wide;    /**< its standard deviation */
	double narrow;  /**< sqrt(var Z - var Y), the operation's own */
	double medians; /**< plain difference of the medians */
};

/**
 * Sanchez Gil's distributions of its five operations, over blocks and block sizes (figs. 35 to 39),
 * as samples; what one warp gives in @p out.
 */
void gw_instruction_singles(struct gw_lab *lab, struct gw_single out[GW_SINGLES]);

/** The curves of 1 to 8 independent operations (table 12). */
void gw_instruction_pipelines(struct gw_lab *lab);

/**
 * What an SM does of kernel @p f in a cycle: @p per_turn counted for each warp and turn of its
 * loop. Up to @p count samples, each the median over the SMs; returns how many it got.
 */
size_t gw_instruction_rate(struct gw_lab *lab, CUfunction f, unsigned threads, unsigned shared,
			   double per_turn, double *rate, size_t count);

#endif
