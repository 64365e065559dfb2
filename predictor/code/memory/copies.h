/*
 * Copies between global and shared memory that go past L1, as a whole: bulk copies and tiles of
 * tensors. What each moves, from the executions in the blocks that are looked at.
 */
#ifndef GW_CODE_COPIES_H
#define GW_CODE_COPIES_H

#include "predictor/code/eval/eval.h"
#include "predictor/code/memory/locality.h"

enum { GW_TMA_BLOCKS = 512 };

/** One instruction that copies. */
struct gw_tma_copy {
	uint32_t insn;             /**< index in the program's insns[] */
	bool store;                /**< into global memory; a reduction does both */
	bool prefetch;             /**< into L2 only */
	bool tensor;               /**< tiles of one, by a map */
	struct gw_eval_count runs; /**< executions by a warp, over the grid */
	/** The tensor, of the executions seen; NULL: none, several, or not known. */
	const struct gw_tensor_map *map;
	double seen;                    /**< copies in the blocks looked at, of known size ... */
	double bytes;                   /**< ... and what these move, in whole sectors */
	double received;                /**< bytes times the blocks that get them; NaN: not known */
	double least_bytes, most_bytes; /**< of one copy */
	double assumed; /**< of seen, tiles of which it is not known where they lie */
	double unknown; /**< copies of unknown size there */
};

/** All of a launch. Arrays are the arena's. */
struct gw_tma_copies {
	struct gw_tma_copy *copy;
	uint32_t count;
	uint32_t tiles;           /**< looked at one by one */
	struct gw_locality *bulk; /**< of copies without a tensor map; NULL: there are none */
	bool lanes;               /**< each lane makes a copy of its own (PTX) */
};

/** List the copies of @p program, @p runs of each of its instructions (NULL: not known); false when
 * @p arena has no room. */
bool gw_tma_list(struct gw_tma_copies *c, const struct gw_ir_program *program,
		 const struct gw_eval_count *runs, struct gw_dim3 grid, struct gw_arena *arena);

/**
 * Where copies at the edges of tensors are smaller, or were not seen at all, look at more blocks of
 * the launch: at all of them, or at GW_TMA_BLOCKS spread over the grid, within @p steps warp
 * instructions. False when @p arena has no room.
 */
bool gw_tma_look(struct gw_tma_copies *c, struct gw_eval *eval, const struct gw_config *config,
		 uint64_t steps, struct gw_arena *arena);

/** Add an execution by a warp of a block that is looked at; nothing where it is none of a copy. */
void gw_tma_see(struct gw_tma_copies *c, const struct gw_eval_access *access);

#endif
