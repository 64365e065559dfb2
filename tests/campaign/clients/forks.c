/*
 * forks OPERATIONS THREADS SEED: THREADS threads make OPERATIONS processes in all, in every way
 * there is, while two others launch. Prints how often each way ended how: the same for the same
 * seed. A process that does not end within 30 s is reported as a hang and killed.
 *
 * forks child WAY: what is executed; it launches, and ends in one of several ways.
 */
#include "tests/campaign/clients/common.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HANG_MS = 30000, THREADS_MAX = 64, CODES = 256, HANG = CODES - 1 };

enum way { FORK, FORK_EXIT, VFORK, VFORK_EXEC, SPAWN, FORK_EXEC, DAEMON, LAUNCHING, WAYS };
static const char *const names[WAYS] = {
	[FORK] = "fork, _exit",   [FORK_EXIT] = "fork, exit",
	[VFORK] = "vfork, _exit", [VFORK_EXEC] = "vfork, exec",
	[SPAWN] = "posix_spawn",  [FORK_EXEC] = "fork, exec",
	[DAEMON] = "daemon",      [LAUNCHING] = "a child that launches"};

extern char **environ;
static _Atomic uint64_t ended[WAYS][CODES];
static _Atomic bool done;
static CUcontext context;
static const char *self;
static unsigned operations, threads;
static uint64_t seed_all;

/* The status of @p pid as one number: exit status, 128 + signal, or HANG. */
static unsigned wait_for(pid_t pid)
{
	int status;

	for (unsigned waited = 0; waited < HANG_MS; waited++) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return WIFEXITED(status) ? (unsigned)WEXITSTATUS(status)
						 : 128 + (unsigned)WTERMSIG(status);
		usleep(waited < 20 ? 200 : 1000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return HANG;
}

/* A daemon's own parent is gone: the end of a pipe says that it ended, and how. */
static unsigned run_daemon(void)
{
	int pipes[2];
	unsigned char code = HANG;
	unsigned status;
	pid_t pid;

	if (pipe(pipes))
		return HANG - 1;
	pid = fork();
	if (!pid) {
		code = daemon(1, 1) ? 1 : 17;
		if (write(pipes[1], &code, 1) != 1)
			_exit(2);
		_exit(0);
	}
	close(pipes[1]);
	status = wait_for(pid);
	if (read(pipes[0], &code, 1) != 1)
		code = HANG - 2;
	close(pipes[0]);
	return status ? status : code;
}

static pid_t spawn(char *const *argv)
{
	pid_t pid;

	return posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) ? -1 : pid;
}

/* Its child has the caller's memory: what it needs stands still. */
static pid_t vforked(char *const *volatile argv, const volatile int code)
{
	pid_t pid = vfork();

	if (!pid && argv)
		execv(argv[0], argv);
	if (!pid)
		_exit(code);
	return pid;
}

static unsigned make(enum way way, uint32_t number)
{
	char how[16];
	char *const nothing[] = {(char *)"/bin/true", NULL};
	char *const child[] = {(char *)self, (char *)"child", how, NULL};
	int code = (int)(number % 100);
	pid_t pid = -1;

	snprintf(how, sizeof(how), "%u", number % 3);
	switch (way) {
	case FORK:
	case FORK_EXIT:
	case FORK_EXEC:
		pid = fork();
		if (!pid && way == FORK_EXEC)
			execv(nothing[0], nothing);
		if (!pid && way == FORK_EXIT)
			exit(code);
		if (!pid)
			_exit(code);
		break;
	case VFORK:
	case VFORK_EXEC:
		pid = vforked(way == VFORK_EXEC ? nothing : NULL, code);
		break;
	case SPAWN:
		pid = spawn(nothing);
		break;
	case LAUNCHING:
		pid = spawn(child);
		break;
	case DAEMON:
		return run_daemon();
	case WAYS:
		break;
	}
	return pid < 0 ? HANG - 3 : wait_for(pid);
}

static void *makes(void *number)
{
	unsigned t = (unsigned)(uintptr_t)number;
	uint64_t seed = seed_all * THREADS_MAX + t;

	draw(&seed);
	for (unsigned i = t; i < operations; i += threads) {
		uint32_t drawn = draw(&seed);
		/* One in 32 launches: such a child takes as long as thirty others. */
		enum way way = drawn % 32 ? (enum way)(drawn / 32 % LAUNCHING) : LAUNCHING;

		atomic_fetch_add(&ended[way][make(way, drawn >> 10)], 1);
	}
	return NULL;
}

static void *launches(void *unused)
{
	CUfunction f;

	(void)unused;
	CK(cuCtxSetCurrent(context));
	f = kernel_named("empty");
	while (!atomic_load(&done)) {
		CK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
		usleep(50);
	}
	return NULL;
}

static int child_main(int way)
{
	CUfunction f;

	client_start();
	f = kernel_named("empty");
	for (int i = 0; i < 3; i++)
		CK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	if (way == 1)
		_exit(41);
	if (way == 2)
		exit(42);
	return 40;
}

int main(int argc, char **argv)
{
	pthread_t launching[2], making[THREADS_MAX];

	if (argc == 3 && !strcmp(argv[1], "child"))
		return child_main(atoi(argv[2]));
	threads = argc == 4 ? (unsigned)atoi(argv[2]) : 0;
	if (!threads || threads > THREADS_MAX)
		return 2;
	self = argv[0];
	operations = (unsigned)atoi(argv[1]);
	seed_all = strtoull(argv[3], NULL, 10);
	context = client_start();
	for (int i = 0; i < 2; i++)
		if (pthread_create(&launching[i], NULL, launches, NULL))
			return 2;
	for (unsigned t = 0; t < threads; t++)
		if (pthread_create(&making[t], NULL, makes, (void *)(uintptr_t)t))
			return 2;
	for (unsigned t = 0; t < threads; t++)
		pthread_join(making[t], NULL);
	atomic_store(&done, true);
	for (int i = 0; i < 2; i++)
		pthread_join(launching[i], NULL);
	for (int way = 0; way < WAYS; way++)
		for (int code = 0; code < CODES; code++)
			if (ended[way][code])
				printf("%s: %d: %llu\n", names[way], code,
				       (unsigned long long)ended[way][code]);
	return 0;
}
