/* gpuwatch's own model, and its resources one by one, for verdicts and peaks. */
#ifndef GW_BOUNDS_H
#define GW_BOUNDS_H

#include "model.h"

/** The model that gpuwatch predicts with. */
extern const struct gw_model gw_model_bounds;

enum { GW_RESOURCES_MAX = 24 }; /**< most resources the model has */

/** The time one resource needs for a launch at the rate the device profile gives it. */
struct gw_resource_time {
	const char *name;    /**< as in the model's terms; static string */
	enum gw_bound bound; /**< bound that this resource stands for */
	double seconds;      /**< NaN when the work or the rate is unknown */
};

/**
 * The resources of @p launch in the model's order, into @p out, for a grid spread evenly over the
 * GPU, unlike the model's own terms: measured time over these gives the share of the device's peak.
 * Returns their number.
 */
unsigned gw_bounds_even(const struct gw_device *device, const struct gw_launch *launch,
			const struct gw_work *work, struct gw_resource_time out[GW_RESOURCES_MAX]);

/** Seconds that an empty kernel takes in the place of @p launch; NaN when its rates are unknown. */
double gw_bounds_launching(const struct gw_device *device, const struct gw_launch *launch);

#endif
