/* Between the files of the schedule; for no one else. */
#ifndef GW_CODE_SCHEDULE_PARTS_H
#define GW_CODE_SCHEDULE_PARTS_H

#include "predictor/code/timing/schedule.h"

enum {
	GW_WARP_GROUPS = 4
}; /**< newest groups of matrix operations of which is known when they end */

/** A warp between two instructions. */
struct gw_warp {
	struct gw_cycles now;                          /**< its next issue slot */
	struct gw_cycles scoreboard[GW_SASS_BARRIERS]; /**< free from then on */
	struct gw_cycles stored;                       /**< its stores to shared memory are done */
	uint32_t loads[GW_SASS_BARRIERS];              /**< that each of them waits for */
	struct gw_cycles tensor;                       /**< its matrix operations are through */
	struct gw_cycles group[GW_WARP_GROUPS]; /**< ends of groups of them, the newest first */
};

/** At time 0 with all scoreboards free. */
void gw_warp_init(struct gw_warp *w);

/** Issue @p insn, number @p index of the code; count its waits in @p b, which may be NULL. */
void gw_warp_issue(struct gw_warp *w, const struct gw_sass_insn *insn, uint32_t index,
		   const struct gw_waits *waits, struct gw_schedule_block *b);

/** Issue a matrix operation of the warp group. */
void gw_warp_matrix(struct gw_warp *w, const struct gw_sass_insn *insn,
		    const struct gw_waits *waits);

/** WARPGROUP: wait for the groups that it is for. */
void gw_warp_await(struct gw_warp *w, const struct gw_sass_insn *insn);

/** As gw_warp_merge(), of matrix operations. */
void gw_warp_matrix_merge(struct gw_warp *w, const struct gw_warp *other);

/** Let time start anew at `now`. */
void gw_warp_rebase(struct gw_warp *w);

/** @p w becomes the later of both, scoreboard by scoreboard. */
void gw_warp_merge(struct gw_warp *w, const struct gw_warp *other);

/** Instructions of the longest chain of register dependences in a block. */
uint32_t gw_schedule_chain(const struct gw_cfg *cfg, const struct gw_cfg_block *block);

#endif
