/* SPDX-License-Identifier: Apache-2.0 */
/* gpuwatch predict: what every model says of a described launch. */
#include "cli/predict.h"

#include <stddef.h>
#include <string.h>

#include "cli/command.h"
#include "cli/say.h"

struct values {
	struct gw_words devices;
	const char *launch, *model, *plot;
	bool json, tune, any_grid, shared_per_thread;
};

static const struct gw_option options[] = {
        {.name = "device",
         .type = GW_OPTION_LIST,
         .argument = "NAME|FILE",
         .choices = "",
         .offset = offsetof(struct values, devices),
         .meaning = "GPU to predict for: the name of a known profile or a profile's file; may be "
                    "repeated"},
        {.name = "launch",
         .type = GW_OPTION_FILE,
         .argument = "FILE",
         .choices = "",
         .offset = offsetof(struct values, launch),
         .meaning = "the described launches, JSON (docs/launch.md); - is standard input"},
        {.name = "model",
         .type = GW_OPTION_TEXT,
         .argument = "NAME",
         .choices = "",
         .offset = offsetof(struct values, model),
         .meaning = "ask this model only; all: every model"},
        {.name = "json",
         .type = GW_OPTION_FLAG,
         .argument = "",
         .choices = "",
         .offset = offsetof(struct values, json),
         .meaning = "print JSON"},
        {.name = "plot",
         .type = GW_OPTION_TEXT,
         .argument = "DIR",
         .choices = "",
         .offset = offsetof(struct values, plot),
         .meaning = "also write pictures into this folder: roofline, quadrant-split, densities, "
                    "errors (SVG)"},
        {.name = "tune",
         .type = GW_OPTION_FLAG,
         .argument = "",
         .choices = "",
         .offset = offsetof(struct values, tune),
         .meaning =
                 "rank block and grid sizes by the wave model instead, without running anything"},
        {.name = "any-grid",
         .type = GW_OPTION_FLAG,
         .argument = "",
         .choices = "",
         .offset = offsetof(struct values, any_grid),
         .meaning = "with --tune: the kernel's loop takes any grid (grid-stride), so try others"},
        {.name = "shared-per-thread",
         .type = GW_OPTION_FLAG,
         .argument = "",
         .choices = "",
         .offset = offsetof(struct values, shared_per_thread),
         .meaning = "with --tune: dynamic shared memory grows with the block"},
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

static int answer(const struct predict_job *job, const struct values *v)
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

static int run(const struct gw_command *command, int argc, char **argv)
{
	struct values v = {.model = "all"};
	const struct gw_model *alone[2];
	struct predict_job job = {0};
	char error[1024];
	int status = gw_command_parse(command, &argc, argv, &v);

	if (status >= 0)
		return status;
	if (argc > 0)
		return gw_error("predict takes no operand; did you mean --launch=%s?", argv[0]);
	if (!v.launch)
		return gw_error(
		        "predict needs --launch=FILE, a described launch; see docs/launch.md");
	if (v.devices.count == 0)
		return gw_error("predict needs --device=NAME|FILE, the GPU to predict for");
	if (!choose_models(v.model, alone, &job.models))
		return GW_EXIT_USAGE;
	if (!device_set_open(&job.devices, v.devices.word, v.devices.count))
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
        .description = "Asks every model how long the described launches take on the given GPUs, "
                       "and shows each\n"
                       "one's time, its terms, what it says binds the launch, and its warnings. "
                       "Nothing is run\n"
                       "and no GPU is needed. A model that lacks an input says which one.\n"
                       "\n"
                       "With --plot also draws the roofline of each GPU, the quadrant-split, the "
                       "instruction\n"
                       "densities and, where the file gives measured times, the errors.\n"
                       "\n"
                       "With --tune ranks block and grid sizes for each described launch.",
        .examples =
                "gpuwatch predict --device=GTX-660 --launch=examples/papers/sor.json --model=qrm\n"
                "The quantitative roofline's answer for a stencil, with every step of it.\n"
                "gpuwatch predict --device=GTX-480 --launch=examples/papers/rodinia.json "
                "--plot=pictures\n"
                "Many kernels on one roofline.\n",
};
