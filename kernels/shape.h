/*
 * Shared by the microbenchmarks of operations, the host that launches them and the test that
 * disassembles them.
 */
#ifndef GW_KERNELS_SHAPE_H
#define GW_KERNELS_SHAPE_H

#include <stdint.h>

/**
 * Values the compiler must not know. In memory: an argument would be loaded again where it is used,
 * between two readings of the clock.
 */
struct gw_hidden {
	uint32_t zero;   /**< 0 */
	uint32_t guard;  /**< low word that no result has */
	uint32_t rounds; /**< repetitions inside the kernel */
};

/** The one argument of these kernels; addresses are of the device. */
struct gw_operands {
	uint64_t in;     /**< of the operation's type, by lane: first operand, constants b, c */
	uint64_t out;    /**< results, of the same type */
	uint64_t cycles; /**< 32-bit readings of the clock; see operations.cuh */
	uint64_t hidden; /**< struct gw_hidden */
};

enum {
	GW_LANES = 32,   /**< threads of a warp, and operands of each kind */
	GW_LONG = 4,     /**< length of the long chain over the short one */
	GW_RECORD = 4,   /**< words a warp of a rate kernel records: SM, first and last reading */
	GW_SEQUENCE = 4, /**< a chain this short is of an operation of many instructions */
	GW_WAIT_PAGE = 4608, /**< and from round to round: near or far in L2 */
	GW_WAIT_WORDS =
		4096,     /**< from the results of a chain of waits.def to its words of memory */
	GW_BATCH_MAX = 8, /**< most independent operations between two readings (Sanchez Gil 2017,
			     table 12) */

	GW_ISSUE_CHAINS = 4, /**< of each kind in gw_rate_issue */
	GW_ISSUE_STEPS = 32,
	GW_SWAP_STEPS = 16, /**< swaps in a turn of gw_rate_swap_*: two loads and two stores each */

	GW_WGMMA_SLICES = 4,    /**< operations in the depth of a tile, and in the short chain */
	GW_WGMMA_STEPS = 16,    /**< operations in a turn of the rate kernel */
	GW_WGMMA_SUMS = 128,    /**< 32-bit sums of a thread */
	GW_WGMMA_THREADS = 128, /**< of a warpgroup */
	GW_WGMMA_A_BYTES = 64 * 128,
	GW_WGMMA_B_BYTES = 256 * 128,
};

/**
 * The types of an operation: TYPE(name, bytes, steps, chains). A rate kernel's thread has that many
 * chains, of which an iteration makes that many steps; GW_SEQUENCE operations an eighth of them.
 */
#define GW_TYPES(TYPE) \
	TYPE(f32, 4, 32, 8) \
	TYPE(f64, 8, 32, 8) \
	TYPE(b32, 4, 32, 8) \
	TYPE(b64, 8, 32, 8) \
	TYPE(b32x4, 16, 16, 4) \
	TYPE(f64x4, 32, 16, 2)

#endif
