/*
 * How far times moved between two runs: the Hodges-Lehmann estimate of the ratio with its 95%
 * interval (Hodges & Lehmann 1963), and the probability of as large a difference without a change
 * (Mann & Whitney 1947).
 *
 * Times of one run depend on their neighbours: clocks and caches drift. So a long series is cut
 * into batches of consecutive times, one value each, and what dependence is left between batches
 * widens the interval.
 */
#ifndef GW_DIFF_SHIFT_H
#define GW_DIFF_SHIFT_H

#include <stdbool.h>
#include <stddef.h>

enum {
	SHIFT_BATCHES = 64, /**< most batches of a series */
	SHIFT_FEWEST = 4,   /**< fewest times of a series for an interval */
};

/** A shift between two series of times. Ratios: above 1 the other run is slower. */
struct shift {
	double ratio;     /**< estimate; NaN: a series is empty */
	double low, high; /**< 95% interval of it; NaN: too few times for one */
	double p;         /**< probability of the data without a change; NaN: too few times */
};

/**
 * The shift from @p base to @p other: times in the order in which they were measured, any unit,
 * above 0.
 */
struct shift shift_between(const float *base, size_t base_count, const float *other,
			   size_t other_count);

/**
 * Which of @p count probabilities are significant when at most @p rate of those found may be false
 * (Benjamini & Hochberg 1995), into @p found. NaN never is.
 */
void shift_discoveries(const double *p, size_t count, double rate, bool *found);

#endif
