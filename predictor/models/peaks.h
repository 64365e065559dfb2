/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launch's use of each part of the GPU that has a measured peak, and the time the peak needs for
 * it: achieved rate = amount / measured time, peak = amount / seconds, and seconds / measured time
 * is the share of the peak that was reached.
 */
#ifndef GW_PEAKS_H
#define GW_PEAKS_H

#include "predictor/models/bounds.h"

/**
 * A resource at this share of its peak or more bounds a launch; below it everywhere, latency does.
 * Nsight Compute's Speed-of-Light draws the same line.
 */
#define GW_NEAR_PEAK 0.6

/** One memory level or pipe. */
struct gw_peak {
	const char *name;      /**< as in the model `bounds`: dram, l2, fp64, ...; static string */
	enum gw_bound bound;   /**< GW_BOUND_MEMORY or GW_BOUND_COMPUTE */
	double seconds;        /**< time of the work at the peak; NaN when either is unknown */
	double amount;         /**< of work in @p unit; NaN when unknown */
	const char *unit;      /**< B, flop, op, warp inst, ...; static string */
	enum gw_source source; /**< source of the amount */
	double confidence;     /**< confidence of the amount, 0 to 1 */
};

/** Memory levels and pipes of @p launch, in the model's order; returns how many. */
unsigned gw_peaks(const struct gw_device *device, const struct gw_launch *launch,
                  const struct gw_work *work, struct gw_peak out[GW_RESOURCES_MAX]);

/**
 * Of the @p count @p peaks of a launch measured to take @p seconds, drop those that the time
 * refutes: an amount that was not counted and that exceeds its peak by more than launches bound by
 * it stay below (GW_NEAR_PEAK).
 */
void gw_peaks_measured(struct gw_peak *peaks, unsigned count, double seconds);

/** The slowest; NULL when none is known. */
const struct gw_peak *gw_peak_first(const struct gw_peak *peaks, unsigned count);

/**
 * Confidence of the amount of work behind @p resource of the model `bounds`, 0 to 1; 1 for what
 * follows from the configuration alone.
 */
double gw_resource_trust(const struct gw_work *work, const char *resource);

#endif
