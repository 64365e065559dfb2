/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of `gpuwatch predict` as JSON. Unknown is null, with the reason beside it. */
#include "cli/predict.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/say.h"

static json_t *number(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

/* Text of a file is UTF-8 already; a profile's or model's is checked here too. */
static json_t *text(const char *s)
{
	json_t *t = s ? json_string(s) : json_null();

	return t ? t : json_string("?");
}

static json_t *terms(const struct gw_estimate *e)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < e->term_count; i++)
		json_array_append_new(list, json_pack("{s:o,s:o,s:o,s:b}", "name", text(e->terms[i].name),
		                                      "value", number(e->terms[i].value), "unit",
		                                      text(e->terms[i].unit), "resource",
		                                      e->terms[i].resource));
	return list;
}

static json_t *answer(const struct gw_model *model, const struct gw_estimate *e, double measured)
{
	json_t *warnings = json_array();

	for (unsigned i = 0; i < e->warning_count; i++)
		json_array_append_new(warnings, text(e->warnings[i]));
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "model", text(model->name), "seconds",
	                 number(e->seconds), "reason", isnan(e->seconds) ? text(e->reason) : json_null(),
	                 "error", number(estimate_error(e->seconds, measured)), "bound",
	                 text(gw_bound_name(e->bound)), "resource", text(e->binding), "terms", terms(e),
	                 "warnings", warnings);
}

static json_t *on_device(const struct predict_job *job, const struct launch_case *item,
                         const struct gw_profile *profile)
{
	double measured = device_measured(item, profile);
	json_t *answers = json_array();
	struct gw_estimate e;

	for (const struct gw_model *const *m = job->models; *m; m++) {
		estimate_launch(*m, &profile->device, item, &e);
		json_array_append_new(answers, answer(*m, &e, measured));
	}
	return json_pack("{s:o,s:o,s:o}", "device", text(profile->device.name), "measured_seconds",
	                 number(measured), "models", answers);
}

int predict_json(const struct predict_job *job)
{
	json_t *launches = json_array(), *root;

	for (size_t i = 0; i < job->file.count; i++) {
		const struct launch_case *item = &job->file.launches[i];
		json_t *devices = json_array();

		for (size_t d = 0; d < job->devices.count; d++)
			json_array_append_new(devices, on_device(job, item, job->devices.profiles[d]));
		json_array_append_new(launches, json_pack("{s:o,s:o,s:o}", "name", text(item->label),
		                                          "kernel", text(item->kernel.name), "devices",
		                                          devices));
	}
	root = json_pack("{s:o,s:o,s:o}", "title", text(job->file.title), "source",
	                 text(job->file.source), "launches", launches);
	if (!root || json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) != 0) {
		json_decref(root);
		return gw_error("the JSON output could not be made or written");
	}
	printf("\n");
	json_decref(root);
	return GW_EXIT_OK;
}
