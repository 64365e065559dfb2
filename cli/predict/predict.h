/* What the parts of `gpuwatch predict` share. */
#ifndef GW_PREDICT_H
#define GW_PREDICT_H

#include "cli/common/device_set.h"
#include "cli/common/estimate.h"

#include <jansson.h>

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
/**
 * Print what each of @p models says of @p item in a table; @p measured: seconds, NaN when not
 * known. Where @p confidence is not NULL it holds one value per model, shown in place of the
 * errors.
 */
void predict_summary(const struct gw_model *const *models, const struct gw_device *device,
		     const struct launch_case *item, double measured, const double *confidence);
/** A model's answer as JSON, with its error against @p measured seconds where that is not NaN. */
json_t *predict_answer_json(const struct gw_model *model, const struct gw_estimate *e,
			    double measured);
/** Write the pictures into folder @p folder, made when it is not there. Returns the exit status. */
int predict_plot(const struct predict_job *job, const char *folder);
/** Rank block and grid sizes and print them. Returns the exit status. */
int predict_tune(const struct predict_job *job, bool any_grid, bool shared_per_thread, bool json);

#endif
