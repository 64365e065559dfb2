/* SPDX-License-Identifier: Apache-2.0 */
/* Lines through points. An unavailable result is NaN: too few points, all x equal, no memory. */
#ifndef GW_CALIB_REGRESSION_H
#define GW_CALIB_REGRESSION_H

#include <stddef.h>

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
