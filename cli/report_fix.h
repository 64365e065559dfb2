/* SPDX-License-Identifier: Apache-2.0 */
/* What to fix first: the kernels with the most time to gain, each with what its evidence says. */
#ifndef GW_REPORT_FIX_H
#define GW_REPORT_FIX_H

#include "cli/report.h"

enum { GW_FIXES = 3 }; /**< told of a report */

/** One thing to fix. */
struct gw_fix {
	const struct gw_row *row;
	double share;   /**< of the GPU time of all kernels */
	double gain;    /**< share of that time that the row's headroom is */
	char text[512]; /**< a sentence: the kernel, what bounds it, why, with numbers */
};

/**
 * The first of what to fix, by share of time and headroom; rows without a verdict, and those with
 * less than 1% of the time to gain, are none. Returns how many.
 */
unsigned gw_report_fixes(const struct gw_report *report, struct gw_fix out[GW_FIXES]);

/** What bounds a row, in words and numbers: "memory-bound (dram 2.10 of 4.52 TB/s)". */
void gw_bound_text(const struct gw_row_bound *bound, char *out, size_t size);

/** Why, as far as its work tells; empty when it does not. */
void gw_bound_cause(const struct gw_row_bound *bound, char *out, size_t size);

#endif
