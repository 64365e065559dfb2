/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a rank: which of its collectives end them. */
#ifndef GW_RANKS_STEPS_H
#define GW_RANKS_STEPS_H

#include "cli/ranks/read.h"

/**
 * How many of @p count symbols repeat: the least period after which nine tenths of them are the
 * same; 0: none.
 */
size_t ranks_period(const uint64_t *symbols, size_t count);

/** Which runs of @p log are collectives, into @p out, which the caller frees; how many. */
size_t ranks_meetings(const struct ranks_log *log, size_t **out);

/**
 * The keys of the collectives that end steps, in order, into @p out, which the caller frees; how
 * many.
 * @p period: collectives a step; 0: none repeat, and each one ends a step.
 */
size_t ranks_boundaries(const struct ranks_log *log, uint64_t **out, size_t *period);

#endif
