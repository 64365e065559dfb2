/* The parts of `gpuwatch calibrate`. */
#ifndef GW_CLI_CALIBRATE_H
#define GW_CLI_CALIBRATE_H

#include "calib/calibrate.h"
#include "cli/plot/chart.h"
#include "predictor/profile/profile.h"

#include <jansson.h>

/** What the run has said so far, for the progress bar on stderr. */
struct calibrate_progress {
	bool bar;     /**< stderr is a terminal: one line that is drawn again */
	double drawn; /**< seconds of the monotonic clock when the bar was drawn last */
	unsigned published, refused; /**< values, in all groups */
};

/** The listener that shows progress; @p p must outlive it. */
struct gw_calibration_listener calibrate_listener(struct calibrate_progress *p);
/** Take the bar away. */
void calibrate_progress_end(struct calibrate_progress *p);

/** The values of @p profile as tables on stdout, the functions after the numbers. */
void calibrate_tables(const struct gw_profile *profile);
/** Pictures of what the profile has into @p folder; false after a message. */
bool calibrate_plot(const struct gw_profile *profile, const char *folder);
/** @p count profiles, 1 or 2, as a page at @p path ("-": stdout); false after a message. */
bool calibrate_html(const struct gw_profile *const *profiles, size_t count, const char *path);
/** The profile as JSON on stdout; the exit status. */
int calibrate_json(const struct gw_profile *profile);

/* The pictures of a calibration that are more than curves of its profile. */

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
