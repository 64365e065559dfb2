/* A described launch of the kernels in an image, evaluated: counts, loops, accesses. */
#ifndef GW_INSPECT_EVAL_H
#define GW_INSPECT_EVAL_H

#include "cli/inspect/inspect.h"
#include "predictor/code/sass/cfg.h"
#include "predictor/code/eval/eval.h"
#include "predictor/code/static_code.h"

enum { INSPECT_MEMORY = 1 << 29 }; /**< bytes that one analysis of one kernel may take */

/** Evaluate the launch of @p view->job for each selected kernel of the image, and print
 * it. Returns how many there were; -1 after a message. */
int inspect_eval_text(const struct inspect_view *view);

/** The same as JSON, into *@p out, a list. */
int inspect_eval_json(const struct inspect_view *view, json_t **out);

/**
 * Analyse the accesses of kernel @p name (demangled) at a launch; @p ptx is its text. Print them,
 * or set *@p json where it is not NULL, and write the job's pictures. 0, or -1 after a message.
 */
int inspect_coalescing(const struct inspect_job *job, const char *name,
		       const struct gw_ir_program *program, const struct gw_eval_launch *launch,
		       struct gw_bytes ptx, json_t **json);

/**
 * Print the static work of @p kernel at the job's launch, and every model's estimate from it for
 * the job's device; device and launch of @p code are set here. As text it is printed and NULL is
 * returned; as JSON it is returned.
 */
json_t *inspect_work(const struct inspect_job *job, const struct gw_kernel *kernel,
		     const struct gw_static_code *code);

/**
 * How often the warps of a launch run each basic block, and the one with the longest critical path:
 * of machine code by the graph @p cfg, of PTX (NULL) by lines.
 */
void inspect_blocks_text(const struct gw_ir_program *program, const struct gw_eval_report *report,
			 const struct gw_cfg *cfg);
json_t *inspect_blocks_json(const struct gw_ir_program *program,
			    const struct gw_eval_report *report, const struct gw_cfg *cfg);

#endif
