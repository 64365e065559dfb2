/*
 * Machine code as the evaluator's intermediate form, so that the slices which feed branches,
 * predicates and addresses can be run on a launch's actual arguments. An instruction that is not
 * modelled makes its results unknown, never wrong. A called function is taken in where it is
 * called, within bounds; of one that isn't, what it writes is unknown. Ways that lead to a failed
 * assert() and nowhere else are left out: a launch that ends well has not gone there.
 */
#ifndef GW_CODE_SASS_LOWER_H
#define GW_CODE_SASS_LOWER_H

#include "predictor/code/sass/cfg.h"
#include "predictor/code/ir/ir.h"

struct gw_code_kernel;
struct gw_code_relocation;

/** What is needed of a kernel beside its code. */
struct gw_sass_kernel {
	const char *name;
	uint32_t param_base;  /**< place of the parameters in constant bank 0, bytes; UINT32_MAX:
				   unknown, then no parameter's value is known */
	uint32_t param_bytes; /**< of all parameters */
	uint32_t static_shared;
	uint32_t stack; /**< local memory of a thread, called functions' included; 0: none, or more
			     than is followed */
	const struct gw_code_relocation *outside; /**< as struct gw_code_kernel has them */
	uint32_t outside_count;
	struct gw_bytes tables; /**< constants of bank 2, which compilers make and nothing changes;
				     those of jump tables are used. Empty: none are known */
};

/** What a cubin says of kernel @p k; refers to what that refers to. */
struct gw_sass_kernel gw_sass_kernel_of(const struct gw_code_kernel *k);

/** How a lowered kernel differs from its code. */
struct gw_sass_lowered {
	struct gw_ir_program program; /**< a block's `tag` is that of the graph (a called function's
					   blocks stand there for every call), the exit's
					   GW_CFG_NONE; `source` counts instructions */
	const char *calls;            /**< why functions that are called are not in the program, of
					   the first of them; NULL: all are */
	bool indirect;                /**< an indirect jump's index is unknown */
};

/** Why it is not known where a jump goes; NULL: it is. */
static inline const char *gw_sass_indirect(const struct gw_sass_lowered *lowered)
{
	return lowered->indirect ? "a jump goes where a register says, which is not known" : NULL;
}

/**
 * Lower @p cfg. NULL, or a static text of why not. The program is the arena's.
 */
const char *gw_sass_lower(struct gw_sass_lowered *out, const struct gw_cfg *cfg,
			  const struct gw_sass_kernel *kernel, struct gw_arena *arena);

#endif
