/*
 * Does a stretch of machine code hold what a microbenchmark claims to time, as many times as it
 * claims, and nothing else that matters (Sanchez Gil 2017, 4.1.7)?
 */
#ifndef GW_TESTS_REGION_H
#define GW_TESTS_REGION_H

#include <stdbool.h>

#include "tests/kernels/code.h"

enum { REGION_WHY = 256 }; /**< room for the reason of a refusal */

/**
 * What a stretch must hold: @p step, in the notation of kernels/code.def, @p steps times.
 * Beside it are allowed, and no more often than this:
 *   between two clock readings  once the tie (LOP3.LUT) before the first instruction of a step
 *                               that is no sequence, once the comparison (ISETP.NE.U32.AND)
 *                               after the last, or before where a step holds the warp itself;
 *                               where the compiler moved it there, once the loop's counter and
 *                               its comparison
 *   in a loop                   once the counter, its comparison and the branch back
 *   in both                     no operation (NOP), four moves between registers
 */
struct expected {
	const char *step;
	unsigned steps;
};

/** Whether a stretch between two readings ends with the comparison of the last result. */
enum region_end { REGION_COMPARED, REGION_OPEN };

/** The stretch from clock reading @p first to the next. False with the reason in @p why. */
bool region_timed(const struct sass_kernel *kernel, unsigned first, enum region_end end,
		  struct expected expected, char why[REGION_WHY]);

/**
 * The stretch from reading @p first to the next is of one instruction a step, and what the tie
 * after it waits for is the result of the last of them.
 */
bool region_waits_for_last(const struct sass_kernel *kernel, unsigned first, char why[REGION_WHY]);

/** The one loop between the kernel's two clock readings. */
bool region_loop(const struct sass_kernel *kernel, struct expected expected, char why[REGION_WHY]);

/** Some loop of the kernel, wherever it is. */
bool region_any_loop(const struct sass_kernel *kernel, struct expected expected,
		     char why[REGION_WHY]);

/** The last of two clock readings is followed at once by the branch to the first. */
bool region_branch(const struct sass_kernel *kernel, char why[REGION_WHY]);

/** How many times the kernel reads the clock. */
unsigned region_clocks(const struct sass_kernel *kernel);

#endif
