/* gpuwatch score: predictions as the logs have them. */
#include "cli/command.h"
#include "cli/window/window.h"
#include "cli/message.h"
#include "cli/score/session.h"

#include <stdio.h>
#include <string.h>

struct options {
	const char *by, *plot, *since, *until, *last;
	bool models, json;
};

static const struct gw_option options[] = {
	GW_OPT_CHOICE(by, "WHAT", "launch|configuration",
		      "count each launch, or each kernel and configuration once, by its medians "
		      "(default launch)"),
	LOG_WINDOW_OPTIONS,
	GW_OPT_FLAG(models, "also show the errors of every model on the same launches"),
	GW_OPT_OUT(plot, "DIR",
		   "also draw predicted against measured time into this folder, with --models "
		   "a picture for each model"),
	GW_OPT_FLAG(json, "print JSON; docs/user/json-schema.md describes it"),
	{0},
};

static void add_trace(struct score *score, const struct trace *traces, uint32_t number)
{
	const struct trace *t = &traces[number];
	struct score_models *models = score_models_new(score, t);

	for (size_t i = 0; i < t->launch_count; i++) {
		const struct trace_launch *l = &t->launches[i];
		struct score_answer a = {(double)l->predicted * 1e-9, (double)l->low * 1e-9,
					 (double)l->high * 1e-9, (double)l->duration * 1e-9};

		if (trace_measured(l))
			score_add(score, number, l->config, (enum gw_tier)l->tier,
				  (enum gw_source)l->work, &a, score_models_ask(models, l, false));
	}
	score_models_free(models);
}

static int score_main(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {.by = "launch"};
	int status = gw_command_parse(command, &argc, argv, &o);
	struct session session;
	struct score *score;
	char how[200];

	if (status >= 0)
		return status;
	if (!argc)
		return gw_error("score: missing log file argument: gpuwatch score gpuwatch.*.gwl");
	status =
		log_window_set("score", &(struct log_window){o.since, o.until, o.last}, argv, argc);
	if (status)
		return status;
	if (!session_open(&session, argv, argc, false)) {
		session_close(&session);
		return GW_EXIT_USAGE;
	}
	score = score_new(session.traces, !strcmp(o.by, "configuration"));
	score->show_models = o.models;
	for (uint32_t i = 0; i < session.count; i++)
		add_trace(score, session.traces, i);
	snprintf(how, sizeof(how), "gpuwatch score: predictions as %s logged",
		 session.count == 1 ? "they were" : "their processes");
	status = session_show(&session, score, how, o.json, NULL, o.plot);
	score_free(score);
	session_close(&session);
	return status ? status : log_window_check("score");
}

const struct gw_command_body gw_score_command = {
	.run = score_main,
	.options = options,
	.description =
		"Scores the predictions in logs: how far off those of gpuwatch were, by their basis"
		"\n"
		"(an earlier time of the same launch shape, of the kernel, or none; work from "
		"measured\n"
		"counters, extrapolated, or from static analysis) and by the length of the "
		"launch.\n"
		"With --models also every model, from the same work and the device profile in the "
		"log.\n"
		"\n"
		"MAPE is the mean of |predicted - measured| / measured. The factor is the "
		"geometric mean\n"
		"of how many times too long or too short, the bias that of predicted over "
		"measured. A\n"
		"missing answer counts as outside of every share.\n"
		"\n"
		"To predict again from a log, also with times withheld, see gpuwatch-replay(1).",
	.examples = "gpuwatch score gpuwatch.*.gwl\n"
		    "How far can the predictions of a run be trusted?\n"
		    "gpuwatch score --models run.gwl\n"
		    "Compare every model on the same launches.\n"
		    "gpuwatch score --by=configuration --plot=pictures run.gwl\n"
		    "Each configuration once, with a scatter plot.\n",
	.exit_status = "0 done; 1 no launch in the span asked for; 2 bad options, or a log could "
		       "not be read at all (the others are "
		       "scored).",
};
