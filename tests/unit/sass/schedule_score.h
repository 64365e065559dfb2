/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measured loops of one warp (tests/gpu/schedule) beside what the schedule says. The latencies are
 * solved for on the loops named cal_*, one after the other; the rest are predicted with them.
 */
#ifndef GW_SCHEDULE_SCORE_H
#define GW_SCHEDULE_SCORE_H

#include "predictor/code/timing/schedule.h"
#include "tests/unit/sass/listing.h"

struct score_row {
	const char *name;         /* the kernel's */
	double measured;          /* cycles of an iteration */
	double predicted;         /* NaN: unknown */
	struct gw_cycles formula; /* of the straight loop */
};

struct score {
	struct score_row rows[96];
	unsigned count;
	struct gw_waits waits; /* global: as L1 */
	double global_l2, global_dram;
};

/** Read both files and score; ends the program with status 2 when they can't be read. */
void score_run(struct score *out, const struct listing *code, const char *measured);

#endif
