/* gpuwatch top: what running processes launch, measure and predict now. */
#include "cli/top/top.h"

#include "cli/command.h"
#include "cli/message.h"

#include <errno.h>
#include <math.h>
#include <regex.h>
#include <time.h>

struct options {
	const char *sort, *filter;
	struct gw_words dir;
	uint64_t pid, top;
	double interval;
	bool once, json, reverse;
};

static const char sorts[] =
#define SORT(id, meaning) "|" #id
#include "cli/top/sort.def"
#undef SORT
	;

static const struct gw_option options[] = {
	GW_OPT_FLAG(once, "print one snapshot as text, after one interval, and end"),
	GW_OPT_FLAG(json, "with --once: print JSON; docs/user/json-schema.md describes it"),
	GW_OPT_ROW(interval, NUMBER, .argument = "SECONDS", .low = 0.1, .high = 3600,
		   .meaning = "time between two snapshots (default 1)"),
	GW_OPT_CHOICE(sort, "KEY", sorts + 1,
		      "sort kernels by this, largest first; names and processes in rising order "
		      "(default time)"),
	GW_OPT_FLAG(reverse, "sort the other way round"),
	GW_OPT_TEXT(filter, "REGEX",
		    "show only kernels whose demangled name matches this extended regular "
		    "expression, case-insensitive; shares remain those of all kernels"),
	GW_OPT_COUNT(pid, "PID", 1, 4194304, "show this process only"),
	GW_OPT_COUNT(top, "N", 0, 0,
		     "with --once: print only the first N kernels; 0: all (default 0)"),
	GW_OPT_LIST(dir, "FOLDER",
		    "look for live segments in this folder, and no other; may stand several times "
		    "(default: GPUWATCH_RUN_DIR, or else $XDG_RUNTIME_DIR/gpuwatch, "
		    "/dev/shm/gpuwatch-UID, and those of other users that can be read)"),
	{0},
};

static void wait_for(double seconds)
{
	struct timespec left = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

static int once(struct top_view *v, bool json)
{
	const char *why;

	top_collect(v->source, v->model);
	wait_for(v->interval_s);
	top_collect(v->source, v->model);
	if (json)
		top_json(v);
	else
		top_text(v);
	if (top_source_refused(v->source, &why))
		gw_warning("top: %u live segments can't be read; of the last one: %s",
			   top_source_refused(v->source, &why), why);
	return GW_EXIT_OK;
}

static int show(struct top_view *v, const struct options *o)
{
	regex_t filter;
	int status;

	if (o->filter) {
		int code = regcomp(&filter, o->filter, REG_EXTENDED | REG_NOSUB | REG_ICASE);
		char why[256];

		if (code) {
			regerror(code, &filter, why, sizeof(why));
			return gw_error("top: --filter=%s: %s", o->filter, why);
		}
		v->choice.filter = &filter;
	}
	status = o->once ? once(v, o->json) : top_live(v, o->filter);
	if (o->filter)
		regfree(&filter);
	return status;
}

static int run(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {.sort = "time", .interval = 1};
	struct top_view v = {0};
	int status = gw_command_parse(command, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc)
		return gw_error("top: \"%s\": it takes no arguments; --pid=PID shows one process",
				argv[0]);
	if (o.json && !o.once)
		return gw_error("top: --json needs --once");
	v.interval_s = o.interval;
	v.rows = o.top;
	v.choice = (struct top_choice){top_sort_of(o.sort), o.reverse, NULL};
	v.source = top_source_new(&o.dir, (uint32_t)o.pid);
	v.model = top_model_new();
	status = show(&v, &o);
	top_model_free(v.model);
	top_source_free(v.source);
	return status;
}

const struct gw_command_body gw_top_command = {
	.run = run,
	.options = options,
	.description =
		"Shows what the processes under gpuwatch do now: their GPUs with idle time and "
		"clock,\n"
		"their kernels with share of GPU time, runs in a second, measured time, measured\n"
		"over predicted with the prediction's interval, and bound. Figures are of the\n"
		"interval between two snapshots.\n\n"
		"It maps the processes' live segments, read-only: nothing is asked of the\n"
		"processes, and their launches take no longer. On a terminal `?` lists the keys:\n"
		"sort, filter, pause, and the histograms of one kernel. A process that ends is\n"
		"shown for 5 s more.\n\n"
		"In mode watch kernels are timed now and then: their GPU time is the runs times\n"
		"the mean of those that were timed, and idle time is unknown.",
	.examples = "gpuwatch top\n"
		    "All processes that this user may read.\n"
		    "gpuwatch top --pid=4711 --sort=ratio\n"
		    "One process; kernels furthest from their prediction first.\n"
		    "gpuwatch top --once --json --interval=5 | jq '.kernels[0]'\n"
		    "The kernel with the most GPU time in the next 5 seconds.\n",
	.exit_status = "0 shown, also when no process runs; 2 bad options, or the terminal can't "
		       "be used.",
};
