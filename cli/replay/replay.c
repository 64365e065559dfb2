/* gpuwatch replay: the predictor over a recorded log. */
#include "cli/replay/replay.h"

#include "cli/command.h"
#include "cli/common/estimate.h"
#include "cli/common/json.h"
#include "cli/common/memory.h"
#include "cli/common/number.h"
#include "cli/message.h"
#include "cli/score/session.h"
#include "predictor/models/papers/models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	const char *model, *hide_times, *family, *families, *by, *output, *plot;
	bool hide_work, check, models, json;
};

static const struct gw_option options[] = {
	GW_OPT_TEXT(model, "NAME", "predict from this model's estimates (default bounds)"),
	GW_OPT_CHOICE(hide_times, "WHAT", "kernel|configuration",
		      "never learn a time of the kernel, or configuration, before it is predicted; "
		      "the work of all is known"),
	GW_OPT_FLAG(hide_work, "with --hide-times: withhold its measured counters, too"),
	GW_OPT_TEXT(family, "REGEX",
		    "with --hide-times: kernels in whose demangled names the first group matches "
		    "the same text (without a group, the match) never teach each other"),
	GW_OPT_FILE(families, "FILE", "the same by a file of lines \"family kernel\""),
	GW_OPT_FLAG(check,
		    "only compare with the predictions in the log; exit status 1 unless there are "
		    "any and all have the same bits"),
	GW_OPT_CHOICE(by, "WHAT", "launch|configuration",
		      "as for gpuwatch score (default launch, with --hide-times configuration)"),
	GW_OPT_OUT(output, "FILE",
		   "also write the log anew, with these predictions in the place of its own"),
	GW_OPT_FLAG(models, "as for gpuwatch score"),
	GW_OPT_OUT(plot, "DIR", "as for gpuwatch score"),
	GW_OPT_FLAG(json, "print JSON; docs/user/json-schema.md describes it"),
	{0},
};

/* Where the predictions of one log go. */
struct taking {
	struct score *score;
	struct score_models *models;
	const struct trace *trace;
	uint32_t number;           /* of the trace */
	bool hidden;               /* times are withheld: work is known from the end */
	struct trace_launch *said; /* by launch, for --output; NULL without */
};

static void take(void *arg, size_t launch, const struct gw_prediction *p)
{
	struct taking *t = arg;
	const struct trace_launch *l = &t->trace->launches[launch];
	struct score_answer a = {p->seconds, p->low, p->high, (double)l->duration * 1e-9};

	if (t->said)
		replay_put(&t->said[launch], p);
	if (t->score && trace_measured(l))
		score_add(t->score, t->number, l->config,
			  isnan(p->seconds) ? GW_TIER_NONE : p->tier, p->work, &a,
			  score_models_ask(t->models, l, t->hidden));
}

static bool check_options(const struct options *o, int operands)
{
	if (!operands)
		gw_error("replay: missing log file argument: gpuwatch replay gpuwatch.*.gwl");
	else if (o->model && !gw_model_find(o->model))
		estimate_unknown_model(o->model, false);
	else if (!o->hide_times && (o->hide_work || o->family || o->families))
		gw_error("replay: %s is for --hide-times; add --hide-times=kernel or leave it out",
			 o->hide_work ? "--hide-work"
			 : o->family  ? "--family"
				      : "--families");
	else if (o->family && o->families)
		gw_error("replay: --family and --families exclude each other; give one of them");
	else if (o->check && (o->hide_times || o->model))
		gw_error("replay: --check compares a replay as recorded; leave out %s",
			 o->hide_times ? "--hide-times" : "--model");
	else if (o->check && (o->by || o->plot))
		gw_error("replay: --check scores nothing; leave out %s", o->by ? "--by" : "--plot");
	else if (o->output && o->check)
		gw_error("replay: --check writes nothing; leave out --output");
	else
		return true;
	return false;
}

/* The replay in words, for the title and for the header of a log written anew. */
static void describe(const struct options *o, char *out, size_t size)
{
	int n = snprintf(out, size, "%s",
			 !o->hide_times ? "as recorded"
			 : !strcmp(o->hide_times, "kernel")
				 ? "times of the kernel withheld"
				 : "times of the configuration withheld");

	if (o->hide_work && n > 0 && (size_t)n < size)
		n += snprintf(out + n, size - (size_t)n, ", and its counted work");
	if ((o->family || o->families) && n > 0 && (size_t)n < size)
		n += snprintf(out + n, size - (size_t)n, ", families apart");
	if (o->model && n > 0 && (size_t)n < size)
		snprintf(out + n, size - (size_t)n, ", by model %s", o->model);
}

static void ignore(void *arg, size_t launch, const struct gw_prediction *prediction)
{
	(void)arg;
	(void)launch;
	(void)prediction;
}

/* How many bits are the same as in the log, and then the predictions: where they are not those of
 * the log anyway, as this predictor would have made them. */
static void compare_and_replay(const struct trace *t, struct replay_options *r, bool check,
			       struct taking *to, struct replay_result *result)
{
	struct replay_result second;

	if (r->hide != REPLAY_ALL || r->model) {
		r->own = true;
		replay(t, r, take, to, result);
		return;
	}
	replay(t, r, ignore, NULL, result);
	if (check)
		return;
	r->own = result->equal < result->logged || !result->logged;
	replay(t, r, take, to, &second);
}

/* Sums have the times of each configuration, not the order in which they were learnt. */
static bool can_replay(const struct options *o, const struct trace *t)
{
	if (!t->watched || !t->aggregated)
		return true;
	if (!o->hide_times)
		gw_error("replay: %s: in mode watch most launches are in sums, so what was learnt "
			 "from them can't be repeated; add --hide-times=kernel or "
			 "--hide-times=configuration, or record in mode audit",
			 t->path);
	else if (!t->spread)
		gw_error("replay: %s: its sums have no histograms of times; record for longer, or "
			 "in mode audit",
			 t->path);
	else if (o->output || (o->by && !strcmp(o->by, "launch")))
		gw_error("replay: %s: its launches are in sums (mode watch); leave out %s", t->path,
			 o->output ? "--output" : "--by=launch");
	else
		return true;
	return false;
}

/* One log through the predictor. */
static bool replay_one(const struct options *o, const struct session *session, uint32_t number,
		       struct score *score, struct replay_result *result)
{
	const struct trace *t = &session->traces[number];
	struct replay_options r = {
		.hide = !o->hide_times                     ? REPLAY_ALL
			: !strcmp(o->hide_times, "kernel") ? REPLAY_KERNEL
							   : REPLAY_CONFIGURATION,
		.hide_work = o->hide_work,
		.model = o->model ? gw_model_find(o->model) : NULL,
	};
	struct taking to = {.score = score,
			    .models = score ? score_models_new(score, t) : NULL,
			    .trace = t,
			    .number = number,
			    .hidden = o->hide_times != NULL};
	uint32_t *families = NULL;
	char how[200];
	bool good = true;

	if (!can_replay(o, t))
		return false;
	if (o->family || o->families) {
		families = replay_families(t, o->family, o->families);
		good = families != NULL;
		r.family = families;
	}
	if (o->output) {
		to.said = gw_alloc(t->launch_count * sizeof(*to.said));
		for (size_t i = 0; i < t->launch_count; i++) {
			to.said[i] = t->launches[i];
			to.said[i].predicted = to.said[i].low = to.said[i].high = NAN;
			to.said[i].tier = GW_TIER_NONE;
			to.said[i].work = GW_SOURCE_NONE;
		}
	}
	if (good)
		compare_and_replay(t, &r, o->check, &to, result);
	describe(o, how, sizeof(how));
	if (good && o->output)
		good = replay_write(t, o->output, to.said, how);
	free(to.said);
	free(families);
	if (to.models)
		score_models_free(to.models);
	return good;
}

/* A folder may stand for several. */
static bool one_to_write(const struct session *session, const struct options *o)
{
	if (o->output && session->path_count > 1)
		gw_error("replay: --output takes one log; replay them one by one");
	return !o->output || session->path_count == 1;
}

static int replay_main(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {0};
	int status = gw_command_parse(command, &argc, argv, &o);
	struct session session;
	struct score *score = NULL;
	json_t *bits;
	uint64_t compared = 0;
	bool good = true, equal = true;
	char how[200], title[300];

	if (status >= 0)
		return status;
	if (!check_options(&o, argc))
		return GW_EXIT_USAGE;
	if (!session_open(&session, argv, argc, o.hide_times) || !one_to_write(&session, &o)) {
		session_close(&session);
		return GW_EXIT_USAGE;
	}
	if (!o.check)
		score = score_new(session.traces,
				  o.by ? !strcmp(o.by, "configuration") : o.hide_times != NULL);
	if (score)
		score->show_models = o.models;
	bits = json_array();
	for (uint32_t i = 0; i < session.count && good; i++) {
		struct replay_result result;

		good = replay_one(&o, &session, i, score, &result);
		if (!good)
			break;
		equal &= result.equal == result.logged;
		compared += result.logged;
		json_array_append_new(bits, replay_bits_json(&session.traces[i], &result));
		if (!o.json && !o.hide_times && !o.model)
			replay_tell_bits(&session.traces[i], &result);
	}
	describe(&o, how, sizeof(how));
	snprintf(title, sizeof(title), "gpuwatch replay: %s", how);
	status = session.failed ? GW_EXIT_USAGE : equal && compared ? GW_EXIT_OK : GW_EXIT_FINDINGS;
	if (!good)
		status = GW_EXIT_USAGE;
	else if (score)
		status = session_show(&session, score, title, o.json,
				      json_pack("{s:O}", "replayed", bits), o.plot);
	else if (o.json)
		gw_json_print(
			json_pack("{s:s,s:O}", "schema", "gpuwatch-replay-2", "replayed", bits));
	json_decref(bits);
	if (score)
		score_free(score);
	session_close(&session);
	return status;
}

const struct gw_command_body gw_replay_command = {
	.run = replay_main,
	.options = options,
	.description =
		"Runs gpuwatch's predictor over a recorded log, in the order of the log, and "
		"scores "
		"its\n"
		"predictions as gpuwatch-score(1) does. The version that wrote the log predicts "
		"the same\n"
		"bits again: the output starts with the number of bit-identical predictions; "
		"--check\n"
		"prints only that. A later version, or another --model, shows its own "
		"predictions.\n"
		"\n"
		"With --hide-times the predictor learns nothing that is scored: it gets the work "
		"of every\n"
		"configuration, as the log has it at its end, and the times of all others, and "
		"predicts\n"
		"those it has never seen. `kernel` hides all times of the kernel, `configuration` "
		"those\n"
		"of the configuration alone. Families keep similar kernels from teaching each "
		"other.\n"
		"\n"
		"What was learnt follows from all launches before: a log is replayed as a whole. "
		"One of\n"
		"mode watch has most launches in sums, and is replayed with --hide-times only.",
	.examples = "gpuwatch replay --check run.gwl\n"
		    "Does this build predict the same as the one that wrote the log?\n"
		    "gpuwatch replay --hide-times=kernel run.gwl\n"
		    "How good are predictions of kernels never seen, from their work?\n"
		    "gpuwatch replay --hide-times=kernel --family='^([a-z]+)' --model=qrm run.gwl\n"
		    "The same with the estimates of another model, by families of names.\n",
	.exit_status =
		"0 done; 1 with --check when a prediction differs, or no log holds any; 2 bad "
		"options, or a log could not be read at all.",
};
