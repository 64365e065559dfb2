#include "cli/run_program.h"

#include "cli/command.h"
#include "cli/log/find.h"
#include "cli/log/reader.h"
#include "cli/message.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Signals with which a job manager speaks to the process that it started. */
static const int passed_on[] = {SIGHUP, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGALRM};

/* Signals that this process treats its own way. */
static const int own[] = {SIGINT, SIGQUIT, SIGCHLD};

enum { PASSED_ON = sizeof(passed_on) / sizeof(*passed_on), OWN = sizeof(own) / sizeof(*own) };

static volatile sig_atomic_t program;

/*
 * A terminal signals the whole process group: the program has that signal already. One that a
 * process sent may have been for this process alone.
 */
static void pass_on(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (info->si_code <= 0 && info->si_pid != program && program > 0)
		kill((pid_t)program, number);
	errno = saved;
}

int gw_run_failed(const char *path)
{
	int error = errno;

	gw_error("run: %s: %s", path, strerror(error));
	return error == ENOENT ? 127 : 126;
}

/*
 * Interrupt and quit of the terminal are the program's to answer, as under system(3). Its end is
 * waited for, also where the parent ignores that of children.
 */
static void set_signals(struct sigaction old[PASSED_ON + OWN])
{
	struct sigaction pass = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction ignore = {.sa_handler = SIG_IGN}, wait = {.sa_handler = SIG_DFL};

	sigemptyset(&pass.sa_mask);
	sigemptyset(&ignore.sa_mask);
	sigemptyset(&wait.sa_mask);
	for (unsigned i = 0; i < PASSED_ON; i++)
		sigaction(passed_on[i], &pass, &old[i]);
	for (unsigned i = 0; i < OWN; i++)
		sigaction(own[i], own[i] == SIGCHLD ? &wait : &ignore, &old[PASSED_ON + i]);
}

/* The program starts with the signals as they were. */
static void restore_signals(const struct sigaction old[PASSED_ON + OWN])
{
	for (unsigned i = 0; i < PASSED_ON; i++)
		sigaction(passed_on[i], &old[i], NULL);
	for (unsigned i = 0; i < OWN; i++)
		sigaction(own[i], &old[PASSED_ON + i], NULL);
}

/* In the child: SIGKILL of this command is that of the program, as if it had replaced it. */
static void start(const char *path, char *const argv[], const struct sigaction *old,
		  const sigset_t *mask, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(GW_EXIT_USAGE);
	restore_signals(old);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execv(path, argv);
	_exit(gw_run_failed(path));
}

/* The program alone keeps stdin and stdout open: a reader of its output sees it close them. */
static void let_go(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	close(null);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool is_launch(void *arg, const struct gw_log_record *record)
{
	bool *seen = arg;

	*seen = record->head->kind == GW_RECORD_LAUNCH || record->head->kind == GW_RECORD_AGGREGATE;
	return !*seen;
}

/* Name the logs that were opened since @p since where GPUWATCH_OUT puts them. */
static void name_logs(uint64_t since)
{
	const char *out = getenv("GPUWATCH_OUT"), *one = NULL;
	char **paths;
	size_t count = log_find(out, &paths), logs = 0;
	/* Without a name the report finds those of the default name. */
	bool kernels = false, named = out && *out;

	for (size_t i = 0; i < count; i++) {
		struct gw_log_status status;
		struct log_identity id;
		bool ours;

		log_identify(&id, paths[i]);
		ours = id.known && id.from >= since;
		log_identity_free(&id);
		if (!ours)
			continue;
		logs++;
		one = one ? one : paths[i];
		/* What a killed process launched last is in its live segment alone. */
		if (!kernels) {
			gw_log_read(paths[i], is_launch, &kernels, &status);
			kernels |= !status.ended;
		}
	}
	if (!logs)
		gw_note("run: no log was written: no kernel was seen, or a message above says why; "
			"`gpuwatch doctor` says what is missing");
	else if (logs == 1)
		gw_note("run: log: %s%s; gpuwatch report%s%s shows it", one,
			kernels ? "" : " (no kernel was seen)", named ? " " : "", named ? one : "");
	else
		gw_note("run: %zu logs: %s and %zu more%s; gpuwatch report %s", logs, one, logs - 1,
			kernels ? "" : " (no kernel was seen)",
			named ? "shows those that it is given" : "shows them");
	for (size_t i = 0; i < count; i++)
		free(paths[i]);
	free(paths);
}

/* End as the program did. No core file: the program has written its own. */
static int end_as(int status)
{
	struct rlimit none = {0, 0};
	sigset_t set;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

int gw_run_program(const char *path, char *const argv[])
{
	struct sigaction old[PASSED_ON + OWN];
	uint64_t since = now();
	sigset_t all, mask;
	pid_t parent = getpid(), child;
	int status;

	/* Block signals until the child can receive them. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	set_signals(old);
	child = fork();
	if (!child)
		start(path, argv, old, &mask, parent);
	if (child < 0) {
		restore_signals(old);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		execv(path, argv);
		return gw_run_failed(path);
	}
	program = child;
	sigprocmask(SIG_SETMASK, &mask, NULL);
	let_go();
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return GW_EXIT_USAGE;
	program = 0;
	name_logs(since);
	return end_as(status);
}
