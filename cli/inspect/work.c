/* The static work of a described launch, and what the models say of it. */
#include "cli/inspect/eval.h"

#include <math.h>
#include <stdio.h>

#include "cli/common/estimate.h"
#include "cli/common/number.h"
#include "cli/inspect/launch.h"
#include "cli/predict/predict.h"
#include "cli/message.h"
#include "cli/table.h"
#include "predictor/code/static_code.h"
#include "predictor/models/papers/models.h"

/** The work of a launch. */
struct analyzed {
	struct launch_case item; /**< as a described launch: name, kernel, configuration, work */
	const char *why;         /**< why it is unknown; NULL: it is not */
	const char *open;        /**< why instruction counts are not exact; NULL: they are */
};

static struct analyzed analyze(const struct inspect_job *job, const struct gw_kernel *kernel,
			       const struct gw_static_code *code)
{
	struct analyzed t = {.item = {.label = kernel->name,
				      .kernel = *kernel,
				      .config = job->launch->config,
				      .has_config = true}};
	struct gw_launch launch = launch_case_launch(&t.item);
	struct gw_static_code in = *code;
	struct gw_arena arena;

	gw_arena_init(&arena, INSPECT_MEMORY);
	in.launch = &launch;
	in.device = job->device;
	t.why = gw_static_code_work(&in, &arena, &t.item.work, &t.open);
	gw_arena_free(&arena);
	return t;
}

static double confidence(const struct analyzed *t, const struct gw_model *model,
			 const struct gw_device *device)
{
	struct gw_launch launch = launch_case_launch(&t->item);

	return gw_static_confidence(model, device, &launch, &t->item.work);
}

static void rows_text(const struct gw_work *work)
{
	static const struct gw_table_column columns[] = {{"STATIC WORK", false, false, 0},
							 {"VALUE", true, false, 0},
							 {"UNIT", false, false, 0},
							 {"CONFIDENCE", true, false, 0}};
	struct gw_table *table = gw_table_new(columns, 4);

	for (unsigned f = 0; f < GW_WORK_FIELDS; f++) {
		const struct gw_quantity *q = &work->q[f];

		if (q->source == GW_SOURCE_NONE || q->value == 0)
			continue;
		gw_table_cell(table, gw_work_info(f).name);
		gw_table_cellf(table, "%.9g", q->value);
		gw_table_cell(table, gw_work_info(f).unit);
		gw_table_cellf(table, "%.2f", (double)q->confidence);
	}
	gw_table_show(table, 4);
}

static void text(const struct analyzed *t, const struct gw_device *device)
{
	struct gw_text least;
	double sure[64];
	unsigned n = 0;

	printf("\n");
	if (t->why) {
		printf("    work unknown: %s\n", t->why);
		return;
	}
	rows_text(&t->item.work);
	if (t->open)
		printf("    instructions are not settled: %s\n", t->open);
	if (gw_work_least(&t->item.work) > 0)
		printf("    what is not known before the launch decides how much it does: at least "
		       "%s; nothing is predicted from this\n",
		       gw_duration(&least, 1e9 * gw_work_least(&t->item.work)));
	if (gw_work_spread(&t->item.work) > 0)
		printf("    memory contents decide some of what it does: the work is what is "
		       "likely, "
		       "which makes the time up to %.1f times shorter or longer in nine of ten "
		       "cases\n",
		       exp(GW_NINE_IN_TEN * gw_work_spread(&t->item.work)));
	printf("\n  static estimates for %s, before anything was counted\n", device->name);
	for (const struct gw_model *const *m = gw_models; *m && n < 64; m++)
		sure[n++] = confidence(t, *m, device);
	predict_summary(gw_models, device, &t->item, NAN, sure);
}

static json_t *rows_json(const struct gw_work *work)
{
	json_t *o = json_object();

	for (unsigned f = 0; f < GW_WORK_FIELDS; f++) {
		const struct gw_quantity *q = &work->q[f];

		if (q->source != GW_SOURCE_NONE)
			json_object_set_new(o, gw_work_info(f).name,
					    json_pack("{s:o, s:s, s:o}", "value",
						      gw_json_number(q->value), "source",
						      gw_source_name(q->source), "confidence",
						      gw_json_number((double)q->confidence)));
	}
	return o;
}

static json_t *estimates_json(const struct analyzed *t, const struct gw_device *device)
{
	json_t *list = json_array();
	struct gw_estimate e;

	for (const struct gw_model *const *m = gw_models; *m; m++) {
		json_t *answer;

		estimate_launch(*m, device, &t->item, &e);
		answer = predict_answer_json(*m, &e, NAN);
		gw_set_text(answer, "source", gw_source_name(GW_SOURCE_STATIC));
		gw_set_number(answer, "confidence", confidence(t, *m, device));
		json_array_append_new(list, answer);
	}
	return list;
}

json_t *inspect_work(const struct inspect_job *job, const struct gw_kernel *kernel,
		     const struct gw_static_code *code)
{
	struct analyzed t = analyze(job, kernel, code);

	if (!job->json) {
		text(&t, job->device);
		return NULL;
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "why_not", gw_json_text(t.why), "not_settled",
			 gw_json_text(t.open), "device", gw_json_text(job->device->name), "work",
			 rows_json(&t.item.work), "models",
			 t.why ? json_array() : estimates_json(&t, job->device));
}
