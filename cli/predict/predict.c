/* gpuwatch predict: what every model says of a described launch. */
#include "cli/predict/predict.h"

#include <stddef.h>
#include <string.h>

#include "cli/command.h"
#include "cli/message.h"
#include "cli/whatif/whatif.h"
#include "predictor/models/papers/models.h"

struct options {
	struct gw_words device;
	const char *launch, *model, *plot;
	bool json, tune, any_grid, shared_per_thread;
};

static const struct gw_option options[] = {
	DEVICE_SET_OPTION,
	GW_OPT_FILE(launch, "FILE",
		    "the described launches, JSON (docs/user/launch.md); - is standard input"),
	GW_OPT_TEXT(model, "NAME", "ask this model only; all: every model (default all)"),
	GW_OPT_FLAG(json, "print JSON"),
	GW_OPT_OUT(plot, "DIR",
		   "also write pictures into this folder: roofline, quadrant-split, densities, "
		   "errors (SVG)"),
	GW_OPT_FLAG(
		tune,
		"rank block and grid sizes by the wave model instead, without running anything"),
	GW_OPT_FLAG(any_grid,
		    "with --tune: the kernel's loop takes any grid (grid-stride), so try others"),
	GW_OPT_FLAG(shared_per_thread, "with --tune: dynamic shared memory grows with the block"),
	{0},
};

/* The list to ask: all, or the one that @p alone then holds. */
static bool choose_models(const char *name, const struct gw_model *alone[2],
			  const struct gw_model *const **models)
{
	*models = gw_models;
	if (strcmp(name, "all") == 0)
		return true;
	alone[0] = gw_model_find(name);
	alone[1] = NULL;
	*models = alone;
	if (!alone[0])
		estimate_unknown_model(name, true);
	return alone[0] != NULL;
}

static int answer(const struct predict_job *job, const struct options *v)
{
	int status = GW_EXIT_OK;

	if (v->tune)
		return predict_tune(job, v->any_grid, v->shared_per_thread, v->json);
	if (v->plot)
		status = predict_plot(job, v->plot);
	if (status != GW_EXIT_OK)
		return status;
	if (v->json)
		return predict_json(job);
	predict_text(job);
	return GW_EXIT_OK;
}

/* Options that would have no effect; false after a message. */
static bool fit_together(const struct options *v)
{
	const char *lone = v->any_grid ? "--any-grid" : "--shared-per-thread";

	if (!v->tune && (v->any_grid || v->shared_per_thread))
		gw_error("predict: %s is for --tune; add --tune or leave it out", lone);
	else if (v->tune && (v->model || v->plot))
		gw_error("predict: --tune ranks sizes by the wave model and draws nothing; leave "
			 "out %s",
			 v->model ? "--model" : "--plot");
	else
		return true;
	return false;
}

static int run(const struct gw_command *command, int argc, char **argv)
{
	struct options v = {0};
	const struct gw_model *alone[2];
	struct predict_job job = {0};
	char error[1024];
	int status = gw_command_parse(command, &argc, argv, &v);

	if (status >= 0)
		return status;
	if (argc > 0)
		return gw_error("predict: unexpected argument; did you mean --launch=%s?", argv[0]);
	if (!v.launch)
		return gw_error("predict: missing --launch=FILE, the described launches; see "
				"docs/user/launch.md");
	if (whatif_is_log(v.launch))
		return gw_error("predict: %s is a log; gpuwatch whatif says how long its launches "
				"take",
				v.launch);
	if (!fit_together(&v))
		return GW_EXIT_USAGE;
	if (!choose_models(v.model ? v.model : "all", alone, &job.models))
		return GW_EXIT_USAGE;
	if (!device_set_asked(&job.devices, &v.device, command->name))
		return GW_EXIT_USAGE;
	if (launch_file_read(&job.file, v.launch, error, sizeof(error)))
		status = answer(&job, &v);
	else
		status = gw_error("%s", error);
	launch_file_free(&job.file);
	device_set_free(&job.devices);
	return status;
}

const struct gw_command_body gw_predict_command = {
	.run = run,
	.options = options,
	.description = "Predicts the time of described launches on the given GPUs by every model, "
		       "and prints the\n"
		       "terms of each, the resource that bounds the launch, and warnings. Nothing "
		       "is run and no\n"
		       "GPU is needed. A model that lacks an input names it.\n"
		       "\n"
		       "With --plot it also draws the roofline of each GPU, the quadrant split, "
		       "the instruction\n"
		       "densities and, where the file has measured times, the errors.\n"
		       "\n"
		       "With --tune it ranks block and grid sizes for each described launch.",
	.examples =
		"gpuwatch predict --device=GTX-660 --launch=examples/papers/sor.json --model=qrm\n"
		"The quantitative roofline's answer for a stencil, with every step of it.\n"
		"gpuwatch predict --device=GTX-480 --launch=examples/papers/rodinia.json "
		"--plot=pictures\n"
		"Many kernels on one roofline.\n",
};
