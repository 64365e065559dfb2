#include "tests/preload/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *built(const char *name)
{
	static char path[8][512];
	static unsigned at;
	char *to = path[at++ % 8];

	snprintf(to, sizeof(path[0]), "%s/%s", GW_PRELOAD_CLIENTS, name);
	return to;
}

/* ---- the process ---- */

struct environment {
	char *entry[ENV_MAX + 16];
	unsigned count;
};

static void set(struct environment *e, const char *text)
{
	size_t name = (size_t)(strchr(text, '=') - text) + 1;
	unsigned i = 0;

	while (i < e->count && strncmp(e->entry[i], text, name) != 0)
		i++;
	if (i == e->count)
		e->count++;
	else
		free(e->entry[i]);
	e->entry[i] = strdup(text);
	e->entry[e->count] = NULL;
}

static void setf(struct environment *e, const char *format, ...)
{
	char text[4096];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	set(e, text);
}

static int delete_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* Live segments of all runs: in memory, and gone with the test. */
static char segments[64];
static pid_t segments_owner;

static void remove_segments(void)
{
	if (getpid() == segments_owner)
		nftw(segments, delete_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *segments_folder(void)
{
	if (!segments[0]) {
		segments_owner = getpid();
		snprintf(segments, sizeof(segments), "/dev/shm/gw-test-%d", (int)segments_owner);
		mkdir(segments, 0700);
		atexit(remove_segments);
	}
	return segments;
}

static void environment_fill(struct environment *e, const struct run *r, const char *dir,
			     bool watched)
{
	const char *before = r->preload_before ? r->preload_before : "";
	const char *after = r->preload_after ? r->preload_after : "";

	memset(e, 0, sizeof(*e));
	setf(e, "PATH=%s", getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
	setf(e, "LC_ALL=C");
	setf(e, "LD_LIBRARY_PATH=%s:%s", GW_STANDIN, GW_PRELOAD_CLIENTS);
	setf(e, "STANDIN_COUNT=%s/truth.%%p.json", dir);
	setf(e, "GPUWATCH_OUT=%s/log.%%p.gwl", dir);
	setf(e, "GPUWATCH_RUN_DIR=%s", segments_folder());
	setf(e, "GPUWATCH_SUMMARY=0");
	setf(e, "GPUWATCH_LOG=launches"); /* each can be counted, in mode watch, too */
	if ((watched && !r->inject) || *before || *after)
		setf(e, "LD_PRELOAD=%s %s %s", before, watched ? GW_LIBRARY : "", after);
	if (watched && r->inject)
		setf(e, "CUDA_INJECTION64_PATH=%s", GW_LIBRARY);
	set(e, "STANDIN_CUPTI_VERSION=130001");
#ifdef __SANITIZE_THREAD__
	setf(e, "TSAN_OPTIONS=die_after_fork=0:log_path=%s/tsan:suppressions=" GW_SUPPRESSIONS,
	     dir);
#endif
	for (unsigned i = 0; i < ENV_MAX && r->env[i]; i++)
		set(e, r->env[i]);
}

static void to_file(const char *name, int fd)
{
	int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);

	if (file < 0 || dup2(file, fd) < 0)
		_exit(126);
	close(file);
}

_Noreturn static void become(const struct run *r, const char *dir, char **env)
{
	const char *program = *r->program == '/' ? r->program : built(r->program);
	const char *argv[ARGS_MAX + 6];
	unsigned n = 0;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (chdir(dir) != 0)
		_exit(126);
	to_file("stdout", STDOUT_FILENO);
	to_file("stderr", STDERR_FILENO);
	close(STDIN_FILENO);
	if (open("/dev/null", O_RDONLY) != STDIN_FILENO)
		_exit(126);
	if (r->shell) {
		argv[n++] = "/bin/sh";
		argv[n++] = "-c";
		argv[n++] = r->shell;
		argv[n++] = "sh";
	}
	argv[n++] = program;
	for (unsigned i = 0; i < ARGS_MAX && r->arg[i]; i++)
		argv[n++] = r->arg[i];
	argv[n] = NULL;
	if (r->in_child)
		r->in_child();
	execve(argv[0], (char **)argv, env);
	_exit(127);
}

static void end(struct outcome *o)
{
	o->timed_out = true;
	kill(-o->pid, SIGKILL);
	kill(o->pid, SIGKILL);
}

/* Wait for every process of the runs, daemons included: they become our children. */
static void wait_for_all(struct outcome *const *runs, unsigned count)
{
	const struct timespec limit = {TIMEOUT_S, 0};
	sigset_t child;
	pid_t ended;
	int status;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
			for (unsigned i = 0; i < count; i++)
				if (ended == runs[i]->pid)
					runs[i]->status = status;
		if (ended < 0)
			return;
		if (sigtimedwait(&child, NULL, &limit) < 0 && errno == EAGAIN)
			for (unsigned i = 0; i < count; i++)
				end(runs[i]);
	}
}

static char *slurp(const char *dir, const char *name)
{
	char path[512], *text = NULL;
	size_t size = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "r");
	if (file && getdelim(&text, &size, '\0', file) < 0 && text)
		*text = 0;
	if (file)
		fclose(file);
	return text ? text : strdup("");
}

static void accounts_read(struct outcome *o, const char *pattern, struct account *to,
			  unsigned *count, bool (*read)(const char *path, struct account *a))
{
	char path[512];
	glob_t found;

	snprintf(path, sizeof(path), "%s/%s", o->dir, pattern);
	*count = 0;
	if (glob(path, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc && *count < PROCESSES_MAX; i++)
		if (read(found.gl_pathv[i], &to[*count]))
			++*count;
	globfree(&found);
}

static struct outcome *start(const struct run *r, bool watched)
{
	struct outcome *o = calloc(1, sizeof(*o));
	struct environment env;
	sigset_t child;

	assert_non_null(o);
	strcpy(o->dir, "/tmp/gwpt.XXXXXX");
	assert_non_null(mkdtemp(o->dir));
	environment_fill(&env, r, o->dir, watched);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	o->pid = fork();
	assert_true(o->pid >= 0);
	if (o->pid == 0) {
		setpgid(0, 0);
		become(r, o->dir, env.entry);
	}
	for (unsigned i = 0; i < env.count; i++)
		free(env.entry[i]);
	return o;
}

static void finish(struct outcome *o)
{
	o->out = slurp(o->dir, "stdout");
	o->err = slurp(o->dir, "stderr");
	accounts_read(o, "truth.*.json", o->truth, &o->truths, account_of_truth);
	accounts_read(o, "*.gwl*", o->log, &o->logs, account_of_log);
}

static struct outcome *run_one(const struct run *r, bool watched)
{
	struct outcome *o = start(r, watched);

	if (r->meanwhile)
		r->meanwhile(o->pid);
	wait_for_all(&o, 1);
	finish(o);
	return o;
}

struct outcome *run_bare(const struct run *r)
{
	return run_one(r, false);
}

struct outcome *run_watched(const struct run *r)
{
	return run_one(r, true);
}

void outcome_free(struct outcome *o)
{
	chmod(o->dir, 0700);
	nftw(o->dir, delete_one, 16, FTW_DEPTH | FTW_PHYS);
	free(o->out);
	free(o->err);
	free(o);
}

/* ---- comparing ---- */

static bool is_ours(const char *line)
{
	return strncmp(line, "gpuwatch:", 9) == 0;
}

unsigned warnings(const char *text)
{
	unsigned n = 0;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		n += is_ours(line);
	}
	return n;
}

/* Without our lines. */
static char *theirs(const char *text)
{
	char *to = malloc(strlen(text) + 1), *at = to;

	while (*text) {
		size_t n = strcspn(text, "\n");

		n += text[n] == '\n';
		if (!is_ours(text)) {
			memcpy(at, text, n);
			at += n;
		}
		text += n;
	}
	*at = 0;
	return to;
}

/* ThreadSanitizer's reports: in files, since standard error is not open in each of our threads. */
static void complain_of_races(const struct outcome *o)
{
	char path[512], *text;
	glob_t found;

	snprintf(path, sizeof(path), "%s/tsan.*", o->dir);
	if (glob(path, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		text = slurp("", found.gl_pathv[i]);
		fprintf(stderr, "%s\n", text);
		free(text);
	}
	globfree(&found);
}

static void complain(const struct run *r, const struct outcome *o)
{
	fprintf(stderr, "%s", *r->program == '/' ? r->program : built(r->program));
	for (unsigned i = 0; i < ARGS_MAX && r->arg[i]; i++)
		fprintf(stderr, " %s", r->arg[i]);
	for (unsigned i = 0; i < ENV_MAX && r->env[i]; i++)
		fprintf(stderr, " [%s]", r->env[i]);
	fprintf(stderr, "\n  status %#x%s\n  stdout: %s\n  stderr: %s\n", (unsigned)o->status,
		o->timed_out ? ", killed after the time limit" : "", o->out, o->err);
	complain_of_races(o);
}

struct outcome *run_both(const struct run *r)
{
	struct outcome *both[] = {start(r, false), start(r, true)};
	struct outcome *bare = both[0], *watched = both[1];
	unsigned allowed = r->warnings ? r->warnings : 1;
	bool alike;
	char *a, *b;

	assert_null(r->meanwhile); /* it is for one process */
	wait_for_all(both, 2);
	finish(bare);
	finish(watched);
	a = theirs(bare->err);
	b = theirs(watched->err);
	alike = !bare->timed_out && !watched->timed_out && bare->status == watched->status &&
		strcmp(bare->out, watched->out) == 0 && strcmp(a, b) == 0;
	if (!alike || warnings(watched->err) > allowed) {
		complain(r, bare);
		complain(r, watched);
	}
	assert_false(bare->timed_out);
	assert_false(watched->timed_out);
	assert_int_equal(watched->status, bare->status);
	assert_string_equal(watched->out, bare->out);
	assert_string_equal(b, a);
	assert_in_range(warnings(watched->err), 0, allowed);
	free(a);
	free(b);
	outcome_free(bare);
	return watched;
}

void assert_same_account(const struct account *truth, const struct account *log)
{
	for (unsigned i = 0; i < truth->kernels; i++) {
		struct tally wanted = truth->kernel[i];
		uint64_t found = account_count(log, &wanted);

		if (found != wanted.count)
			fprintf(stderr,
				"pid %d: %s grid %u,%u,%u block %u,%u,%u shared %u%s: ran %llu "
				"times, the log has %llu\n",
				(int)truth->pid, wanted.name, wanted.grid[0], wanted.grid[1],
				wanted.grid[2], wanted.block[0], wanted.block[1], wanted.block[2],
				wanted.shared, wanted.graph ? " in a graph" : "",
				(unsigned long long)wanted.count, (unsigned long long)found);
		assert_int_equal(found, wanted.count);
	}
	assert_int_equal(log->total, truth->total);
	assert_int_equal(log->counter[GW_COUNTER_launches] + log->counter[GW_COUNTER_graph_kernels],
			 truth->total);
}

static const struct account *by_pid(const struct account *list, unsigned count, pid_t pid)
{
	for (unsigned i = 0; i < count; i++)
		if (list[i].pid == pid)
			return &list[i];
	return NULL;
}

void assert_logs_are_the_truth(const struct outcome *o)
{
	unsigned ran = 0;

	for (unsigned i = 0; i < o->truths; i++) {
		const struct account *log = by_pid(o->log, o->logs, o->truth[i].pid);

		if (!o->truth[i].total)
			continue;
		ran++;
		if (!log)
			fprintf(stderr, "pid %d ran kernels and left no log\n",
				(int)o->truth[i].pid);
		assert_non_null(log);
		assert_true(log->ended);
		assert_false(log->damaged);
		assert_same_account(&o->truth[i], log);
	}
	assert_int_equal(o->logs, ran);
}

void assert_replays(const struct outcome *o)
{
	char command[1600];

	snprintf(command, sizeof(command), "%s replay --check %s > /dev/null", GW_COMMAND,
		 only_log(o)->path);
	assert_int_equal(system(command), 0);
}

const struct account *only_log(const struct outcome *o)
{
	if (o->logs != 1)
		fprintf(stderr, "%u logs; stderr: %s\n", o->logs, o->err);
	assert_int_equal(o->logs, 1);
	return &o->log[0];
}

void assert_on_gpus(const char *program, const char *scenario, unsigned first, unsigned second)
{
	static const char *const modes[] = {"GPUWATCH_MODE=audit", "GPUWATCH_MODE=watch",
					    "GPUWATCH_MODE=count"};

	for (unsigned i = 0; i < 6; i++) {
		struct run r = RUN(program, scenario);
		struct outcome *o;

		r.env[0] = "STANDIN_DEVICES=2";
		r.env[1] = modes[i % 3];
		r.inject = i >= 3;
		o = run_both(&r);
		assert_int_equal(o->logs, 1);
		assert_logs_are_the_truth(o);
		assert_int_equal(only_log(o)->on_device[1], first);
		assert_int_equal(only_log(o)->on_device[2], second);
		assert_int_equal(only_log(o)->degraded >> GW_DEGRADED_OTHER & 1, 0);
		outcome_free(o);
	}
}

bool may_mount(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(unshare(CLONE_NEWNS) != 0 ||
		      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		      mount("none", "/mnt", "tmpfs", 0, "size=4k") != 0);
	return waitpid(pid, &status, 0) == pid && status == 0;
}
