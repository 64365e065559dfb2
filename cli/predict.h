/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `gpuwatch predict` share. */
#ifndef GW_PREDICT_H
#define GW_PREDICT_H

#include "cli/device_set.h"
#include "cli/estimate.h"

/** A job: which launches, devices and models. */
struct predict_job {
	struct launch_file file;
	struct device_set devices;
	const struct gw_model *const *models; /**< NULL-terminated */
};

/** Print every answer as text. */
void predict_text(const struct predict_job *job);
/** Print every answer as one JSON document. Returns the exit status. */
int predict_json(const struct predict_job *job);
/** Write the pictures into folder @p folder, made when it is not there. Returns the exit status. */
int predict_plot(const struct predict_job *job, const char *folder);
/** Rank block and grid sizes and print them. Returns the exit status. */
int predict_tune(const struct predict_job *job, bool any_grid, bool shared_per_thread, bool json);

#endif
