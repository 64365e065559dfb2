/*
 * What the memory system makes of an access: sectors, lines, passes through the data stage.
 * Requests that differ by whole lines have the same shape, which is computed once.
 */
#ifndef GW_CODE_SHAPE_H
#define GW_CODE_SHAPE_H

#include "predictor/code/memory/gather.h"

/** The shape of an access, wherever its request lies among lines. All zero: none yet. */
struct gw_access_shape {
	struct gw_request request;
	uint32_t repeats;
	struct gw_eval_repeat repeat[GW_EVAL_LOOPS];
	int64_t grows[GW_EVAL_AXES]; /**< of the warps of a box; else zero */
	struct gw_coalescing coalescing;
	struct gw_shared_passes passes; /**< of an atomic only wavefronts */
};

/** The warps that an access may stand for. */
struct gw_access_box {
	struct gw_dim3 grid;
	uint64_t warps; /**< full ones of a block */
};

/**
 * Add @p access to the sums of @p a and leave its request in @p r, its shape in @p last, which
 * holds that of the access before. @p box: it stands for a box of warps (gw_eval_accesses); NULL:
 * for one. False: of local memory, or an address is not known, and there is no shape.
 */
bool gw_access_shape_add(struct gw_access_shape *last, const struct gw_access_box *box,
			 struct gw_gather_access *a, const struct gw_eval_access *access,
			 struct gw_request *r);

#endif
