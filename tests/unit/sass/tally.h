/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a launch access in global memory: by the evaluator, or listed one by one. */
#ifndef GW_SASS_TALLY_H
#define GW_SASS_TALLY_H

#include "predictor/code/eval/eval.h"

/** How often, and the sum of the addresses, so that none may be off. */
struct tally {
	uint64_t loads, stores, load_sum, store_sum;
	bool exact;   /**< every address is known */
	bool control; /**< every branch and guard is */
	bool awaits;  /**< waits were met */
};

void tally_load(struct tally *t, uint64_t address);
void tally_store(struct tally *t, uint64_t address);

/** Add what every warp of the launch does by @p p; the test fails where it can't be evaluated. */
void tally_launch(struct tally *t, const struct gw_ir_program *p, const struct gw_config *config,
                  const uint8_t *arguments, uint32_t bytes);

#endif
