/*
 * Which definitions a use of a register can see. A machine register holds one thing here and
 * another there, so that the origin of a value depends on the path through the program.
 *
 * A definition is named by its place in program->operands[]; marks are spread from uses back to the
 * definitions they can see, and by the caller's rule on to what those are made from.
 */
#ifndef GW_CODE_IR_REACH_H
#define GW_CODE_IR_REACH_H

#include "predictor/code/ir/ir.h"

struct gw_reach;

/** The caller's rule: definition @p slot, one of @p insn's, has @p marks (all it has by now).
 *  Called again where it gets more. Asks for the uses that matter by gw_reach_use(). */
typedef void gw_reach_rule(struct gw_reach *r, const struct gw_ir_insn *insn, uint32_t slot,
			   uint8_t marks);

/** The search; fields are for reading. */
struct gw_reach {
	const struct gw_ir_program *p;
	gw_reach_rule *rule;
	void *arg;        /**< the caller's own */
	uint8_t *marks;   /**< of each operand that is a definition: up to seven bits */
	uint32_t *before; /**< of each operand: the definition of its register that comes before it
			       in its block; GW_IR_NONE: none does */
	uint32_t *before_guard,
		*before_test; /**< the same of instructions' guards, blocks' tests */
	uint32_t *owner;      /**< instruction of each definition */
	uint32_t *block;      /**< block of each instruction */
	uint32_t *only;       /**< of a register with one definition: that; of others
				   GW_IR_NONE */
	uint32_t *place; /**< of a register with several: its number among those, else GW_IR_NONE */
	uint32_t places;
	uint32_t *last; /**< [block * places + place]: the last definition in a block */
	uint8_t *entry; /**< [block * places + place]: marks at the start of a block */
	uint32_t *pred_first, *preds; /**< of each block: those before it */
	uint32_t *slots, *entries;    /**< still to be looked at */
	uint32_t slot_count, entry_count;
};

/** Prepare a search on @p p; false when @p arena has no room. Time and memory go with the size of
 *  the program, and with its blocks times its machine registers. */
bool gw_reach_init(struct gw_reach *r, const struct gw_ir_program *p, struct gw_arena *arena);

/** Mark what use @p index of @p insn, its guard, or the test of @p block can see. */
void gw_reach_use(struct gw_reach *r, const struct gw_ir_insn *insn, unsigned index,
		  unsigned marks);
void gw_reach_guard(struct gw_reach *r, const struct gw_ir_insn *insn, unsigned marks);
void gw_reach_test(struct gw_reach *r, uint32_t block, unsigned marks);

/** Spread marks until nothing changes. */
void gw_reach_run(struct gw_reach *r);

/*
 * Which sources of a program's instructions are not the same number in all threads of the grid:
 * those that come from a thread's or a block's own index, from memory, or from what is not
 * modelled.
 */

/**
 * Of each operand of the program that @p r was prepared on (gw_reach_init()) that is a source:
 * whether it varies among threads. What differs only in the path that a thread has come by counts
 * as alike. NULL when @p arena has no room.
 */
const uint8_t *gw_ir_vary(const struct gw_reach *r, struct gw_arena *arena);

#endif
