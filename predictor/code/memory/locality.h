/*
 * Locality of a launch: which sectors its blocks touch, how much of that they share, and what
 * follows for L1, L2 and device memory. Fed with the requests of some blocks, all of the block's
 * warps each; sets are exact while small and fair samples beyond (distinct.h).
 */
#ifndef GW_CODE_LOCALITY_H
#define GW_CODE_LOCALITY_H

#include "predictor/code/memory/distinct.h"
#include "predictor/code/memory/request.h"
#include "predictor/core/types.h"

enum {
	GW_LOCALITY_BLOCKS = 64,    /**< most blocks looked at */
	GW_LOCALITY_ACCESSES = 128, /**< most instructions kept apart */
	GW_LOCALITY_SECTORS = 4096, /**< sectors of a block and instruction kept exactly */
	GW_LOCALITY_REPEATS = 256,  /**< iterations of a loop that are followed one by one */
};

/** What one instruction did in one block. */
struct gw_locality_cell {
	struct gw_distinct sectors;
	double requests; /**< by warps */
	double demanded; /**< sectors, summed over requests */
	double beyond;   /**< sectors that iterations not followed add, by the growth seen before */
};

/** A memory instruction. */
struct gw_locality_access {
	uint32_t id;        /**< the caller's own number for it */
	bool store;         /**< writes; an atomic does too */
	uint64_t low, high; /**< first and last sector touched by the blocks looked at */
	double uncounted;   /**< requests whose addresses are not known */
	double requests;    /**< all others */
};

/** A share with how much of it is known. */
struct gw_locality_hits {
	double rate;     /**< of sector look-ups that hit, 0 to 1; NaN without loads */
	double demanded; /**< sectors asked for by a block's loads, mean over the grid's
			      blocks */
	double distinct; /**< of these different ones, likewise */
	double common;   /**< of the distinct ones, what blocks far apart load too */
};

/** Bytes to and from device memory. */
struct gw_locality_dram {
	double read, write; /**< B */
	double footprint;   /**< B of the grid, loads and stores together */
	double stored;      /**< of these in sectors that are only stored to */
	double grain; /**< B of granules over B of sectors loaded, 1 or more: what a sector costs */
	bool fits;    /**< the footprint is no larger than L2 */
};

/** The accumulator. Arrays are the arena's. */
struct gw_locality {
	struct gw_arena *arena;
	struct gw_dim3 grid;
	uint32_t block_count, access_count;
	struct gw_dim3 block[GW_LOCALITY_BLOCKS];
	double weight[GW_LOCALITY_BLOCKS]; /**< blocks of the grid that each stands for */
	struct gw_locality_access access[GW_LOCALITY_ACCESSES];
	struct gw_locality_cell *cell[GW_LOCALITY_BLOCKS][GW_LOCALITY_ACCESSES]; /**< NULL: none */
	bool dropped;       /**< requests of more blocks or instructions than there is room for */
	bool refused;       /**< the arena gave no memory */
	bool counted_alone; /**< questions are about the requests whose addresses are known */
	/** Answers for a launch, without and with `counted_alone`, once it asked for them. */
	struct gw_locality_answer {
		bool known;
		struct gw_locality_hits hits;
		struct gw_locality_dram dram;
	} answers[2];
};

/** An empty accumulator on @p arena, itself taken from it; NULL when it has no room. */
struct gw_locality *gw_locality_new(struct gw_arena *arena, struct gw_dim3 grid);

/**
 * Blocks worth looking at, at most @p most (at least 8), without doubles: one in the middle with
 * its neighbour in each dimension, for the grid's footprint; the first and the last; then those
 * that follow the middle one, for the locality graph. All of a grid that is no larger.
 */
unsigned gw_locality_choose(struct gw_dim3 grid, unsigned most,
			    struct gw_dim3 out[GW_LOCALITY_BLOCKS]);

/** The middle block of a grid, whose neighbours above in each dimension are looked at as well. */
struct gw_dim3 gw_locality_middle(struct gw_dim3 grid);

/**
 * Add a request of instruction @p id in block @p block, executed @p times, its addresses growing by
 * @p step bytes from one to the next, all of it @p rounds times over.
 */
void gw_locality_add(struct gw_locality *l, struct gw_dim3 block, uint32_t id, bool store,
		     const struct gw_request *r, double times, int64_t step, double rounds);

/** Note @p times requests whose addresses are not known. */
void gw_locality_uncounted(struct gw_locality *l, uint32_t id, bool store, double times);

/**
 * Set the blocks' weights so that what they ask for adds up to the grid's: @p runs of each
 * instruction, in the order of l->access; NaN or infinite: not known. By iterative proportional
 * fitting (Deming & Stephan 1940), from equal weights. Until it is called blocks weigh the same.
 */
void gw_locality_weigh(struct gw_locality *l, const double *runs);

/** What a set of sectors was found to be. */
struct gw_footprint {
	double sectors;  /**< distinct; NaN when not known */
	double granules; /**< distinct 64-byte pairs of sectors, which device memory gives together;
			      NaN also when the sectors were sampled */
	double lines;    /**< distinct 128-byte lines; NaN as granules */
	double error;    /**< relative standard error of `sectors`; 0: exact */
};

/** Which instructions a question is about. */
enum gw_locality_of { GW_LOCALITY_LOADS, GW_LOCALITY_STORES, GW_LOCALITY_ALL };

/** Footprint of the block in place @p slot of l->block. */
void gw_locality_block(const struct gw_locality *l, uint32_t slot, enum gw_locality_of of,
		       struct gw_footprint *out);

/** Footprint of the grid. */
struct gw_locality_grid {
	struct gw_footprint footprint;
	bool counted; /**< every block was looked at; else extrapolated */
};

/**
 * The grid's footprint: counted when every block was looked at. Otherwise instructions whose
 * ranges of sectors overlap are taken together (one array each, as a rule), and for each such group
 *   F_grid = F_block x product over dimensions d of (1 + (n_d - 1) fresh_d),
 * n_d the grid's extent and fresh_d the share of a block's sectors that its neighbour in d does
 * not touch; no more than the group's whole range, where corners were looked at. Exact where a
 * block's sectors are a product of its places along the dimensions, as tiles with or without a halo
 * are.
 */
void gw_locality_grid(const struct gw_locality *l, enum gw_locality_of of,
		      struct gw_locality_grid *out);

/** The locality graph between blocks (Kim 2023, 2.1; LocalityGuru, PAVER) of the blocks looked at.
 */
struct gw_block_graph {
	uint32_t blocks;
	double *shared; /**< [a * blocks + b]: sectors that both touch; the diagonal is a's own */
	/** 1 - non-zero elements of the matrix / all its elements, the diagonal left out of both.
	 */
	double sp_score;
	double degree_of_sharing; /**< blocks that share with any other / blocks */
	double error;             /**< relative standard error of the larger sets; 0: exact */
};

/** False when the arena has no room, or no block was looked at. */
bool gw_locality_graph(const struct gw_locality *l, struct gw_block_graph *out);

/**
 * Hits of global loads in a cache that holds all a block touches: a sector misses when the block
 * first asks for it, and only then. What other blocks bring along is left out; for a block that
 * touches more than the cache holds there is gw_replay_hits().
 */
void gw_locality_l1(const struct gw_locality *l, struct gw_locality_hits *out);

/**
 * What a launch whose data is not in L2 yet moves. What is loaded comes once, in granules; with a
 * footprint beyond L2, what a round of blocks (@p resident, in the order they start) loads again
 * after an earlier round finds its data gone with probability 1 - L2 / footprint, and what is
 * written has as much written back, of this launch or of those before. NaN where the footprint is
 * not known.
 */
void gw_locality_dram(const struct gw_locality *l, double resident, double l2_bytes,
		      struct gw_locality_dram *out);

#endif
