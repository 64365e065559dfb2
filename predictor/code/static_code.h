/*
 * The static work of a launch, all parts of it together: what memory instructions do (gather.h,
 * static_work.h), and of machine code its blocks and its schedule (sass/work.h).
 */
#ifndef GW_CODE_STATIC_CODE_H
#define GW_CODE_STATIC_CODE_H

#include "predictor/code/sass/lower.h"
#include "predictor/code/static_work.h"

/** What is to be read. */
struct gw_static_code {
	const struct gw_ir_program *program;
	const struct gw_cfg *cfg; /**< of the machine code it was lowered from; NULL: PTX */
	const char
		*calls; /**< as in struct gw_sass_lowered: why functions are left out; NULL: none */
	const struct gw_device *device;        /**< never NULL */
	const struct gw_launch *launch;        /**< its kernel's numbers may be unknown */
	const struct gw_eval_launch *at;       /**< the same launch with its arguments */
	const struct gw_gather_limits *limits; /**< NULL: the defaults */
	const struct gw_static_memory
		*memory; /**< that arguments point into; NULL: none is known */
	uint32_t memory_count;
	bool *limited; /**< where not NULL: gets whether higher limits could determine more */
	const struct gw_eval_block **ran; /**< where not NULL: gets what each block did, the
					       arena's, unless a warp was not followed to its end */
};

/**
 * Set the rows of @p work that can be determined, all with GW_SOURCE_STATIC; @p work is cleared
 * first.
 *
 * Machine code whose counts are settled gives exact instruction counts (gw_sass_work); where a
 * branch depends on memory they are the middle of a range with the confidence of one
 * (gw_static_machine), and *@p open says why, else it is NULL. More than a few accesses to memory
 * elsewhere make the work a lower limit, and *@p open says so. A warp's cycles are those of the
 * compiler's schedule; PTX, which has none, gives dependence times in their place.
 *
 * Returns NULL, or a static text of why nothing could be determined.
 */
const char *gw_static_code_work(const struct gw_static_code *in, struct gw_arena *arena,
				struct gw_work *work, const char **open);

#endif
