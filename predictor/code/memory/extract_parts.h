/* Shared by the parts of extract: where registers come from, and how instructions are called. */
#ifndef GW_CODE_EXTRACT_PARTS_H
#define GW_CODE_EXTRACT_PARTS_H

#include "predictor/code/memory/extract.h"

enum {
	GW_REACHING_MAX = 2 /**< definitions that are distinguished: a loop's first and its next */
};

/** A kernel prepared for looking back. */
struct gw_slicer {
	const struct gw_ir_program *program;
	struct gw_arena *arena;
	uint32_t *block_of;   /**< block of each instruction */
	uint32_t *only_def;   /**< per register: the one instruction that defines it; NONE, MANY */
	uint32_t *pred_first; /**< per block: its predecessors in preds[], one more at the end */
	uint32_t *preds;
	uint32_t *stack;     /**< of blocks */
	uint32_t *visited;   /**< per block: number of the last search that saw it */
	uint32_t search;     /**< number of the present one */
	uint64_t steps;      /**< left; at 0 definitions are no longer looked for */
	const char **line;   /**< PTX, start of each line; NULL without the text */
	uint32_t line_count; /**< line[line_count] is the end of the text */
	bool no_room;        /**< a name was lost for want of memory */
};
#define GW_DEF_NONE UINT32_MAX
#define GW_DEF_MANY (UINT32_MAX - 1)

/** Definitions that reach a place. */
struct gw_reaching {
	uint32_t count; /**< above GW_REACHING_MAX: more than that, or not known */
	uint32_t insn[GW_REACHING_MAX];
};

/** Prepare @p program; false when the arena has no room. */
bool gw_slicer_init(struct gw_slicer *s, const struct gw_ir_program *program, struct gw_bytes ptx,
		    struct gw_arena *arena);

/** Definitions of register @p reg that reach instruction @p insn. */
void gw_slicer_reaching(struct gw_slicer *s, uint32_t reg, uint32_t insn, struct gw_reaching *out);

/** Whether loop @p loop holds @p insn, itself or in an inner loop. */
bool gw_slicer_in_loop(const struct gw_slicer *s, uint32_t loop, uint32_t insn);

/** Follow moves from operand @p o of @p insn to where its value comes from: the instruction that
 * uses the last of them, and that operand. */
gw_ir_operand gw_slicer_through_moves(struct gw_slicer *s, gw_ir_operand o, uint32_t *insn);

/** Whether @p insn puts two registers together to one number of 64 bits. Then: */
bool gw_slicer_is_pair(const struct gw_slicer *s, uint32_t insn);

/** whether both are parts of one number, register @p wide, which instruction @p user takes apart;
 */
bool gw_slicer_whole(struct gw_slicer *s, uint32_t pair, gw_ir_operand *wide, uint32_t *user);

/** whether they are the parameters' bytes from @p offset on; */
bool gw_slicer_param_pair(struct gw_slicer *s, uint32_t pair, uint64_t *offset);

/** whether the upper one is nothing. */
bool gw_slicer_is_widened(const struct gw_slicer *s, uint32_t pair);

/** A copy of @p text that lasts; never NULL: empty where there is no room, and s->no_room is set.
 */
const char *gw_name_keep(struct gw_slicer *s, const char *text);

/** Name of register @p reg where PTX has none: "%rd" or the like and its number. */
const char *gw_name_register(struct gw_slicer *s, uint32_t reg);

/** A constant operand of @p bits as a signed number. */
const char *gw_name_constant(struct gw_slicer *s, uint64_t value, unsigned bits);

/** "%tid.x" and the like. */
const char *gw_name_special(struct gw_slicer *s, enum gw_ir_sreg sreg);

/** PTX's own text for @p insn's opcode; NULL when there is none that means the same. */
const char *gw_name_opcode(const struct gw_ir_insn *insn, unsigned result_bits, char *out,
			   size_t size);

/** Call @p node as the PTX line of @p insn does, where that line means just this operation. */
void gw_name_by_source(struct gw_slicer *s, const struct gw_ir_insn *insn,
		       struct gw_access_node *node);

/** The instruction as the PTX writes it, with single spaces; made up where there is no text. */
const char *gw_name_access(struct gw_slicer *s, const struct gw_ir_insn *insn);

/** Leaf for the parameter bytes at @p offset: "[param_5]", "[param_5+8]". */
const char *gw_name_param(struct gw_slicer *s, uint64_t offset);

#endif
