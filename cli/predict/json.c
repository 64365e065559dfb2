/* The answers of `gpuwatch predict` as JSON. Unknown is null, with the reason beside it. */
#include "cli/predict/predict.h"

#include <math.h>
#include <string.h>

#include "cli/command.h"
#include "cli/common/json.h"
#include "predictor/models/verdict.h"

static json_t *terms(const struct gw_estimate *e)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < e->term_count; i++)
		json_array_append_new(list, json_pack("{s:o,s:o,s:o,s:b}", "name",
						      gw_json_text(e->terms[i].name), "value",
						      gw_json_number(e->terms[i].value), "unit",
						      gw_json_text(e->terms[i].unit), "resource",
						      e->terms[i].resource));
	return list;
}

json_t *predict_answer_json(const struct gw_model *model, const struct gw_estimate *e,
			    double measured)
{
	json_t *warnings = json_array();

	for (unsigned i = 0; i < e->warning_count; i++)
		json_array_append_new(warnings, gw_json_text(e->warnings[i]));
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "model", gw_json_text(model->name),
			 "seconds", gw_json_number(e->seconds), "reason",
			 isnan(e->seconds) ? gw_json_text(e->reason) : json_null(), "error",
			 gw_json_number(estimate_error(e->seconds, measured)), "bound",
			 gw_json_text(gw_bound_name(e->bound)), "resource",
			 gw_json_text(e->binding), "terms", terms(e), "warnings", warnings);
}

static json_t *verdict(const struct launch_case *item, const struct gw_device *device,
		       double measured)
{
	json_t *evidence = json_array();
	struct gw_estimate bounds;
	struct gw_verdict v;

	estimate_verdict(item, device, measured, &v, &bounds);
	for (unsigned i = 0; i < v.evidence_count; i++)
		json_array_append_new(evidence,
				      json_pack("{s:o,s:o,s:o}", "what",
						gw_json_text(v.evidence[i].what), "value",
						gw_json_number(v.evidence[i].value), "unit",
						gw_json_text(v.evidence[i].unit)));
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "bound", gw_json_text(gw_bound_name(v.bound)),
			 "resource", gw_json_text(v.resource), "cause",
			 gw_json_text(gw_latency_cause_name(v.cause)), "confidence",
			 gw_json_number(v.confidence), "unknown", gw_json_text(v.unknown),
			 "evidence", evidence);
}

static json_t *intervals(const struct launch_case *item, const struct gw_device *device)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < item->interval_count; i++) {
		struct interval_answer a;

		interval_analyse(&item->intervals[i], device, &a);
		json_array_append_new(
			list,
			json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "name",
				  gw_json_text(item->intervals[i].name), "latency_cycles",
				  gw_json_number(item->intervals[i].latency), "dram_threads",
				  gw_json_number(a.dram), "l2_threads", gw_json_number(a.l2),
				  "dispatch_threads", gw_json_number(a.dispatch), "scarcest",
				  gw_json_text(a.scarcest), "seconds", gw_json_number(a.seconds)));
	}
	return list;
}

static json_t *on_device(const struct predict_job *job, const struct launch_case *item,
			 const struct gw_profile *profile)
{
	double measured = device_measured(item, profile);
	json_t *answers = json_array();
	struct gw_estimate e;

	for (const struct gw_model *const *m = job->models; *m; m++) {
		estimate_launch(*m, &profile->device, item, &e);
		json_array_append_new(answers, predict_answer_json(*m, &e, measured));
	}
	return json_pack("{s:o,s:o,s:o,s:o,s:o}", "device", gw_json_text(profile->device.name),
			 "measured_seconds", gw_json_number(measured), "verdict",
			 verdict(item, &profile->device, measured), "intervals",
			 intervals(item, &profile->device), "models", answers);
}

int predict_json(const struct predict_job *job)
{
	json_t *launches = json_array(), *root;

	for (size_t i = 0; i < job->file.count; i++) {
		const struct launch_case *item = &job->file.launches[i];
		json_t *devices = json_array();

		for (size_t d = 0; d < job->devices.count; d++)
			json_array_append_new(devices,
					      on_device(job, item, job->devices.profiles[d]));
		json_array_append_new(launches,
				      json_pack("{s:o,s:o,s:o}", "name", gw_json_text(item->label),
						"kernel", gw_json_text(item->kernel.name),
						"devices", devices));
	}
	root = json_pack("{s:o,s:o,s:o}", "title", gw_json_text(job->file.title), "source",
			 gw_json_text(job->file.source), "launches", launches);
	gw_json_print(root);
	return GW_EXIT_OK;
}
