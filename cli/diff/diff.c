/* gpuwatch diff: what got slower from one run to another. */
#include "cli/diff/runs.h"

#include "cli/command.h"
#include "cli/window/window.h"
#include "cli/message.h"
#include "cli/options.h"

#include <stddef.h>

struct options {
	double fail_on, false_share, min_share;
	uint64_t top;
	bool against_prediction, all, json, markdown;
	const char *since, *until, *last;
};

static const struct gw_option options[] = {
	LOG_WINDOW_OPTIONS,
	GW_OPT_VALUE(fail_on, NUMBER, "PERCENT",
		     "a row is a regression when it is slower by more than this, with its whole "
		     "interval (default 3)",
		     .high = 1000),
	GW_OPT_VALUE(min_share, NUMBER, "PERCENT",
		     "rows with less of the GPU time than this are no regression (default 0.1)",
		     .high = 100),
	GW_OPT_VALUE(false_share, NUMBER, "PERCENT",
		     "share of the changes reported that may be false (default 5)", .high = 50),
	GW_OPT_FLAG(against_prediction,
		    "compare one run with what was predicted before its kernels were timed"),
	GW_OPT_VALUE(top, COUNT, "N", "show at most N rows; 0: all (default 20)"),
	GW_OPT_FLAG(all, "also show rows in which no change was found"),
	GW_OPT_FLAG(json, "JSON, raw nanoseconds"),
	GW_OPT_FLAG(markdown, "a Markdown table, for a pull request"),
	{0},
};

static int found(const struct diff *diff)
{
	for (size_t i = 0; i < diff->count; i++)
		if (diff->rows[i].regression)
			return GW_EXIT_FINDINGS;
	return GW_EXIT_OK;
}

static int compare(struct diff *diff, const struct options *o, char **argv)
{
	const struct diff_rule rule = {o->false_share / 100, o->fail_on / 100, o->min_share / 100};
	unsigned runs = o->against_prediction ? 1 : RUNS;

	for (unsigned i = 0; i < runs; i++) {
		const struct log_window w = {o->since, o->until, o->last};
		int status = log_window_set("diff", &w, &argv[i], 1);

		status = status ? status : diff_read(diff, i, argv[i]);
		status = status ? status : log_window_check("diff");

		if (status)
			return status;
	}
	if (o->against_prediction)
		diff_compare_predictions(diff, &rule);
	else
		diff_compare(diff, &rule);
	if (o->json)
		diff_json(diff, &rule);
	else if (o->markdown)
		diff_markdown(diff, &rule, o->top, o->all);
	else
		diff_text(diff, &rule, o->top, o->all);
	return found(diff);
}

static int diff_run_command(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {.fail_on = 3, .false_share = 5, .min_share = 0.1, .top = 20};
	struct diff diff = {0};
	int status = gw_command_parse(command, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (o.json && o.markdown)
		return gw_error("diff: --json and --markdown exclude each other; give one of them");
	if (argc != (o.against_prediction ? 1 : 2))
		return gw_error(o.against_prediction
					? "diff: --against-prediction takes one log or folder"
					: "diff: two logs or folders are compared: gpuwatch diff "
					  "BASE OTHER");
	status = compare(&diff, &o, argv);
	diff_free(&diff);
	return status;
}

const struct gw_command_body gw_diff_command = {
	.run = diff_run_command,
	.options = options,
	.description =
		"Compares the kernels of two runs: BASE, then OTHER. Each is a log or a folder of "
		"logs. A row is a kernel at a launch shape with the same argument hash.\n"
		"\n"
		"The shift is the Hodges-Lehmann estimate of the ratio of times, OTHER to BASE, "
		"with its 95% interval; times of neighbouring launches depend on each other, which "
		"widens it. Of all changes reported at most the share --false-share is expected to "
		"be false (Benjamini and Hochberg). A run must be many times as long as what "
		"drifts in it, such as the temperature, for intervals to hold.\n"
		"\n"
		"A regression is a row whose whole interval is above --fail-on, both in time and "
		"in cycles of the SM clock: what a lower clock explains is shown, and fails "
		"nothing. A kernel that is gone and one that is new count as renamed when their "
		"code, registers, memory and shape agree and no third kernel's do; where a log "
		"does not have the code of both, the rest decides, and the old name has a "
		"question mark.\n"
		"\n"
		"With --against-prediction there is no base: the shift is of a row's median time "
		"to what was last predicted without a time of the kernel, and its interval "
		"that prediction's 90% interval. Of the rows reported at most the share "
		"--false-share is expected to be as predicted.",
	.examples = "gpuwatch diff before.gwl after.gwl\n"
		    "  what got slower, what faster, what is new\n"
		    "gpuwatch diff --fail-on=3% --markdown main/ branch/ >>report.md\n"
		    "  in CI: exit status 1 on a regression of more than 3%\n"
		    "gpuwatch diff --against-prediction run.gwl\n"
		    "  kernels slower than this GPU should run them",
	.exit_status = "0 when there is no regression, 1 when there is one, or no launch in the "
		       "span asked for, 2 for bad options or "
		       "logs that cannot be read.",
};
