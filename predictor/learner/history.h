/* The last times of one configuration: their median, spread and groups. */
#ifndef GW_HISTORY_H
#define GW_HISTORY_H

#include "predictor/learner/coverage.h"

enum { GW_HISTORY_WINDOW = 32 }; /**< times kept per configuration: the last ones */

/** The last times of a configuration; zero-initialised is empty. */
struct gw_history {
	uint32_t count;                 /**< times ever added */
	float times[GW_HISTORY_WINDOW]; /**< seconds, a ring */
	float drawn[GW_RANGE_TIMES];    /**< as many of all, each with the same probability */
	float level;                    /**< mean of the levels followed, s … */
	uint32_t levelled;              /**< … and count at the last */
};

/** Summary of a history. */
struct gw_history_summary {
	double median; /**< seconds, of the group of the latest time when there are several; of the
			  densest of a level */
	double sigma;  /**< robust standard deviation of log time, 0 for a single time */
	/** Least and greatest time of the window; of a full one, those next to them: nine in ten.
	 */
	double low, high;
	bool multimodal; /**< the times fall into two groups that differ by more than 10% */
};

/** Smallest first. */
void gw_sort(float *v, uint32_t n);
double gw_sorted_median(const float *sorted, uint32_t n);
/** Median of the shortest stretch that holds @p most of the values. */
double gw_sorted_densest(const float *sorted, uint32_t n, uint32_t most);

/** Add a time in seconds, > 0. */
void gw_history_add(struct gw_history *h, double seconds);

/** Number of times in the window. */
static inline uint32_t gw_history_size(const struct gw_history *h)
{
	return h->count < GW_HISTORY_WINDOW ? h->count : GW_HISTORY_WINDOW;
}

/**
 * Whether the times in the window agree: seven in eight within a quarter of their median. @p
 * scatter gets the standard deviation of their logarithm, regardless of order and groups.
 */
bool gw_history_agrees(const struct gw_history *h, double *scatter);

/** The least and the greatest of the times drawn from all; false while there are fewer. */
bool gw_history_range(const struct gw_history *h, double *low, double *high);

/** Summarise; false when there is no time yet. */
bool gw_history_summary(const struct gw_history *h, struct gw_history_summary *out);

/** A level that stays is better known than by its last window: @p s, of @p h, gets the mean. */
void gw_history_follow(struct gw_history *h, struct gw_history_summary *s);

#endif
