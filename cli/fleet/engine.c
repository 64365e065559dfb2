#include "cli/fleet/engine.h"

#include "cli/common/memory.h"
#include "cli/message.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__asm__(".pushsection .rodata\n"
	".hidden fleet_engine_py\n"
	".globl fleet_engine_py\n"
	"fleet_engine_py:\n"
	".incbin \"" GW_FLEET_SQL "/../engine.py\"\n"
	".byte 0\n"
	".popsection\n");
extern const char fleet_engine_py[];

const char *const fleet_engine_names[] = {"duckdb", "spark", "clickhouse"};

/* ---- the child ---- */

struct child {
	pid_t pid;
	FILE *out; /* what it answers */
	char complaints[4200];
};

static const int ends[] = {SIGHUP, SIGINT, SIGTERM};
enum { ENDS = sizeof(ends) / sizeof(*ends) };
static volatile pid_t running; /* leads a group, as python3 may be a script; 0: none does */

/* The child ends, and with it what waits for it, which removes the links. */
static void forward(int signal)
{
	if (running > 0)
		kill(-running, signal);
}

static void catch_ends(struct sigaction *before)
{
	const struct sigaction s = {.sa_handler = forward, .sa_flags = SA_RESTART};

	for (int i = 0; i < ENDS; i++)
		if (!sigaction(ends[i], NULL, &before[i]) && before[i].sa_handler != SIG_IGN)
			sigaction(ends[i], &s, NULL);
}

static void restore_ends(const struct sigaction *before)
{
	for (int i = 0; i < ENDS; i++)
		sigaction(ends[i], &before[i], NULL);
}

/* What it is to do lies beside the links; complaints of its libraries go to a file, too. */
static bool write_plan(const struct fleet_run *run, const struct fleet_store *s, const json_t *plan)
{
	char path[4200];
	json_t *all = json_pack("{s:s, s:s, s:I, s:O}", "engine", fleet_engine_names[run->engine],
				"folder", s->folder, "threads", (json_int_t)run->threads, "steps",
				(json_t *)plan);
	bool good;

	snprintf(path, sizeof(path), "%s/plan.json", s->folder);
	good = all && !json_dump_file(all, path, JSON_COMPACT);
	json_decref(all);
	if (!good)
		gw_error("fleet: %s: can't be written; set TMPDIR to a folder with room", path);
	return good;
}

static void become(const struct fleet_run *run, const char *folder, const char *complaints, int to)
{
	const int null = open("/dev/null", O_RDONLY);
	const int said = open(complaints, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	setpgid(0, 0);
	dup2(null, 0);
	dup2(to, 1);
	dup2(said, 2);
	execlp(run->python, run->python, "-c", fleet_engine_py, folder, (char *)NULL);
	_exit(errno == ENOENT ? 127 : 126);
}

static bool start(const struct fleet_run *run, const struct fleet_store *s, struct child *c)
{
	int pipe[2];

	snprintf(c->complaints, sizeof(c->complaints), "%s/complaints", s->folder);
	if (pipe2(pipe, O_CLOEXEC)) {
		gw_error("fleet: %s", strerror(errno));
		return false;
	}
	c->pid = fork();
	if (!c->pid)
		become(run, s->folder, c->complaints, pipe[1]);
	if (c->pid > 0) {
		setpgid(c->pid, c->pid);
		running = c->pid;
	}
	close(pipe[1]);
	c->out = c->pid < 0 ? NULL : fdopen(pipe[0], "r");
	if (c->out)
		return true;
	close(pipe[0]);
	gw_error("fleet: %s", strerror(errno));
	return false;
}

/* ---- what it says ---- */

/* The last line of what libraries complained of, as a reason. */
static void last_line(const char *path, char *out, size_t size)
{
	FILE *in = fopen(path, "r");
	char line[512];

	*out = 0;
	while (in && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = 0;
		if (*line)
			snprintf(out, size, "%s", line);
	}
	if (in)
		fclose(in);
}

static void refuse(struct fleet_store *s, const char *link, const char *why)
{
	struct fleet_file *f = link ? fleet_store_of(s, link) : NULL;

	if (!f || *f->why)
		return;
	snprintf(f->why, sizeof(f->why), "%s", why ? why : "can't be read");
	s->used[f->table]--;
}

/* A line of it. False: it is the last one, after a message. */
static bool take(const struct fleet_run *run, struct fleet_store *s, json_t *line,
		 struct fleet_answers *out)
{
	const char *text;

	if ((text = json_string_value(json_object_get(line, "absent")))) {
		gw_error("fleet: --engine=%s: %s", fleet_engine_names[run->engine], text);
		return false;
	}
	if ((text = json_string_value(json_object_get(line, "error")))) {
		gw_error("fleet: --engine=%s: %s", fleet_engine_names[run->engine], text);
		return false;
	}
	if ((text = json_string_value(json_object_get(line, "version"))))
		snprintf(out->version, sizeof(out->version), "%s", text);
	if ((text = json_string_value(json_object_get(line, "refused"))))
		refuse(s, text, json_string_value(json_object_get(line, "why")));
	if (json_object_get(line, "begin"))
		json_array_clear(out->answers);
	if (json_object_get(line, "columns"))
		json_array_append(out->answers, line);
	if (json_is_number(json_object_get(line, "all_seconds"))) {
		out->seconds = json_number_value(json_object_get(line, "all_seconds"));
		out->whole = true;
	}
	return true;
}

static bool read_lines(const struct fleet_run *run, struct fleet_store *s, FILE *in,
		       struct fleet_answers *out)
{
	size_t room = 0;
	char *line = NULL;
	bool good = true;

	while (good && getline(&line, &room, in) > 0) {
		json_error_t error;
		json_t *value = json_loads(line, 0, &error);

		if (value)
			good = take(run, s, value, out);
		else
			good = !gw_error("fleet: --engine=%s: its answer is no JSON: %s",
					 fleet_engine_names[run->engine], error.text);
		json_decref(value);
	}
	free(line);
	return good;
}

bool fleet_engine_run(const struct fleet_run *run, struct fleet_store *s, const json_t *plan,
		      struct fleet_answers *out)
{
	struct sigaction before[ENDS];
	struct child c;
	char why[512];
	int status = 0;
	bool good;

	*out = (struct fleet_answers){.answers = json_array()};
	if (!write_plan(run, s, plan))
		return false;
	catch_ends(before);
	good = start(run, s, &c);
	if (good) {
		good = read_lines(run, s, c.out, out);
		fclose(c.out);
		while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR)
			;
		running = 0;
	}
	restore_ends(before);
	if (!good || (WIFEXITED(status) && !WEXITSTATUS(status) && out->whole))
		return good;
	if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "%s", strsignal(WTERMSIG(status)));
	else
		last_line(c.complaints, why, sizeof(why));
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126))
		gw_error("fleet: %s: can't be run; name a Python 3 by --python", run->python);
	else
		gw_error("fleet: --engine=%s ended before it had answered%s%s",
			 fleet_engine_names[run->engine], *why ? ": " : "", why);
	return false;
}
