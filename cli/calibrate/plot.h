/* SPDX-License-Identifier: Apache-2.0 */
/* The pictures of a calibration that are more than curves of its profile. */
#ifndef GW_CALIBRATE_PLOT_H
#define GW_CALIBRATE_PLOT_H

#include "cli/plot/chart.h"
#include "predictor/profile/profile.h"

#include <jansson.h>

/** The experimental roofline: measured points under the measured roofs; NULL without points. */
struct svg *calibrate_roofline(const struct gw_profile *profile);

/** What the pages draw: the pictures of curves with their axes, and the sweeps of the roofline. */
json_t *calibrate_pictures_json(void);
json_t *calibrate_sweeps_json(void);
/** The highest bandwidth of device memory that was measured, B/s; NaN where none is known. */
double calibrate_bandwidth(const struct gw_device *device);

/** Duration of an empty kernel against its grid, by block size; NULL without regressions. */
struct svg *calibrate_launch_times(const struct gw_profile *profile);

#endif
