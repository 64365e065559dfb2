/* A grid being covered: the boxes that nobody answers for yet, and what was summed up. */
#ifndef GW_CODE_EVAL_COVER_H
#define GW_CODE_EVAL_COVER_H

#include "predictor/code/eval/state.h"

#define GW_GOLDEN 0.3819660112501051 /* of the golden section */

struct box {
	int64_t low[GW_BOX], size[GW_BOX];
	double volume; /**< warps */
};

/** Mean of numbers, and the sum of the squares of what they are apart from it. */
struct gw_spread {
	double count, mean, squares;
};

static inline void gw_spread_add(struct gw_spread *s, double x)
{
	double before = x - s->mean;

	s->count++;
	s->mean += before / s->count;
	s->squares += before * (x - s->mean);
}

struct cover {
	struct gw_eval *e;
	struct gw_eval_report *out;
	struct gw_arena *arena;
	struct box *boxes;      /**< a heap, the largest first */
	uint32_t count;         /**< of boxes[] */
	double covered;         /**< warps that were run or stood for */
	double cost;            /**< their sum */
	double drawn;           /**< warps run of the others, for which they stand */
	double sure;            /**< of what stands for the others */
	struct gw_spread warps; /**< cost of those run */
	gw_eval_ran *ran;       /**< called for each box; NULL: nobody asks */
	bool bisected, failed;
};

/** Sums of nothing; false when there is no room. */
bool gw_cover_sums(const struct gw_ir_program *p, struct gw_arena *arena,
		   struct gw_eval_report *out);

/** All warps of the grid are left: the full ones of every block, and the last one if it isn't. */
void gw_cover_whole(struct cover *c);

/** Run one warp that may answer for those up to @p high away, which becomes how far it does.
 *  False: the callback stopped it. */
bool gw_cover_run(struct cover *c, struct gw_dim3 block, uint32_t warp, int64_t high[GW_BOX]);

/** Add what the last warp did, or what @p from sums up, so many times. */
void gw_cover_add(struct gw_eval_report *to, const struct gw_eval *e, double times);
void gw_cover_add_all(struct gw_eval_report *to, const struct gw_ir_program *p,
		      const struct gw_eval_report *from, double times);

/** Whole blocks of what is left stand for all of it: the sums become the grid's (sample.c). */
void gw_cover_sample(struct cover *c);

#endif
