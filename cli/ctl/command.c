/* gpuwatch ctl: switch what gpuwatch does in running processes. */
#include "cli/command.h"
#include "cli/common/memory.h"
#include "cli/common/number.h"
#include "cli/common/span.h"
#include "cli/ctl/ctl.h"
#include "cli/live/tables.h"
#include "cli/message.h"
#include "cli/table.h"
#include "predictor/log/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	WAIT_MS = 5000,
	WAIT_ELSEWHERE_MS = 1000, /* nobody knows whether it runs */
};

struct options {
	bool all, list;
	struct gw_words dir;
};

static const struct gw_option options[] = {
	GW_OPT_FLAG(list, "list the processes that can be switched, with the mode each is in"),
	GW_OPT_FLAG(all, "every such process of this user; of all users, where root asks"),
	GW_OPT_LIST(dir, "FOLDER",
		    "look for live segments in this folder, and no other; may stand several times "
		    "(default: as gpuwatch top)"),
	{0},
};

/* ---- the list ---- */

static int list_all(const struct ctl_list *l)
{
	static const struct gw_table_column columns[] = {
		{"pid", .right = true},
		{"user", .right = true, .priority = 2},
		{.title = "mode"},
		{"budget", .right = true, .priority = 1},
		{"launches", .right = true, .priority = 3},
		{"program", .elastic = true},
	};
	struct gw_table *t = gw_table_new(columns, 6);
	struct gw_text number;
	char text[128];

	for (size_t i = 0; i < l->count; i++) {
		const struct ctl_process *p = &l->process[i];

		gw_table_cellf(t, "%u", p->pid);
		gw_table_cellf(t, "%u", (unsigned)p->owner);
		gw_table_cell(t, gw_live_mode_text(&p->state, text, sizeof(text)));
		gw_table_cellf(t, "%u%%", p->state.budget);
		gw_table_cell(t, gw_thousands(&number, (double)p->launches));
		gw_table_cellf(t, "%s%s", p->exe, p->elsewhere ? " (in a container)" : "");
	}
	if (l->count)
		gw_table_print(t, stdout, gw_width(), 0);
	else
		gw_note("ctl: no process under gpuwatch is found; one that has launched nothing "
			"yet, or runs with GPUWATCH_SEGMENT=0, can't be");
	gw_table_free(t);
	return GW_EXIT_OK;
}

/* ---- requests ---- */

/* The part of "name=value" behind the name; NULL: it is another one. */
static const char *value_of(const char *text, const char *name)
{
	const size_t n = strlen(name);

	return strncmp(text, name, n) || text[n] != '=' ? NULL : text + n + 1;
}

static bool read_mode(const char *text, struct ctl_request *r)
{
	for (uint32_t i = 0; i < GW_MODES; i++)
		if (!strcmp(text, gw_mode_name(i))) {
			/* No hook can be taken out of a running process. */
			r->mode = i == GW_MODE_OFF ? GW_MODE_IDLE : i;
			return true;
		}
	gw_error("ctl: mode=%s is none of audit, watch, count, off and idle", text);
	return false;
}

static bool read_seconds(const char *text, struct ctl_request *r)
{
	uint64_t ns;

	if (!gw_span_read(text, &ns) || ns % 1000000000 || ns / 1000000000 > GW_LIVE_SECONDS_MOST) {
		gw_error("ctl: for=%s is no time of 1s to 31d in whole seconds, such as 30s, 10m "
			 "or 2h",
			 text);
		return false;
	}
	r->seconds = (uint32_t)(ns / 1000000000);
	return true;
}

static bool read_budget(const char *text, struct ctl_request *r)
{
	static const struct gw_option whole = {
		.name = "budget", .type = GW_OPTION_COUNT, .argument = "N", .high = 100};
	uint64_t n;

	if (gw_option_check(&whole, text, &n) || !*text) {
		gw_error("ctl: budget=%s is no whole number from 0 to 100, in percent", text);
		return false;
	}
	r->budget = (uint32_t)n;
	return true;
}

static bool read_pid(const char *text, uint32_t *pid)
{
	char *end;
	const unsigned long n = strtoul(text, &end, 10);

	*pid = (uint32_t)n;
	if (*text >= '0' && *text <= '9' && !*end && n && n <= 4194304)
		return true;
	gw_error("ctl: \"%s\" is neither a process id nor mode=, for= or budget=", text);
	return false;
}

/* Operands: what is asked, and of whom. */
static bool read_operands(int argc, char **argv, struct ctl_request *r, uint32_t *pids, int *count)
{
	const char *value;

	*count = 0;
	for (int i = 0; i < argc; i++) {
		bool good = (value = value_of(argv[i], "mode"))  ? read_mode(value, r)
			    : (value = value_of(argv[i], "for")) ? read_seconds(value, r)
			    : (value = value_of(argv[i], "budget"))
				    ? read_budget(value, r)
				    : read_pid(argv[i], &pids[(*count)++]);

		if (!good)
			return false;
	}
	return true;
}

static int ask(struct ctl_process *p, const struct ctl_request *r)
{
	char why[400], text[128];

	switch (ctl_ask(p, r, p->elsewhere ? WAIT_ELSEWHERE_MS : WAIT_MS, why, sizeof(why))) {
	case CTL_DONE:
		printf("%u: mode %s, budget %u%%%s%s\n", p->pid,
		       gw_live_mode_text(&p->state, text, sizeof(text)), p->state.budget,
		       *p->state.text ? "; " : "", p->state.text);
		return GW_EXIT_OK;
	case CTL_REFUSED:
		gw_warning("ctl: process %u refuses: %s", p->pid, p->state.text);
		return GW_EXIT_FINDINGS;
	case CTL_FAILED:
		gw_warning("ctl: process %u: %s", p->pid, why);
		return GW_EXIT_FINDINGS;
	}
	return GW_EXIT_FINDINGS;
}

static struct ctl_process *process_of(const struct ctl_list *l, uint32_t pid)
{
	for (size_t i = l->count; i--;)
		if (l->process[i].pid == pid && !l->process[i].elsewhere)
			return &l->process[i];
	return NULL;
}

static int ask_all(const struct ctl_list *l, const struct ctl_request *r)
{
	int status = GW_EXIT_OK;

	for (size_t i = 0; i < l->count; i++)
		if (ask(&l->process[i], r))
			status = GW_EXIT_FINDINGS;
	if (l->count)
		return status;
	gw_warning("ctl: no process under gpuwatch is found");
	return GW_EXIT_FINDINGS;
}

static int ask_named(const struct ctl_list *l, const struct ctl_request *r, const uint32_t *pids,
		     int count)
{
	int status = GW_EXIT_OK;

	for (int i = 0; i < count; i++) {
		struct ctl_process *p = process_of(l, pids[i]);

		if (!p)
			return gw_error("ctl: process %u has no live segment that can be read: it "
					"has ended, is not under gpuwatch, has launched nothing "
					"yet, belongs to another user, or runs with "
					"GPUWATCH_SEGMENT=0 or a GPUWATCH_RUN_DIR on a disk, where "
					"none is made; see gpuwatch ctl --list",
					pids[i]);
		if (ask(p, r))
			status = GW_EXIT_FINDINGS;
	}
	return status;
}

/* What is wrong with the words given together; NULL: nothing. */
static const char *contradiction(const struct options *o, const struct ctl_request *r, int pids)
{
	const bool asked = r->mode != GW_LIVE_AS_IT_IS || r->budget != GW_LIVE_AS_IT_IS;

	if (o->list)
		return pids || o->all || asked || r->seconds ? "--list takes nothing else" : NULL;
	if (!pids && !o->all)
		return "no process is given; give a process id, or --all; --list shows them";
	if (pids && o->all)
		return "--all takes no process id";
	if (!asked)
		return "what? Give mode=audit, watch, count or idle, or budget=PERCENT";
	return NULL;
}

static int run(const struct gw_command *command, int argc, char **argv)
{
	struct ctl_request r = {GW_LIVE_AS_IT_IS, GW_LIVE_AS_IT_IS, 0};
	struct options o = {0};
	struct ctl_list list;
	uint32_t *pids;
	const char *wrong;
	int status = gw_command_parse(command, &argc, argv, &o), count;

	if (status >= 0)
		return status;
	pids = gw_alloc(((size_t)argc + 1) * sizeof(*pids));
	if (!read_operands(argc, argv, &r, pids, &count)) {
		free(pids);
		return GW_EXIT_USAGE;
	}
	wrong = contradiction(&o, &r, count);
	if (wrong) {
		free(pids);
		return gw_error("ctl: %s", wrong);
	}
	ctl_find(&list, &o.dir);
	status = o.list  ? list_all(&list)
		 : o.all ? ask_all(&list, &r)
			 : ask_named(&list, &r, pids, count);
	ctl_free(&list);
	free(pids);
	return status;
}

const struct gw_command_body gw_ctl_command = {
	.run = run,
	.options = options,
	.description =
		"Switches what gpuwatch does in processes that run under it. mode=audit, watch or\n"
		"count is that mode from now on; mode=idle, for which mode=off is another word,\n"
		"records nothing until the next switch. budget=PERCENT is GPUWATCH_BUDGET. "
		"for=30s\n"
		"(d, h, m, s) goes back by itself after that time.\n\n"
		"The process reads the request in its live segment, at the latest after 0.3 s,\n"
		"without a signal or a lock, and answers there; gpuwatch ctl prints the answer "
		"and\n"
		"waits 5 s for it at most. The log has every switch.\n\n"
		"Only the user whom a process belongs to, and root, can switch it. One that has\n"
		"launched no kernel yet is not found, nor one with GPUWATCH_SEGMENT=0 or with a\n"
		"GPUWATCH_RUN_DIR on a disk. Processes in containers have numbers of their own:\n"
		"--all reaches them.",
	.examples = "gpuwatch ctl --list\n"
		    "Processes under gpuwatch, and their modes.\n"
		    "gpuwatch ctl 4711 mode=audit for=30s\n"
		    "Time every kernel of process 4711 for 30 s, then go on as before.\n"
		    "gpuwatch ctl --all mode=off\n"
		    "Record nothing any more.\n",
	.exit_status = "0 done; 1 a process refused, did not answer, or there is none; 2 bad "
		       "options, or a process that is not found.",
};
