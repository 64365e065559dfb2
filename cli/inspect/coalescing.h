/*
 * What `gpuwatch inspect --coalescing` says of a kernel: its accesses with Kim's measures and the
 * sectors their requests need, the locality between its blocks, and both as pictures.
 */
#ifndef GW_INSPECT_COALESCING_H
#define GW_INSPECT_COALESCING_H

#include "cli/common/json.h"
#include "predictor/code/memory/extract.h"
#include "predictor/code/memory/gather.h"

/** A kernel at a launch, analysed. Begun and ended by the functions below. */
struct coalescing_view {
	const char *kernel; /**< its name, for titles; the caller's */
	bool from_sass;     /**< instructions are counted, not lines */
	const struct gw_ir_program *program;
	struct gw_arena arena;
	struct gw_extract extract;
	struct gw_gather gather;
	struct gw_block_graph graph;
	bool has_graph;
};

/**
 * Analyse @p program at @p launch; @p ptx is the text it was read from, or empty. Returns NULL, or
 * a static text of why it is unknown. End the view either way.
 */
const char *coalescing_view_begin(struct coalescing_view *view, const char *kernel,
				  const struct gw_ir_program *program,
				  const struct gw_eval_launch *launch, struct gw_bytes ptx);
void coalescing_view_end(struct coalescing_view *view);

/** Print the table of accesses and the locality of the grid on stdout. */
void coalescing_text(const struct coalescing_view *view);

/** The same as JSON, with the syntax trees of Kim's fig. 3.3 under "syntax_trees". */
json_t *coalescing_json(const struct coalescing_view *view);

/**
 * Write the coalescing graph (Kim 2023, figs. 4.4, 4.5) to @p folder/coalescing-KERNEL.svg and the
 * locality graph to @p folder/locality-KERNEL.svg; KERNEL with what a file name does not take
 * replaced by '_'. GW_EXIT_OK, or 2 after one message.
 */
int coalescing_plot(const struct coalescing_view *view, const char *folder);

#endif
