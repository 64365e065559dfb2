/* gpuwatch ranks: the logs of a job's ranks, joined. */
#include "cli/command.h"
#include "cli/common/memory.h"
#include "cli/log/folder.h"
#include "cli/message.h"
#include "cli/ranks/show.h"
#include "cli/window/window.h"

#include <stdlib.h>
#include <string.h>

struct options {
	const char *rank, *since, *until, *last;
	bool all, json;
};

static const struct gw_option options[] = {
	GW_OPT_TEXT(rank, "N", "show each step of rank N"),
	GW_OPT_FLAG(all, "show all ranks; of more than 16, those that others wait for most are "
			 "shown otherwise"),
	LOG_WINDOW_OPTIONS,
	GW_OPT_FLAG(json, "print JSON: every step of every rank"),
	{0},
};

struct logs {
	struct ranks_log *log;
	size_t count, room;
	struct ranks_shapes shapes;
};

static bool add(void *arg, const char *path)
{
	struct logs *l = arg;

	l->log = gw_grow(l->log, &l->room, l->count + 1, sizeof(*l->log));
	if (ranks_log_read(&l->log[l->count], &l->shapes, path, NULL, 0)) {
		l->count++;
		return true;
	}
	ranks_log_free(&l->log[l->count]);
	return false;
}

static int show(const struct options *o, const struct ranks_shown *s)
{
	size_t rank = 0;

	if (o->rank) {
		while (rank < s->job->rank_count && strcmp(ranks_label(s, rank), o->rank))
			rank++;
		if (rank == s->job->rank_count)
			return gw_error("ranks: no rank %s in these logs; the table without --rank "
					"lists them",
					o->rank);
	}
	if (o->json)
		ranks_show_json(s);
	else if (o->rank)
		ranks_show_steps(s, rank);
	else
		ranks_show(s, o->all);
	return s->job->episode_count || s->job->network_count ? GW_EXIT_FINDINGS : GW_EXIT_OK;
}

/* Whether two logs say that they are of one rank, after a message. */
static bool twice(const struct logs *l)
{
	for (size_t i = 0; i < l->count; i++)
		for (size_t k = 0; k < i && *l->log[i].label; k++)
			if (!strcmp(l->log[i].label, l->log[k].label)) {
				gw_error("ranks: %s and %s are both of rank %s; give one log of "
					 "each rank, "
					 "all of one run",
					 l->log[k].path, l->log[i].path, l->log[i].label);
				return true;
			}
	return false;
}

static int compare(const struct options *o, struct logs *l)
{
	struct ranks_steps steps;
	struct ranks_job job;
	const struct ranks_shown shown = {&job, l->log, l->count, &steps};
	int status;

	if (l->count < 2)
		return gw_error("ranks: one log; give the logs of two ranks or more of one job");
	if (twice(l))
		return GW_EXIT_USAGE;
	if (!ranks_build(&job, l->log, l->count, &l->shapes, &steps)) {
		ranks_unbuild(&job);
		return gw_error("ranks: no two logs have steps in common: they need collectives "
				"(NCCL, or copies to the host and back) with times; record all "
				"ranks of one job in mode audit");
	}
	ranks_judge(&job);
	status = show(o, &shown);
	ranks_job_free(&job);
	ranks_unbuild(&job);
	return status;
}

static int ranks_main(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {0};
	int status = gw_command_parse(command, &argc, argv, &o), unread = 0;
	struct logs l = {0};

	if (status >= 0)
		return status;
	if (!argc)
		return gw_error("ranks: missing log file arguments: gpuwatch ranks train.*.gwl");
	status =
		log_window_set("ranks", &(struct log_window){o.since, o.until, o.last}, argv, argc);
	for (int i = 0; i < argc && !status; i++)
		if (gw_log_each(argv[i], add, &l))
			unread = GW_EXIT_USAGE;
	if (!status && (!unread || l.count > 1)) /* else why was said */
		status = compare(&o, &l);
	for (size_t i = 0; i < l.count; i++)
		ranks_log_free(&l.log[i]);
	free(l.log);
	ranks_shapes_free(&l.shapes);
	return unread ? unread : status;
}

const struct gw_command_body gw_ranks_command = {
	.run = ranks_main,
	.options = options,
	.description =
		"Joins the logs of a job's ranks: where each rank's time goes step by step, which "
		"rank comes late, and why. Logs are those of mode audit, one a rank: gpuwatch run "
		"--out='train.%r.gwl' -- torchrun ...; the launcher's variables name the rank.\n\n"
		"A step is a sequence of collectives that repeats. Collectives of NCCL 2.27 and "
		"newer are joined by their sequence numbers, which NCCL reports to "
		"libgpuwatch.so; without these by the order of NCCL's kernels; without such "
		"kernels (gloo, MPI) copies to the host and back stand for them. Clocks of "
		"different machines are set by the ends of collectives.\n\n"
		"COMPUTE: kernels; COMM: exposed communication; WAITING: for the last rank of a "
		"collective; INPUT: for data from the host; HOST: for the host's next launch; "
		"IDLE: between a launch's call and its start. OTHERS WAIT is how long the other "
		"ranks wait for it, on average. A rank is late when it needs 3% of a step longer "
		"for itself than the median rank, for several steps in a row. The cause is what "
		"takes it longer: a slow GPU (kernels take longer than on other ranks or than "
		"predicted), imbalance (they are expected to), input, or the host. The network is "
		"slow when exposed communication takes two ranks or more 3% of a step longer than "
		"in the steps before.",
	.examples = "gpuwatch ranks train.*.gwl\n"
		    "Which rank holds up the others?\n"
		    "gpuwatch ranks --rank=3 train.*.gwl\n"
		    "The steps of one rank.\n"
		    "gpuwatch ranks --json logs/ | jq '.late[]'\n"
		    "For a script.\n",
	.exit_status = "0 no rank is late, and the network is not slow; 1 one is; 2 bad options, "
		       "or logs that cannot be read or "
		       "have nothing in common.",
};
