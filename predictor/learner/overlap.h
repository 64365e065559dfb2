/*
 * Times of a configuration beside other kernels. Overlapped times do not train the median, but lie
 * inside the interval where they are frequent.
 */
#ifndef GW_OVERLAP_H
#define GW_OVERLAP_H

#include "predictor/learner/coverage.h"

/** The latest of them; zero-initialised is empty. */
struct gw_overlap {
	float share;    /**< of the latest launches, those beside others; fades over 32 */
	uint32_t count; /**< times ever added */
	float times[GW_RANGE_TIMES]; /**< seconds, a ring */
};

/** A launch took @p seconds, @p exclusive or beside others. */
void gw_overlap_add(struct gw_overlap *c, bool exclusive, double seconds);

/**
 * The least and the greatest of the times beside others. False while such launches are so few that
 * an interval of the others holds nine in ten of all but for half of the misses it may have.
 */
bool gw_overlap_range(const struct gw_overlap *c, double *low, double *high);

#endif
