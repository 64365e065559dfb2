/* gpuwatch recover: logs of processes that were killed, from their live segments. */
#include "cli/command.h"
#include "cli/live/file.h"
#include "cli/live/guard.h"
#include "cli/live/tables.h"
#include "cli/message.h"
#include "predictor/log/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
	const char *output;
	bool all, keep, json;
};

static const struct gw_option options[] = {
	GW_OPT_FLAG(all, "every segment of this user's that no process owns any more"),
	GW_OPT_FLAG(keep,
		    "leave a segment where it is; else it is removed once its log is written"),
	GW_OPT_FLAG(json,
		    "print what the segments show of their processes, running or not: "
		    "configurations with predictions and measured times, GPUs, totals; no log is "
		    "written, and no segment removed"),
	GW_OPT_OUT(output, "FOLDER", "where to write the logs (default: the current folder)"),
	{0},
};

static bool write_all(int to, const unsigned char *at, size_t left)
{
	while (left) {
		ssize_t n = write(to, at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		left -= (size_t)n;
	}
	return true;
}

/* NAME.recovered.gwl, or recovered.PID.gwl where there was no log. */
static void name_for(const struct gw_live_file *f, const char *folder, char *out, size_t size)
{
	const char *log = gw_live_log_of(f), *base = strrchr(log, '/');
	size_t n;

	base = base ? base + 1 : log;
	n = strlen(base);
	if (n > 4 && !strcmp(base + n - 4, ".gwl"))
		snprintf(out, size, "%s/%.*s.recovered.gwl", folder, (int)n - 4, base);
	else
		snprintf(out, size, "%s/gpuwatch.%u.recovered.gwl", folder, f->head->pid);
}

static int save(const struct gw_live_file *f, const char *segment, const struct options *o)
{
	char name[8400], safe[8400];
	struct gw_live_rest rest;
	char why[256];
	size_t size = 0;
	unsigned char *log = gw_live_read_file(gw_live_log_of(f), &size, why, sizeof(why));
	int to, status = GW_EXIT_OK;

	gw_live_add(f, log, size, &rest);
	free(log);
	name_for(f, o->output ? o->output : ".", name, sizeof(name));
	to = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0 || !write_all(to, rest.log, rest.size)) {
		status = gw_error("%s: %s", name, strerror(errno));
	} else {
		printf("%s: %" PRIu64 " launches of process %u were not in its log\n",
		       gw_printable(safe, sizeof(safe), name), rest.launches, f->head->pid);
		gw_live_say_lost(name, &rest);
		if (!o->keep && unlink(segment))
			gw_warning("%s: %s", segment, strerror(errno));
	}
	if (to >= 0)
		close(to);
	free(rest.log);
	return status;
}

struct printing {
	const char *path;
	struct gw_live_file file;
	struct gw_live_head head;
	char why[256];
	bool good;
};

static void print_it(void *arg)
{
	struct printing *p = arg;

	if (!gw_live_map(&p->file, p->path, p->why, sizeof(p->why)) ||
	    !gw_live_hold_head(&p->file, &p->head))
		return;
	gw_live_print(&p->file, p->path);
	p->good = true;
}

static int print(const char *path)
{
	struct printing p = {.path = path, .why = "it changes while it is read"};

	if (!gw_live_guarded(print_it, &p))
		p.good = false;
	gw_live_unmap(&p.file);
	return p.good ? GW_EXIT_OK : gw_error("%s: %s", path, p.why);
}

static int recover(const char *path, const struct options *o)
{
	struct gw_live_file f;
	char why[256];
	int status;

	if (o->json)
		return print(path);
	if (!gw_live_open(&f, path, why, sizeof(why)))
		return gw_error("%s: %s", path, why);
	if (gw_live_owner(&f) == GW_LIVE_ELSEWHERE)
		status = gw_error("%s: it is of another PID namespace (a container): run gpuwatch "
				  "recover there",
				  path);
	else if (gw_live_owned(&f))
		status = gw_error("%s: process %u is still running", path, f.head->pid);
	else
		status = save(&f, path, o);
	gw_live_close(&f);
	return status;
}

/* One that can't be read, for @p why. A process that died while it made it left nothing in it. */
static int unreadable(const char *path, const char *name, bool keep, const char *why)
{
	bool gone = false;

	gw_live_named(name, &gone);
	if (!gone)
		return GW_EXIT_OK; /* it is being made */
	if (!gw_live_empty(path))
		return gw_error("%s: %s; it is left where it is", path, why);
	if (!keep && unlink(path))
		return gw_error("%s: %s", path, strerror(errno));
	printf("%s: it holds nothing%s\n", path, keep ? "" : " and is removed");
	return GW_EXIT_OK;
}

static int recover_all(const struct options *o)
{
	const char *own = getenv("GPUWATCH_RUN_DIR");
	char folder[4200], path[8400];
	struct dirent *e;
	struct stat st;
	int status = GW_EXIT_OK;
	DIR *d;

	gw_live_folder(folder, sizeof(folder));
	/* In /dev/shm anybody may make a folder, or a link, of this name. */
	if (!(own && *own) && !stat(folder, &st) && st.st_uid != geteuid())
		return gw_error("recover: %s belongs to user %u, not to you: nothing in it is "
				"read; set GPUWATCH_RUN_DIR to it if it should be",
				folder, (unsigned)st.st_uid);
	d = opendir(folder);
	while (d && (e = readdir(d))) {
		struct gw_live_file f;
		char why[256];
		int one;

		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (!gw_live_named(e->d_name, NULL))
			continue;
		if (o->json && gw_live_empty(path)) {
			one = GW_EXIT_OK;
		} else if (o->json) {
			one = print(path);
		} else if (gw_live_open(&f, path, why, sizeof(why))) {
			one = gw_live_owned(&f) ? GW_EXIT_OK : save(&f, path, o);
			gw_live_close(&f);
		} else {
			one = unreadable(path, e->d_name, o->keep, why);
		}
		status = one ? GW_EXIT_USAGE : status;
	}
	if (d)
		closedir(d);
	return status;
}

static int run(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {0};
	int status = gw_command_parse(command, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (!argc && !o.all)
		return gw_error(
			"recover: missing segment argument, or --all; see gpuwatch recover --help");
	status = o.all ? recover_all(&o) : GW_EXIT_OK;
	for (int i = 0; i < argc; i++)
		if (recover(argv[i], &o))
			status = GW_EXIT_USAGE;
	return status;
}

const struct gw_command_body gw_recover_command = {
	.run = run,
	.options = options,
	.description =
		"Writes the log of a process that was killed: the log that it wrote, and the\n"
		"launches of its last second from its live segment. Those launches have no GPU\n"
		"time. gpuwatch doctor lists segments. A segment whose process still runs is left\n"
		"alone. --all removes segments that hold nothing, and keeps and names damaged\n"
		"ones.\n\n"
		"gpuwatch report reads the segment that a log names without this command.",
	.examples = "gpuwatch recover --all --output=logs\n"
		    "Logs of all your processes that were killed.\n"
		    "gpuwatch recover --all --json\n"
		    "What every process of yours under gpuwatch runs, predicts and measures now.\n",
	.exit_status = "0 every segment has its log, or held nothing; 2 one has not, or is "
		       "damaged, or bad "
		       "options.",
};
