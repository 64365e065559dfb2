/* A job of the logs of its ranks: steps, and what each rank did in them. */
#ifndef GW_RANKS_BUILD_H
#define GW_RANKS_BUILD_H

#include "cli/ranks/read.h"

/** What was found of steps. */
struct ranks_steps {
	size_t period;   /**< collectives a step; 0: none repeat, so each counts as a step */
	uint64_t base;   /**< ns of CLOCK_REALTIME that the job's times count from */
	size_t apart;    /**< steps of the first rank that are not in all others, or not in order */
	size_t left_out; /**< ranks that have no collective in common with the first one */
};

/**
 * Make @p job of @p logs: @p count of them, which are put in order, those that are left out last.
 * False where fewer than two ranks have steps in common. ranks_unbuild() frees what it made.
 */
bool ranks_build(struct ranks_job *job, struct ranks_log *logs, size_t count,
		 const struct ranks_shapes *shapes, struct ranks_steps *steps);
void ranks_unbuild(struct ranks_job *job);

/* Steps of a rank: which of its collectives end them. */

/**
 * How many of @p count symbols, which are hashes, repeat: the least period after which nine tenths
 * of them are the same, or a shorter one of which more have the same symbols as the one before, in
 * any order; 0: none.
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
