/*
 * Robust statistics of samples. No function changes its input. An unavailable result (no samples, a
 * NaN among them, no memory) is NaN.
 */
#ifndef GW_CALIB_STATS_H
#define GW_CALIB_STATS_H

#include <stddef.h>

/** Middle value, the mean of the two middle ones of an even count. */
double gw_median(const double *x, size_t n);

/**
 * The @p share-quantile, 0 to 1, linear between order statistics (type 7 of Hyndman and Fan):
 * share 0 is the least sample, 1 the greatest, 0.5 the median.
 */
double gw_sample_quantile(const double *x, size_t n, double share);

/**
 * Robust standard deviation: 1.4826 times the median distance from the median, which for normal
 * samples estimates their standard deviation. 0 where more than half of the samples are equal.
 */
double gw_spread(const double *x, size_t n);

/* Lines through points. An unavailable result is NaN: too few points, all x equal, no memory. */

/** y = intercept + slope * x. */
struct gw_line {
	double slope, intercept;
	double slope_error, intercept_error; /**< standard errors; NaN below three points */
	double r2; /**< share of y's variance the line explains, at most 1; NaN where y is constant
		    */
};

/** Least squares. */
struct gw_line gw_line_fit(const double *x, const double *y, size_t n);

/**
 * Least squares of the relative residuals: each point weighs 1 / y², so that errors count as shares
 * of y. For points over several orders of magnitude; y must be positive. R² is that of the
 * weighted sums.
 */
struct gw_line gw_line_fit_relative(const double *x, const double *y, size_t n);

#endif
