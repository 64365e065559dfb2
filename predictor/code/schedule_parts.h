/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the schedule; for no one else. */
#ifndef GW_CODE_SCHEDULE_PARTS_H
#define GW_CODE_SCHEDULE_PARTS_H

#include "predictor/code/schedule.h"

/** A warp between two instructions. */
struct gw_warp {
	struct gw_cycles now;                          /**< its next issue slot */
	struct gw_cycles scoreboard[GW_SASS_BARRIERS]; /**< free from then on */
	struct gw_cycles stored;                       /**< its stores to shared memory are done */
	uint32_t loads[GW_SASS_BARRIERS];              /**< that each of them waits for */
};

/** At time 0 with all scoreboards free. */
void gw_warp_init(struct gw_warp *w);

/** Issue @p insn, number @p index of the code; count its waits in @p b, which may be NULL. */
void gw_warp_issue(struct gw_warp *w, const struct gw_sass_insn *insn, uint32_t index,
                   const struct gw_waits *waits, struct gw_schedule_block *b);

/** Let time start anew at `now`. */
void gw_warp_rebase(struct gw_warp *w);

/** @p w becomes the later of both, scoreboard by scoreboard. */
void gw_warp_merge(struct gw_warp *w, const struct gw_warp *other);

/** Instructions of the longest chain of register dependences in a block. */
uint32_t gw_schedule_chain(const struct gw_cfg *cfg, const struct gw_cfg_block *block);

#endif
