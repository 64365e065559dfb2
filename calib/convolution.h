/*
 * Distributions over whole cycles, and the difference of two of them (Sanchez Gil 2017, eqs. 6.1 to
 * 6.3).
 *
 * A timed operation costs Z = X + Y: X is the operation's time and Y that of reading the clock,
 * independent of each other. Sanchez Gil estimates X as Z + (-Y): the distribution of Z convolved
 * with the reflected one of Y. That has the mean of X, but its variance is that of X plus twice
 * that of Y; gw_dist_narrow gives the deviation of X itself.
 */
#ifndef GW_CALIB_CONVOLUTION_H
#define GW_CALIB_CONVOLUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GW_DIST_SPAN = 1 << 20 }; /**< most cycles from a distribution's first to its last */

/** A distribution: mass[i] is the probability of first + i cycles. Empty when count is 0. */
struct gw_dist {
	int64_t first;
	size_t count;
	double *mass; /**< owned; gw_dist_free */
};

/** Of the whole cycles in @p samples. Empty when there are none, one is not finite, the span is
 * beyond GW_DIST_SPAN, or there is no memory. */
struct gw_dist gw_dist_of(const double *samples, size_t n);

/** Of the sum of two independent quantities; empty when either is. */
struct gw_dist gw_dist_sum(const struct gw_dist *a, const struct gw_dist *b);

/** Of the negative. */
struct gw_dist gw_dist_reflected(const struct gw_dist *a);

/** Of @p z less @p y: the sum of z and the reflected y. */
struct gw_dist gw_dist_difference(const struct gw_dist *z, const struct gw_dist *y);

void gw_dist_free(struct gw_dist *d);

/** Moments and order statistics; NaN when empty. */
double gw_dist_mean(const struct gw_dist *d);
double gw_dist_deviation(const struct gw_dist *d);
/** Least value that at least @p share of the mass does not exceed. */
double gw_dist_quantile(const struct gw_dist *d, double share);
/** Most probable value up to @p high, INFINITY for all; the least of several. */
double gw_dist_mode(const struct gw_dist *d, double high);

/** sqrt(var Z - var Y): the deviation of X in Z = X + Y; NaN where Y varies more than Z. */
double gw_dist_narrow(const struct gw_dist *z, const struct gw_dist *y);

/** The values of @p d from @p low to @p high cycles, both included. */
struct gw_dist_part {
	double low, high; /**< cycles */
	double mass;      /**< probability of lying there */
	double mean;      /**< of the values there */
};

/**
 * The interval around the mode (Sanchez Gil 2017, 6.3.2): from the most probable value up to @p
 * high, equally far to either side, so that its mean stays near the mode. The mode is searched
 * below @p high (the thesis uses the start of the next memory level). All NaN without a mode there.
 */
struct gw_dist_part gw_dist_around_mode(const struct gw_dist *d, double high);

/** The part between two values; its mean is NaN where there is no mass. */
struct gw_dist_part gw_dist_between(const struct gw_dist *d, double low, double high);

#endif
