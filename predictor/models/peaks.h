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

/*
 * What a launch can have used of the parts of the GPU of which it isn't known how much it did: no
 * more than what is known beside it leaves. So a verdict can exclude what was not counted.
 */

/** A memory level or pipe with unknown use. */
struct gw_unmeasured {
	const char *name; /**< as in the model `bounds`; NULL: there is none that matters */
	const char *why;  /**< what of it is not known; static string */
	double share;     /**< of its peak that the launch may have reached, at most; 0 to 1 */
	unsigned limited; /**< how many others are unknown, but limited to less than @p line */
};

/**
 * Of the @p count @p peaks of @p launch that are not known, the one that may have been nearest
 * to its peak in the @p seconds it took, if that may be @p line or more. Limits are those of
 * docs/internals/models.md, "What was not counted".
 */
struct gw_unmeasured gw_limits(const struct gw_device *device, const struct gw_launch *launch,
			       const struct gw_work *work, const struct gw_peak *peaks,
			       unsigned count, double seconds, double line);

#endif
