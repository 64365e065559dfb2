#include "preload/worker/parts.h"

#include "preload/runtime/own_files.h"
#include "preload/runtime/sandbox.h"
#include "preload/runtime/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 4096 };

/* Those whose default is to end the process, and that another process sends. */
static const int fatal[] = {SIGTERM, SIGINT,  SIGHUP,    SIGQUIT, SIGALRM, SIGUSR1,
			    SIGUSR2, SIGPIPE, SIGVTALRM, SIGPROF, SIGXCPU, SIGABRT};
enum { FATAL = sizeof(fatal) / sizeof(*fatal) };

/*
 * How many threads there are, 0 while the main one is there: then the process has a working folder.
 * The main thread, which stays as a zombie, counts. No file is opened for that: another thread,
 * made for it (own_files.h), would count, too.
 */
static long threads_without_main(void)
{
	struct stat tasks;
	char end;

	if (readlink("/proc/self/cwd", &end, 1) > 0 || errno != ENOENT ||
	    stat("/proc/self/task", &tasks))
		return 0;
	return (long)tasks.st_nlink - 2;
}

/* Whether thread @p task has ended, or lets none of the signals in. A driver's threads block all.
 */
static bool takes_none(const char *task)
{
	char path[64], text[ROOM], *at;
	uint64_t blocked;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", task);
	if (!gw_small_file(path, text, sizeof(text)) || strstr(text, "\nState:\tZ"))
		return true;
	at = strstr(text, "\nSigBlk:\t");
	blocked = at ? strtoull(at + 9, NULL, 16) : 0;
	for (int i = 0; i < FATAL; i++)
		if (!(blocked >> (fatal[i] - 1) & 1))
			return false;
	return true;
}

static void look_at_threads(void *none)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	bool good = tasks != NULL;

	while (good && (entry = readdir(tasks)))
		good = entry->d_name[0] == '.' || takes_none(entry->d_name);
	if (tasks)
		closedir(tasks);
	*(bool *)none = good;
}

static bool nobody_takes_any(void)
{
	bool none = false;

	gw_apart(look_at_threads, &none);
	return none;
}

/*
 * A signal that waits is let in where it ends the process: no handler of the program's runs here.
 * Not at once: a thread that blocks all may be about to call sigwait().
 */
static void let_in(void)
{
	static sigset_t before;
	sigset_t waiting, one;

	sigpending(&one);
	sigandset(&waiting, &one, &before);
	before = one;
	for (int i = 0; i < FATAL; i++) {
		struct sigaction action;

		if (!sigismember(&waiting, fatal[i]) || sigaction(fatal[i], NULL, &action) ||
		    (action.sa_flags & SA_SIGINFO) || action.sa_handler != SIG_DFL ||
		    !nobody_takes_any())
			continue;
		sigemptyset(&one);
		sigaddset(&one, fatal[i]);
		pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	}
}

bool gw_alone(void)
{
	long threads;

	if (!gw_sandbox_enter())
		return false;
	threads = threads_without_main();
	if (threads)
		let_in();
	gw_sandbox_leave();
	return threads == 1 + (long)gw_spawned();
}
