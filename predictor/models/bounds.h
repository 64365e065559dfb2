/* SPDX-License-Identifier: Apache-2.0 */
/* gpuwatch's own model, and what it knows of each resource by itself, for verdicts and peaks. */
#ifndef GW_BOUNDS_H
#define GW_BOUNDS_H

#include "model.h"

/** The model itself: what gpuwatch predicts with. */
extern const struct gw_model gw_model_bounds;

enum { GW_RESOURCES_MAX = 24 }; /**< most resources the model has */

/** The time one resource needs for a launch at the rate the device profile gives it. */
struct gw_resource_time {
	const char *name;    /**< as in the model's terms; static string */
	enum gw_bound bound; /**< what it means to be bound by it */
	double seconds;      /**< NaN when the work or the rate is unknown */
};

/**
 * The resources of @p launch in the model's order, into @p out. As if the grid were spread evenly
 * over the GPU, which the model's own terms are not: measured time over these says how much of
 * the device's peak was reached. Returns how many there are.
 */
unsigned gw_bounds_even(const struct gw_device *device, const struct gw_launch *launch,
                        const struct gw_work *work, struct gw_resource_time out[GW_RESOURCES_MAX]);

/** Seconds that an empty kernel takes in the place of @p launch; NaN when its rates are unknown. */
double gw_bounds_launching(const struct gw_device *device, const struct gw_launch *launch);

#endif
