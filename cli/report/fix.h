/*
 * What to fix first: the kernels with the most time to gain, each with what its evidence says;
 * short launches all together, and the time in which the GPU is starved.
 */
#ifndef GW_REPORT_FIX_H
#define GW_REPORT_FIX_H

#include "cli/report/report.h"

enum { GW_FIXES = 3 }; /**< at most in a report */

/** What a thing to fix is about. */
enum gw_fix_kind {
	GW_FIX_KERNEL, /**< a row, by its verdict */
	GW_FIX_SHORT,  /**< all short launches (GW_SHORT); shares of the GPU time of all kernels */
	GW_FIX_LATE,   /**< the GPU starved; shares of the time without pauses */
	GW_FIX_INPUT,  /**< the GPU waited for input; shares of all time */
};

/** One thing to fix. */
struct gw_fix {
	enum gw_fix_kind kind;
	const struct gw_row *row; /**< the kernel; of short launches the one with most of them;
				     NULL: none */
	double share;             /**< of the GPU time of all kernels, or as the kind says */
	double gain;              /**< share of that time that may be gained: the row's headroom */
	char text[512];           /**< a sentence: the kernel, what bounds it, why, with numbers */
};

/** Short lower-case name of a kind, for JSON. */
const char *gw_fix_name(enum gw_fix_kind kind);

/**
 * The first of what to fix, by what there is to gain of the time without pauses; rows without a
 * verdict, and what has less than 1% to gain, are none. Returns how many.
 */
unsigned gw_report_fixes(const struct gw_report *report, struct gw_fix out[GW_FIXES]);

/** What bounds a row, in words and numbers: "memory-bound (dram 2.10 of 4.52 TB/s)". */
void gw_bound_text(const struct gw_row_bound *bound, char *out, size_t size);

/** Why, as far as its work is known; empty where it is not. */
void gw_bound_cause(const struct gw_row_bound *bound, char *out, size_t size);

#endif
