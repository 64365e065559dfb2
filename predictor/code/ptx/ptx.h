/*
 * PTX as compilers write it: what kernels a text holds, and each as an intermediate form. Whatever
 * the version, directives that aren't known are skipped and instructions that aren't known become
 * opaque; only text that is no PTX is refused, with its place and what to do.
 */
#ifndef GW_CODE_PTX_H
#define GW_CODE_PTX_H

#include "predictor/code/binary/bytes.h"
#include "predictor/code/ir/ir.h"
#include "predictor/core/types.h"

/** What was wrong with a text. */
struct gw_ptx_fault {
	const char *what; /**< static string: what was found and the remedy; NULL: no fault */
	char near[48];    /**< the text there, perhaps cut; empty: none */
	uint32_t line;    /**< from 1 */
	uint32_t column;  /**< from 1, bytes */
};

/** A kernel by its declaration; dimensions that it lacks are 0. */
struct gw_ptx_kernel {
	const char *name; /**< symbol */
	uint32_t line;    /**< of the declaration */
	const struct gw_ir_param *params;
	uint32_t param_count;
	uint32_t param_bytes;       /**< up to the end of the last one */
	struct gw_dim3 max_threads; /**< .maxntid */
	struct gw_dim3 threads;     /**< .reqntid: the block must be this */
	struct gw_dim3 cluster;     /**< .reqnctapercluster */
	uint32_t min_blocks;        /**< .minnctapersm */
	uint32_t max_registers;     /**< .maxnreg */
};

/** A parsed text; everything in it belongs to the arena it was parsed into. */
struct gw_ptx {
	uint32_t version;                    /**< 10 * major + minor; 0: missing */
	const char *target;                  /**< "sm_90a"; NULL: missing */
	uint32_t address_bits;               /**< 32 or 64 */
	const struct gw_ptx_kernel *kernels; /**< those with a body, in order */
	uint32_t kernel_count;
	struct gw_ptx_inside *inside;
};

/** Parse @p text (which may end in zero bytes). False, with @p fault, when it isn't PTX. */
bool gw_ptx_parse(struct gw_bytes text, struct gw_arena *arena, struct gw_ptx *out,
		  struct gw_ptx_fault *fault);

/** The same, of which only the kernels' declarations are kept: for lists, as a text may be large.
 * It can't be lowered. */
bool gw_ptx_list(struct gw_bytes text, struct gw_arena *arena, struct gw_ptx *out,
		 struct gw_ptx_fault *fault);

/** Lower kernel @p kernel (an index) to @p out, in @p arena. Functions that it calls are taken in
 *  where they stand. False, with @p fault, when it can't be. */
bool gw_ptx_lower(const struct gw_ptx *ptx, uint32_t kernel, struct gw_arena *arena,
		  struct gw_ir_program *out, struct gw_ptx_fault *fault);

/** Index of the kernel named @p name; UINT32_MAX: there is none. */
uint32_t gw_ptx_find(const struct gw_ptx *ptx, const char *name);

#endif
