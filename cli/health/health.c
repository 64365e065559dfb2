/* gpuwatch health: whether the GPUs of this machine are as fast as they were; the agent knows. */
#include "cli/health/verdict.h"

#include "cli/command.h"
#include "cli/common/json.h"
#include "cli/common/token.h"
#include "cli/message.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
	const char *agent, *token_file, *gpu;
	double timeout;
	bool json;
};

static const struct gw_option options[] = {
	GW_OPT_FLAG(json, "print JSON; docs/user/json-schema.md describes it"),
	GW_OPT_TEXT(agent, "ADDRESS",
		    "ask the agent that listens there, ADDRESS:PORT or unix:PATH (default "
		    "127.0.0.1:9464)"),
	GW_OPT_FILE(token_file, "FILE", "file whose first line is the agent's token"),
	GW_OPT_TEXT(gpu, "UUID", "judge this GPU alone"),
	GW_OPT_ROW(timeout, NUMBER, .argument = "SECONDS", .low = 1, .high = 60,
		   .meaning = "wait so long for the answer (default 5)"),
	{0},
};

static const char *text_of(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));

	return text ? text : "";
}

static double number_of(const json_t *o, const char *name)
{
	const json_t *value = json_object_get(o, name);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static void print_safe(const char *text)
{
	char safe[512];

	fputs(gw_printable(safe, sizeof(safe), text), stdout);
}

static void print_slow(const json_t *r)
{
	const double since_ns = number_of(r, "since_ns");
	const time_t since =
		since_ns > 0 && since_ns < (double)INT64_MAX ? (time_t)(since_ns / 1e9) : 0;
	const json_t *row;
	struct tm tm;
	char when[64] = "an unknown time";
	size_t at;

	if (since && localtime_r(&since, &tm))
		strftime(when, sizeof(when), "%F %T", &tm);
	fputs("  ", stdout);
	print_safe(text_of(r, "resource"));
	printf(": %.1f%% slow since %s, log-likelihood ratio %.0f\n",
	       100 * (number_of(r, "ratio") - 1), when, number_of(r, "score"));
	json_array_foreach(json_object_get(r, "evidence"), at, row)
	{
		printf("    %5.1f%%  %+.1f%%  %.0f launches, expected %.2f us, took %.2f us  ",
		       100 * number_of(row, "weight"),
		       100 * (number_of(row, "measured_ns") / number_of(row, "expected_ns") - 1),
		       number_of(row, "launches"), number_of(row, "expected_ns") / 1e3,
		       number_of(row, "measured_ns") / 1e3);
		print_safe(text_of(row, "kernel"));
		putchar('\n');
	}
}

static void print_gpu(const json_t *g)
{
	const json_t *r;
	size_t at;

	printf("GPU %.0f  ", number_of(g, "gpu"));
	print_safe(text_of(g, "uuid"));
	fputs("  ", stdout);
	print_safe(text_of(g, "model"));
	fputs("  ", stdout);
	print_safe(text_of(g, "state"));
	putchar('\n');
	json_array_foreach(json_object_get(g, "resources"), at,
			   r) if (!strcmp(text_of(r, "state"), "slow")) print_slow(r);
}

/* Leave only the GPU that was asked for. False: the agent has none such. */
static bool pick(json_t *gpus, const char *uuid)
{
	for (size_t i = json_array_size(gpus); uuid && i-- > 0;)
		if (strcmp(text_of(json_array_get(gpus, i), "uuid"), uuid) != 0)
			json_array_remove(gpus, i);
	return !uuid || json_array_size(gpus);
}

static int show(json_t *all, const struct options *o)
{
	json_t *gpus = json_object_get(all, "gpus");
	int status = GW_EXIT_OK;
	const json_t *g;
	size_t at;

	if (strcmp(text_of(all, "schema"), "gpuwatch-health-1") != 0 || !json_is_array(gpus))
		return gw_error("health: --agent=%s: what answers there is no agent of this "
				"version of gpuwatch",
				o->agent);
	if (!pick(gpus, o->gpu))
		return gw_error("health: --gpu=%s: the agent has seen no process on such a GPU; "
				"`gpuwatch health` lists those that it has",
				o->gpu);
	json_array_foreach(gpus, at, g) if (!strcmp(text_of(g, "state"), "slow")) status =
		GW_EXIT_FINDINGS;
	if (o->json) {
		gw_json_print(json_incref(all));
		return status;
	}
	if (!json_array_size(gpus))
		puts("no process under gpuwatch has used a GPU since the agent began");
	json_array_foreach(gpus, at, g) print_gpu(g);
	return status;
}

static int run(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {.agent = "127.0.0.1:9464", .timeout = 5};
	int status = gw_command_parse(command, &argc, argv, &o);
	char why[256] = "", *token = NULL, *text;
	json_t *all;

	if (status >= 0)
		return status;
	if (argc)
		return gw_error("health: \"%s\": it takes no arguments", argv[0]);
	if (o.token_file && !(token = gw_token_read("health", o.token_file)))
		return GW_EXIT_USAGE;
	text = health_ask(o.agent, "/health", token, (unsigned)o.timeout, why, sizeof(why));
	free(token);
	if (!text)
		return gw_error("health: --agent=%s: %s; is `gpuwatch agent` running there?",
				o.agent, why);
	all = json_loads(text, 0, NULL);
	free(text);
	status = show(all, &o);
	json_decref(all);
	return status;
}

const struct gw_command_body gw_health_command = {
	.run = run,
	.options = options,
	.description =
		"Says whether the GPUs of this machine are as fast as they were: the agent\n"
		"(gpuwatch agent) compares what kernels take with what the same configurations of\n"
		"the same kernels took on the same GPU, at the clock they run at, by a sequential\n"
		"test. A GPU that is slow is named with the resource, the size, since when, and "
		"the\n"
		"kernels that the verdict rests on. It needs no other GPU to compare with.\n\n"
		"A GPU is unknown until kernels have run on it for about two minutes and a half,\n"
		"and a resource while fewer than four configurations of its kernels run; unknown\n"
		"is no failure. A GPU that was slow before the agent first saw its kernels is not\n"
		"found, nor one that slows by less than 1.75%.",
	.examples = "gpuwatch health\n"
		    "The GPUs of this machine.\n"
		    "gpuwatch health --json | jq -r '.gpus[] | select(.state==\"slow\").uuid'\n"
		    "Which of them are slow.\n"
		    "gpuwatch health; [ $? -eq 1 ] && scontrol update node=$(hostname -s) "
		    "state=drain reason=slow-gpu\n"
		    "As a check of a scheduler; see fleet/slurm.\n",
	.exit_status = "0 no GPU is slow; 1 one is; 2 bad options, or no agent answers.",
};
