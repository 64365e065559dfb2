/*
 * Basic blocks of a kernel's machine code, the edges between them, dominators and loops, and what
 * the blocks are made of. A kernel's code holds its own function first and after it those that
 * were not inlined; each is a graph of its own: a call is an edge to the instruction after it.
 */
#ifndef GW_CODE_CFG_H
#define GW_CODE_CFG_H

#include "predictor/core/arena.h"
#include "predictor/code/binary/bytes.h"
#include "predictor/code/sass/sass.h"

#define GW_CFG_NONE UINT32_MAX /**< no block, no loop */

enum { GW_CFG_INSNS_MAX = 1 << 20 }; /**< longest code that is looked at, instructions */

/** How a block ends. */
enum gw_cfg_end {
	GW_CFG_FALL,     /**< into the next block */
	GW_CFG_JUMP,     /**< to succ[0] */
	GW_CFG_BRANCH,   /**< to succ[0] where the branch is taken, else succ[1] */
	GW_CFG_INDIRECT, /**< to one of the successors, by a register */
	GW_CFG_CALL,     /**< of block `call`, then on to succ[0] */
	GW_CFG_EXIT,     /**< the thread ends; with a successor: only where the guard holds */
	GW_CFG_RETURN,   /**< from a function; with a successor: only where the guard holds */
};

/** A basic block. */
struct gw_cfg_block {
	uint32_t first, count;           /**< instructions, by number in the code */
	uint32_t succ_first, succ_count; /**< in edges[] */
	uint32_t pred_first, pred_count; /**< in edges[] */
	uint32_t call;                   /**< first block of the function called; GW_CFG_NONE: no
					      call, or of a function elsewhere */
	uint32_t entry; /**< first block of the function it belongs to; GW_CFG_NONE:
			     not reachable */
	uint32_t idom;  /**< immediate dominator; an entry has itself */
	uint32_t loop;  /**< innermost loop; GW_CFG_NONE: none */
	uint8_t end;    /**< enum gw_cfg_end */
};

/** A natural loop; loops that share a header are one. */
struct gw_cfg_loop {
	uint32_t header; /**< block */
	uint32_t parent; /**< enclosing loop; GW_CFG_NONE: none */
	uint32_t depth;  /**< 1: outermost */
	uint32_t blocks; /**< those of inner loops included */
};

/** The graph; arrays belong to the arena, the code to the caller. */
struct gw_cfg {
	struct gw_bytes code;
	unsigned sm;
	uint32_t insn_count;
	struct gw_sass_insn *insns; /**< decoded; NULL: each is where it is asked for */
	struct gw_cfg_block
		*blocks;           /**< in the order of the code; blocks[0] is the kernel's entry */
	struct gw_cfg_loop *loops; /**< outer before inner */
	uint32_t *edges;
	uint32_t block_count, loop_count, edge_count;
	bool unknown_jumps; /**< an indirect jump's targets were taken to be all blocks that
				 nothing else reaches */
	bool irreducible;   /**< a cycle without a header that dominates it: not in loops[] */
};

/** What some instructions are, each counted once. */
struct gw_sass_mix {
	uint32_t insns;
	uint32_t cls[GW_SASS_CLASSES];
	uint32_t pipe[GW_SASS_PIPES];
	uint32_t tensor[GW_SASS_TENSORS];
	double flops[GW_SASS_TENSORS]; /**< of an execution by a warp (gw_sass_warp_flops) */
	uint32_t load[GW_SASS_SPACES],
		store[GW_SASS_SPACES]; /**< atomics and reductions are neither */
	uint32_t fma32, fma64;
	uint32_t unknown; /**< opcodes that the list doesn't have */
};

/**
 * The graph of @p code for @p sm. False with the fault when the code is empty, not whole
 * instructions or longer than GW_CFG_INSNS_MAX, or the arena is full.
 */
bool gw_cfg_build(struct gw_cfg *out, struct gw_bytes code, unsigned sm, struct gw_arena *arena,
		  struct gw_fault *fault);

/** Decode all instructions, where they are few and @p arena has room: asking costs a copy then. */
void gw_cfg_decode(struct gw_cfg *cfg, struct gw_arena *arena);

/** Decode instruction @p index, which must be below cfg->insn_count. */
bool gw_cfg_insn(const struct gw_cfg *cfg, uint32_t index, struct gw_sass_insn *out);

/** Loops around @p block, the block's innermost one included; 0: none. */
uint32_t gw_cfg_depth(const struct gw_cfg *cfg, uint32_t block);

/** @p block lies in @p loop or in a loop inside it. */
bool gw_cfg_in_loop(const struct gw_cfg *cfg, uint32_t block, uint32_t loop);

/** Add what @p block is made of to @p mix, which starts as all zero. */
void gw_cfg_mix(const struct gw_cfg *cfg, uint32_t block, struct gw_sass_mix *mix);

/** Of gw_cfg_build(): fill the blocks' entry, idom and loop, and loops[]. An instruction whose @p
 *  flags have @p function begins one. False when the arena is full. */
bool gw_cfg_find_loops(struct gw_cfg *cfg, const uint8_t *flags, uint8_t function,
		       struct gw_arena *arena);

#endif
