#include "preload/runtime/own_files.h"

#include "preload/runtime/degrade.h"
#include "preload/runtime/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NUMBERS_MOST = 1 << 20, STACK_LEAST = 1 << 20 };

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif

/* Without close_range(): one by one, below the limit that numbers had or have. */
static void close_all(void)
{
	struct rlimit limit = {NUMBERS_MOST, NUMBERS_MOST};
	rlim_t most;

	getrlimit(RLIMIT_NOFILE, &limit);
	most = limit.rlim_max < NUMBERS_MOST ? limit.rlim_max : NUMBERS_MOST;
	for (rlim_t i = 0; i < most; i++)
		close((int)i);
}

static _Thread_local bool own __attribute__((tls_model("initial-exec")));

/*
 * A table of files of this thread's own, with nothing in it: no number of ours can be taken over by
 * the program, and no file of the program's, or end of a pipe, stays open for our sake. Locks by
 * fcntl() belong to the program's table and stay. close_range() is allowed where unshare() is not,
 * in containers above all.
 */
static bool leave_table(bool slowly)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, 0u, ~0u, CLOSE_RANGE_UNSHARE) == 0)
		return true;
#endif
	if (!slowly || unshare(CLONE_FILES) != 0)
		return false;
	close_all();
	return true;
}

bool gw_own_files(bool slowly)
{
	if (!gw_sandbox_enter()) {
		errno = EPERM;
		return false;
	}
	own = leave_table(slowly);
	gw_sandbox_leave();
	return own;
}

bool gw_has_own_files(void)
{
	return own;
}

static _Atomic bool refused; /* a thread was made, and got no table */

struct call {
	void (*work)(void *arg);
	void *arg;
	bool done;
};

static void *begin(void *arg)
{
	struct call *c = arg;

	c->done = gw_own_files(false);
	if (c->done)
		c->work(c->arg);
	else
		atomic_store(&refused, true);
	return NULL;
}

bool gw_thread_make(pthread_t *thread, void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, before;
	size_t stack = 0;
	bool made;

	if (pthread_attr_init(&attr))
		return false;
	pthread_attr_getstacksize(&attr, &stack);
	pthread_attr_setstacksize(&attr, stack > STACK_LEAST ? stack : STACK_LEAST);
	/* The program's signals are the program's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	made = !pthread_create(thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return made;
}

/* A handler that does not return would leave the new thread with what is on this stack. */
static void call_apart(struct call *c)
{
	sigset_t all, before;
	pthread_t thread;
	int cancel;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (gw_thread_make(&thread, begin, c))
		pthread_join(thread, NULL);
	pthread_setcancelstate(cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void gw_apart(void (*work)(void *arg), void *arg)
{
	struct call c = {work, arg, false};

	if (!own && !atomic_load(&refused) && gw_sandbox_enter()) {
		call_apart(&c);
		gw_sandbox_leave();
		gw_degraded_say();
	}
	if (!c.done)
		work(arg);
}

struct file {
	const char *path;
	char *text;
	size_t size;
};

static void read_file(void *arg)
{
	struct file *f = arg;
	int fd = open(f->path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, f->text, f->size - 1);

	if (fd >= 0)
		close(fd);
	f->size = n > 0 ? (size_t)n : 0;
	f->text[f->size] = 0;
}

size_t gw_small_file(const char *path, char *text, size_t size)
{
	struct file f = {path, text, size};

	gw_apart(read_file, &f);
	return f.size;
}

size_t gw_program_path(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);

	n = n > 0 ? n : 0;
	path[n] = 0;
	return (size_t)n;
}

const char *gw_stat_field(const char *stat, unsigned number)
{
	const char *at = strrchr(stat, ')');

	for (unsigned field = 2; at && field < number; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at;
}
