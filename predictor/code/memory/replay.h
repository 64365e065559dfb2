/*
 * Global loads of one block run through a cache: what hits in L1 when the block touches more than
 * it holds. Warps go in step, each one's n-th load before any one's next; iterations that an access
 * stands for are put back in their order. The cache has lines of four sectors, full associativity
 * and least-recently-used replacement.
 */
#ifndef GW_CODE_REPLAY_H
#define GW_CODE_REPLAY_H

#include "predictor/core/arena.h"
#include "predictor/code/eval/eval.h"
#include "predictor/code/memory/request.h"

enum {
	GW_REPLAY_EVENTS = 8192,   /**< accesses recorded of a block */
	GW_REPLAY_REQUESTS = 8192, /**< requests run, over all warps; the rest is left out */
	GW_REPLAY_ROW = 32,        /**< hits in a row that count */
};

/** A recorded access. */
struct gw_replay_event {
	struct gw_request request;
	uint32_t warp, repeats;
	struct gw_eval_repeat repeat[GW_EVAL_LOOPS];
};

/** What a cache finds. */
struct gw_replay_answer {
	uint32_t count; /**< of the events asked about; 0: none */
	double capacity, hits, under_way;
	uint32_t rows[GW_REPLAY_ROW + 1]; /**< loads by their warp's hits in a row */
};

/** The loads of a block, warp after warp. */
struct gw_replay {
	struct gw_arena *arena;
	struct gw_replay_event *event;
	struct gw_replay_answer *last; /**< the last question's, for all copies */
	uint32_t count;
	uint32_t warps; /**< number of the last one seen, plus one */
	bool full;      /**< there were more accesses than are kept, or steps that are not known */
};

/** An empty record on @p arena; false when it has no room. */
bool gw_replay_init(struct gw_replay *r, struct gw_arena *arena);

/** Record a load of warp @p access->warp, whose request is @p request. Warps come one after the
 * other. */
void gw_replay_add(struct gw_replay *r, const struct gw_eval_access *access,
		   const struct gw_request *request);

/**
 * Share of sector look-ups that hit in a cache of @p capacity bytes, empty at first; NaN without
 * loads, or when accesses were left out, or memory. @p under_way gets the share of these hits on
 * sectors that were first asked for in the same step.
 */
double gw_replay_hits(const struct gw_replay *r, double capacity, double *under_way);

/** Of @p together loads of a warp, as many as would all hit as often if each did so on its own, by
 * the last answer; NaN: not known. */
double gw_replay_apart(const struct gw_replay *r, double together);

#endif
