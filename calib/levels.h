/*
 * Levels of a memory from latencies and rates: where one ends and the next begins. Pure numbers; no
 * function changes its input. An unavailable result is NaN or a count of 0.
 */
#ifndef GW_CALIB_LEVELS_H
#define GW_CALIB_LEVELS_H

#include <stdbool.h>
#include <stddef.h>

/** Samples divided in two. */
struct gw_split {
	double boundary;  /**< half way between the greatest of the lower and the least of the upper
			   */
	double low, high; /**< median of either part */
	double share;     /**< of the samples in the lower part */
	double clarity;   /**< variance between the parts over total variance, 0 to 1 */
};

enum { GW_SPLIT_LEAST = 12 }; /**< fewest samples that are divided */

/**
 * Split @p x in two where the variance between the parts is greatest (Otsu). Samples below @p
 * low_quantile and above @p high_quantile count for neither the boundary nor the clarity. Any
 * samples can be split; gw_split_is_two decides whether they should be. All NaN below
 * GW_SPLIT_LEAST samples, or where they are all equal.
 */
struct gw_split gw_split_of(const double *x, size_t n, double low_quantile, double high_quantile);

/**
 * True where the parts are two populations: either part at least 5% of the samples, and the
 * medians apart by more than @p apart. A single normal distribution divides with a clarity of
 * 2/pi = 0.64, a uniform one with 0.75: above 0.8 there are two.
 */
bool gw_split_is_two(const struct gw_split *split, double apart);

/**
 * Mean of the samples above @p low and not above the @p share-quantile of all: what a model
 * multiplies, without outliers. For two populations the mean is stable where a median jumps. NaN
 * without samples.
 */
double gw_mean_within(const double *x, size_t n, double low, double share);

/** A curve that is level, steps up once, and is level again. */
struct gw_step {
	double low, high; /**< either level */
	double at;        /**< x where it crosses the middle between two points, by log x */
};

/**
 * The first step of @p n points, x rising and positive: their y divided in two (gw_split_of), the
 * levels apart by more than @p apart (a share of the lower). All NaN where y does not fall into
 * two, or begins with the upper.
 */
struct gw_step gw_step_of(const double *x, const double *y, size_t n, double apart);

/**
 * Build a curve from points measured in any order: sorted by x, points whose x are within @p merge
 * (a share) of the first of a group averaged, in place; @p x and @p y change. Returns how many
 * remain.
 */
size_t gw_curve_tidy(double *x, double *y, size_t n, double merge);

/**
 * The same for a curve that cannot fall: a y below the one before is raised with it to their
 * common mean (pool adjacent violators). @p n points sorted by x.
 */
void gw_curve_rising(double *y, size_t n);

/**
 * Cost of starting blocks, from the slopes of the launch regressions (Kleimenov and Popova 2021).
 */
struct gw_launch_rates {
	double per_block; /**< s/block: the slope at blocks of one warp */
	double per_warp;  /**< s/warp: the median slope per warp where warps count */
	size_t warps;     /**< block size, in warps, from which warps count; 0 when they never do */
};

/**
 * @p slope[i] is the seconds that each block of @p warps[i] warps adds, warps rising from 1. Warps
 * count where a block takes at least 1.5 times as long as one of one warp.
 */
struct gw_launch_rates gw_launch_rates_of(const double *warps, const double *slope, size_t n);

#endif
