/* Between the files that lower machine code; for no one else. */
#ifndef GW_CODE_SASS_LOWER_PARTS_H
#define GW_CODE_SASS_LOWER_PARTS_H

#include "predictor/code/eval/tensor_map.h"
#include "predictor/code/sass/lower.h"

enum { GW_LOWERED_FUNCTIONS = 256 }; /**< most of them, the kernel itself included */

/** A function to be lowered: the kernel, or one that it calls, taken in where it is called. */
struct gw_lowered_function {
	uint32_t entry;  /**< its first block in the graph */
	uint32_t first;  /**< of the graph's blocks, the first that is its own */
	uint32_t blocks; /**< of the graph's blocks from there on, up to the last that is */
	uint32_t base;   /**< block of the program that stands for `first` */
	uint32_t after;  /**< where it returns to: a block of the program */
	uint32_t caller; /**< in functions[]; the kernel's own number: itself */
	uint32_t depth;  /**< calls around it */
};

/** A kernel being lowered. */
struct gw_lowering {
	struct gw_ir_builder b;
	const struct gw_cfg *cfg;
	const struct gw_sass_kernel *kernel;
	gw_ir_operand place[GW_SASS_PLACES]; /**< registers of the program; made when first used */
	gw_ir_operand guard;                 /**< of the instruction at hand; GW_IR_NONE: always */
	bool guard_not;
	struct gw_sass_insn insn;              /**< the instruction at hand */
	struct gw_lowered_function *functions; /**< in the order they are lowered; of the arena */
	uint32_t function;                     /**< the one at hand */
	uint32_t function_count;
	struct {
		gw_ir_operand index; /**< bytes from `offset` on; GW_IR_NONE: none in this block */
		uint32_t offset;     /**< in bank 2 */
		uint32_t at;         /**< instruction that loads it */
		unsigned place;      /**< where to */
	} table;                     /**< the constant that was last loaded by an index */
	uint32_t taken_in;           /**< instructions of functions called, so far */
	uint32_t exit;               /**< block of the program where threads end */
	bool pipelined;              /**< it copies by the tensor memory accelerator */
	uint32_t place_known;        /**< 1 + the symbol of a place in shared memory; 0: none yet */
	bool indirect;               /**< where some jump goes is not known */
	const char *calls;           /**< why a function was not taken in; NULL: all were */
};

/** General register at bits @p at (uniform where @p uniform), as a source: zero for RZ. */
gw_ir_operand gw_lower_reg(struct gw_lowering *l, unsigned at, bool uniform);

/** Registers at bits @p at and the next one, as one source of 64 bits. */
gw_ir_operand gw_lower_pair(struct gw_lowering *l, unsigned at, bool uniform);

/** The general register @p behind behind the one at bits @p at, as a source. */
gw_ir_operand gw_lower_word(struct gw_lowering *l, unsigned at, unsigned behind);

/** The uniform register @p behind behind the one at bits @p at, as a source. */
gw_ir_operand gw_lower_uniform(struct gw_lowering *l, unsigned at, unsigned behind);

/** Predicate at bits @p at, negated by the bit at @p not_at, as a source. */
gw_ir_operand gw_lower_predicate(struct gw_lowering *l, unsigned at, unsigned not_at);

/** As gw_ir_append(), under the guard of the instruction at hand. */
void gw_lower_append(struct gw_lowering *l, struct gw_ir_insn insn, const gw_ir_operand *defs,
		     unsigned def_count, const gw_ir_operand *uses, unsigned use_count);

/** A new value of @p bits from an operation; as gw_ir_emit() with a fresh register. */
#define GW_LOWER(l, op, bits, aux, n, ...) \
	gw_ir_emit(&(l)->b, IR_##op, bits, aux, gw_ir_reg(&(l)->b, gw_lower_width(IR_##op, bits)), \
		   n, __VA_ARGS__)

/** Bits of an operation's result: one for those that make predicates, twice for wide ones. */
unsigned gw_lower_width(unsigned op, unsigned bits);

/** Predicate number @p n, which is none of the uniform ones; written under the guard. */
gw_ir_operand gw_lower_predicate_number(struct gw_lowering *l, unsigned n);
void gw_lower_set_predicate_number(struct gw_lowering *l, unsigned n, gw_ir_operand value);

/** Write under the guard: a general register at bits @p at, a predicate at @p at. */
void gw_lower_set(struct gw_lowering *l, unsigned at, bool uniform, gw_ir_operand value);
void gw_lower_set_pair(struct gw_lowering *l, unsigned at, bool uniform, gw_ir_operand value);
void gw_lower_set_predicate(struct gw_lowering *l, unsigned at, gw_ir_operand value);

/** The same of @p count registers, 1 to 4, from the one at bits @p at on. */
void gw_lower_set_words(struct gw_lowering *l, unsigned at, bool uniform,
			const gw_ir_operand *value, unsigned count);

/** Bank 0's word at @p offset: a parameter, an extent of the launch, or unknown. */
gw_ir_operand gw_lower_constant(struct gw_lowering *l, unsigned bank, unsigned offset);

/** A value that is not known; the same for place @p place of struct gw_sass_regs. */
gw_ir_operand gw_lower_unknown(struct gw_lowering *l, unsigned bits, const char *note);
void gw_lower_opaque_place(struct gw_lowering *l, unsigned place, const char *note);

/** Take it down where the instruction at hand loads a word of bank 2 by an index. */
void gw_lower_note_table(struct gw_lowering *l);

/**
 * End the open block, which ends with an indirect jump through a table of bank 2, by a switch on
 * the table's index. False when the jump is of another kind.
 */
bool gw_lower_table_jump(struct gw_lowering *l);

/** The block of the program that stands for block @p block of the graph, in the function at hand;
 * where threads end, if the function doesn't have it. */
uint32_t gw_lower_block_of(const struct gw_lowering *l, uint32_t block);

/**
 * The call that ends @p block: its function is taken in, and returns to block @p after of the
 * program; true with the block of the program where it begins. Compilers also write jumps as calls,
 * of what never returns; these go where they go. False when it can't be: it is elsewhere, calls
 * itself, or there is too much of it; what it writes is unknown then.
 */
bool gw_lower_call(struct gw_lowering *l, const struct gw_cfg_block *block, uint32_t after,
		   uint32_t *begin);

/** The function outside of the cubin that the call at the end of @p block is of: its name; NULL: it
 * is none, or it is not known which. */
const char *gw_lower_outside(const struct gw_lowering *l, const struct gw_cfg_block *block);

/** Whether the call at the end of @p block never runs in a launch that ends well. */
bool gw_lower_never(const struct gw_lowering *l, const struct gw_cfg_block *block);

/** All that the instruction writes becomes unknown. */
void gw_lower_opaque(struct gw_lowering *l, const char *note);

/** An arithmetic, move or predicate instruction; false when it is not one that is modelled. */
bool gw_lower_alu(struct gw_lowering *l);

/** The part of gw_lower_alu() that does not add, multiply or shift. */
bool gw_lower_logic(struct gw_lowering *l);

/** Of that, a load of constants; arithmetic of floats, with what divides integers; what lanes of a
 *  warp exchange, and counts of bits. */
bool gw_lower_load_constant(struct gw_lowering *l);
bool gw_lower_float(struct gw_lowering *l);
bool gw_lower_lanes(struct gw_lowering *l);

/** R2UR: the register of the lowest lane whose guard holds; nothing where none does. */
void gw_lower_to_uniform(struct gw_lowering *l);

/** Whether the instruction does more than compute, or may: not where it waits for an mbarrier. */
bool gw_lower_acts(const struct gw_sass_insn *insn);

/** Whether all it does is compute or go on elsewhere, and write registers. */
bool gw_lower_computes(const struct gw_sass_insn *insn);

/** A copy by the tensor memory accelerator; false when it is none that touches global memory, or
 * its encoding is not known. */
bool gw_lower_tensor(struct gw_lowering *l);

/** A memory instruction or a barrier; false when it is none. */
bool gw_lower_memory(struct gw_lowering *l);

#endif
