/*
 * How many different numbers were seen, in bounded memory: exact while they fit, beyond that by
 * adaptive sampling (Wegman; analysed by Flajolet 1990). When the table is full only numbers whose
 * hash ends in one more zero bit stay, and later ones are held to the same rule, so what is kept
 * is a fair sample of 1 in 2^k. As the rule looks at the number alone, two sets keep the same
 * numbers, and gives the size of their intersection too.
 */
#ifndef GW_CODE_DISTINCT_H
#define GW_CODE_DISTINCT_H

#include "predictor/core/arena.h"

#include <stdint.h>

/** A set. Its memory is the arena's. */
struct gw_distinct {
	uint64_t *slot;      /**< hash table of `size` places; UINT64_MAX where free */
	uint64_t *spare;     /**< another of the same size, once the set has had to be thinned */
	uint32_t size;       /**< a power of two */
	uint32_t count;      /**< numbers kept */
	uint32_t limit;      /**< most numbers kept */
	unsigned level;      /**< k: 1 in 2^k numbers is kept; 0 means exact */
	bool refused;        /**< the arena gave no memory: the set is not to be relied on */
	struct gw_arena *in; /**< where the table grows */
};

/** An empty set that keeps at most @p limit numbers (rounded up to a power of two, at least 16). */
void gw_distinct_init(struct gw_distinct *set, struct gw_arena *arena, uint32_t limit);

/** Add @p number, which is not UINT64_MAX. */
void gw_distinct_add(struct gw_distinct *set, uint64_t number);

/** Different numbers added, exact or estimated; NaN when memory was refused. */
double gw_distinct_count(const struct gw_distinct *set);

/** Relative standard error of that count: 0 when exact, else 1.2 / sqrt(limit). */
double gw_distinct_error(const struct gw_distinct *set);

/** Numbers in both sets, at the coarser level of the two; NaN when memory was refused. */
double gw_distinct_common(const struct gw_distinct *a, const struct gw_distinct *b);

/** Add every number that @p from keeps to @p to, and @p from's level with them. */
void gw_distinct_merge(struct gw_distinct *to, const struct gw_distinct *from);

#endif
