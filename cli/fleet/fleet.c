/* gpuwatch fleet: questions to what the agents of many machines have stored, by an engine. */
#include "cli/command.h"
#include "cli/common/json.h"
#include "cli/common/nearest.h"
#include "cli/common/span.h"
#include "cli/fleet/engine.h"
#include "cli/message.h"
#include "cli/window/window.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
	const char *engine, *html, *since, *until, *last, *python;
	uint64_t top, threads;
	bool json;
};

static const struct gw_option options[] = {
	GW_OPT_CHOICE(engine, "NAME", "duckdb|spark|clickhouse",
		      "what answers: DuckDB, Spark (pyspark, Java) or ClickHouse (chdb), each a "
		      "package of Python (default duckdb)"),
	GW_OPT_OUT(html, "FILE", "write a page with tables and charts, which needs no network"),
	GW_OPT_FLAG(json, "print JSON; docs/user/json-schema.md describes it"),
	GW_OPT_TEXT(since, "TIME",
		    "only hours that begin at this time or later: 2026-11-26T10:00:00Z, or a span "
		    "before the store's end, such as 6h"),
	GW_OPT_TEXT(until, "TIME", "only hours that begin before this time"),
	GW_OPT_TEXT(last, "SPAN", "only the last SPAN of the store; the same as --since=SPAN"),
	GW_OPT_COUNT(top, "ROWS", 1, 1000000, "rows of an answer, at most (default 20)"),
	GW_OPT_COUNT(threads, "COUNT", 1, 1024, "threads of the engine (default: all processors)"),
	GW_OPT_FILE(python, "FILE", "the Python 3 that has the engine's package (default python3)"),
	{0},
};

enum { QUESTIONS = 32 };

/* ---- what is asked ---- */

static bool bad_question(const char *name)
{
	const char *names[QUESTIONS];
	char near[600];
	size_t count = 0;

	for (size_t i = 0; i < fleet_step_count; i++)
		if (fleet_steps[i].kind == FLEET_QUESTION)
			names[count++] = fleet_steps[i].name;
	gw_error("fleet: \"%s\" is no question; there are %s", name,
		 gw_words_join(near, sizeof(near), names, count));
	return false;
}

/* All of them where none is named. */
static bool take_questions(char **names, int count, bool *wanted)
{
	for (int i = 0; i < count; i++) {
		const struct fleet_step *q = fleet_question(names[i]);

		if (!q)
			return bad_question(names[i]);
		wanted[q - fleet_steps] = true;
	}
	for (size_t i = 0; !count && i < fleet_step_count; i++)
		wanted[i] = fleet_steps[i].kind == FLEET_QUESTION;
	return true;
}

/* A time by its date: the store's end is not known here. */
static bool take_time(const char *option, const char *text, uint64_t *seconds)
{
	uint64_t ns;

	if (strchr(text, '-') && log_time_read(text, 0, 0, &ns)) {
		*seconds = ns / 1000000000;
		return true;
	}
	gw_error("fleet: --%s=%s: must be a time such as 2026-11-26T10:00:00Z%s", option, text,
		 strcmp(option, "until") ? ", or a span before the store's end such as 6h" : "");
	return false;
}

static bool take_span(const struct options *o, struct fleet_span *span)
{
	const char *last = o->last ? o->last : o->since;
	uint64_t ns;

	*span = (struct fleet_span){.until_s = UINT64_MAX, .now_s = (uint64_t)time(NULL)};
	if (o->since && o->last) {
		gw_error("fleet: --since and --last exclude each other; give one of them");
		return false;
	}
	if (last && gw_span_read(last, &ns)) {
		span->last_s = ns / 1000000000;
		if (span->last_s < 3600) {
			gw_error("fleet: --%s=%s: the store is by the hour; give 1h or more",
				 o->last ? "last" : "since", last);
			return false;
		}
	} else if (o->last) {
		gw_error("fleet: --last=%s: must be a span such as 6h", o->last);
		return false;
	} else if (o->since && !take_time("since", o->since, &span->since_s)) {
		return false;
	}
	if (o->until && !take_time("until", o->until, &span->until_s))
		return false;
	if (span->since_s < span->until_s)
		return true;
	gw_error("fleet: --since=%s is not before --until=%s", o->since, o->until);
	return false;
}

/* ---- the command ---- */

static enum fleet_engine engine_of(const char *name)
{
	int at = 0;

	while (strcmp(fleet_engine_names[at], name) != 0)
		at++;
	return (enum fleet_engine)at;
}

static int show(const struct options *o, const struct fleet_asked *asked)
{
	fleet_complain(asked->store);
	if (o->json)
		gw_json_print(fleet_json(asked));
	else if (!o->html)
		fleet_text(asked);
	return o->html && !fleet_html(asked, o->html) ? GW_EXIT_USAGE : GW_EXIT_OK;
}

static int ask(const struct options *o, const char *path, const bool *wanted,
	       const struct fleet_span *span)
{
	const struct fleet_run run = {engine_of(o->engine), o->python, o->threads};
	struct fleet_answers answers = {0};
	struct fleet_store store = {0};
	json_t *plan = fleet_plan(run.engine, wanted, span, (unsigned)o->top);
	int status = GW_EXIT_USAGE;

	if (!fleet_store_find(&store, path, span)) {
		fleet_complain(&store);
	} else if (fleet_store_link(&store) && fleet_engine_run(&run, &store, plan, &answers)) {
		fleet_store_unlink(&store);
		status = show(o, &(struct fleet_asked){path, &run, &store, &answers});
	}
	json_decref(answers.answers);
	json_decref(plan);
	fleet_store_free(&store);
	return status;
}

static int run(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {.engine = "duckdb", .python = "python3", .top = 20};
	struct fleet_span span;
	bool *wanted;
	int status = gw_command_parse(command, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (!argc)
		return gw_error(
			"fleet: missing argument: the folder that agents write to (gpuwatch "
			"agent --store)");
	wanted = calloc(fleet_step_count, sizeof(*wanted));
	status = wanted && take_span(&o, &span) && take_questions(argv, argc - 1, wanted)
			 ? ask(&o, argv[argc - 1], wanted, &span)
			 : GW_EXIT_USAGE;
	free(wanted);
	return status;
}

const struct gw_command_body gw_fleet_command = {
	.run = run,
	.options = options,
	.description =
		"Answers questions about many GPUs from what their agents have stored (gpuwatch\n"
		"agent --store), by DuckDB on one machine, Spark on a cluster or ClickHouse.\n"
		"All three get the same questions in the same SQL.\n\n"
		"STORE is the folder with the files of all machines. It may also hold launches of\n"
		"logs (gpuwatch export --format=parquet) in folders that say what they are of,\n"
		"model=H200/host=a/uuid=GPU-.../build=1.4. Files that can't be read are named and\n"
		"left out.\n\n"
		"QUESTION is slow_gpus, slowed_gpus, costly_kernels, regressions, lost_hours,\n"
		"idle_hours, spread, ratios or other_models; without one all are asked.\n"
		"docs/user/fleet.md explains each, and the tables.",
	.examples = "gpuwatch fleet /mnt/metrics\n"
		    "All questions, by DuckDB.\n"
		    "gpuwatch fleet --last=6h --top=50 slow_gpus regressions /mnt/metrics\n"
		    "Two of them, about the last six hours.\n"
		    "gpuwatch fleet --html=fleet.html /mnt/metrics\n"
		    "A page with tables and charts.\n"
		    "gpuwatch fleet --engine=spark --threads=16 /mnt/metrics\n"
		    "By Spark; SPARK_MASTER names a cluster.\n",
	.exit_status = "0 answered; 2 bad options, no store, or no engine.",
};
