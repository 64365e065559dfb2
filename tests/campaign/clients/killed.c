/*
 * killed WITNESS THREADS PAUSE_US SEED wait|launch|worker: launches until it is killed.
 *
 * WITNESS is a file that holds a struct witness: each thread counts there the launches that
 * returned, in memory that outlives the process. Thread t launches blocks of 32 (t + 1) threads,
 * its launch i a grid of 1 + i % 7. With `launch` or `worker` a child launches, under the library
 * that PRELOADED names, and is killed in the middle of a write: its main thread or the worker is
 * stepped by ptrace(2), and of the library's instructions at which the live segment has a record
 * that is begun and not complete, one is the last. What the segment has when the child is dead
 * decides whether that is proven.
 */
#include "predictor/log/live.h"
#include "tests/campaign/clients/common.h"
#include "tests/campaign/clients/witness.h"

#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	/* fewer than a ring holds: none is dropped while the worker does not run */
	BURST = 12000,
	STEPS = 300, /* of the library while a record is begun, until the end */
};

static struct witness *witness;
static CUcontext context;
static unsigned pause_us;

/* ---- the one that kills ---- */

static const struct gw_live_head *segment;
static uintptr_t low, high; /* the library's code */

static uint32_t word(uint64_t at)
{
	return __atomic_load_n((const uint32_t *)(const void *)((const char *)segment + at),
			       __ATOMIC_ACQUIRE);
}

/* Thread @p tid has a slot of its ring that it has not handed over. */
static bool launch_begun(pid_t tid)
{
	for (uint32_t i = 0; i < GW_LIVE_RINGS; i++) {
		const struct gw_live_ring *r = &segment->ring[i];

		if (r->used && word(r->tid) == (uint32_t)tid)
			return word(r->next) != word(r->head);
	}
	return false;
}

/* A launch is being added to a sum, or has an entry and its slot, too: it is being taken. */
static bool taking_begun(pid_t tid)
{
	const struct gw_live_entry *e =
		(const void *)((const char *)segment + segment->entries.offset);

	(void)tid;
	if (segment->adding.entry)
		return true;
	for (uint32_t i = 0; i < segment->entries_used; i++) {
		uint32_t ring = __atomic_load_n(&e[i].ring, __ATOMIC_ACQUIRE);

		if (ring && ring <= GW_LIVE_RINGS &&
		    e[i].position == word(segment->ring[ring - 1].tail))
			return true;
	}
	return false;
}

static bool find_segment(void)
{
	char path[4200];
	const struct gw_live_head *h = MAP_FAILED;
	struct stat st;
	glob_t found;
	int fd;

	snprintf(path, sizeof(path), "%s/*.gwlive", getenv("GPUWATCH_RUN_DIR"));
	if (glob(path, 0, NULL, &found))
		return false;
	fd = open(found.gl_pathv[0], O_RDONLY);
	if (!fstat(fd, &st) && st.st_size)
		h = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	segment = h == MAP_FAILED ? NULL : h;
	return segment && __atomic_load_n(&segment->magic, __ATOMIC_ACQUIRE) == GW_LIVE_MAGIC &&
	       segment->rings;
}

static void find_library(pid_t pid)
{
	char path[64], line[4352], rights[8];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "libgpuwatch.so") &&
		    sscanf(line, "%lx-%lx %7s", &low, &high, rights) == 3 && rights[2] == 'x')
			break;
	if (maps)
		fclose(maps);
}

/* 0: it has none. */
static pid_t worker_of(pid_t pid)
{
	char path[64], name[32] = "";
	pid_t tid = 0;
	glob_t found;

	snprintf(path, sizeof(path), "/proc/%d/task/*/comm", (int)pid);
	for (size_t i = 0; !tid && !glob(path, 0, NULL, &found) && i < found.gl_pathc; i++) {
		FILE *file = fopen(found.gl_pathv[i], "r");

		if (file && fgets(name, sizeof(name), file) && !strcmp(name, "gpuwatch\n"))
			tid = atoi(strstr(found.gl_pathv[i], "task/") + 5);
		if (file)
			fclose(file);
	}
	return tid;
}

/* Step through @p tid to the last instruction: where it is in the library's code, plus one. */
static uint64_t step(pid_t tid, bool (*begun)(pid_t tid), uint64_t *seed)
{
	/* Meanwhile rings must not fill up. */
	const double end = seconds_now() + 0.8;
	unsigned left = draw(seed) % STEPS;
	int status;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return 0;
	while (seconds_now() < end && waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status)) {
		uintptr_t at = (uintptr_t)ptrace(PTRACE_PEEKUSER, tid,
						 offsetof(struct user, regs.rip), NULL);

		if (at >= low && at < high && begun(tid) && !left--)
			return at - low + 1;
		ptrace(PTRACE_SINGLESTEP, tid, NULL,
		       WSTOPSIG(status) == SIGTRAP ? 0 : (long)WSTOPSIG(status));
	}
	return 0;
}

static int kill_child(char **argv, uint64_t seed)
{
	const bool worker = !strcmp(argv[5], "worker");
	bool (*const begun)(pid_t) = worker ? taking_begun : launch_begun;
	const double end = seconds_now() + 3;
	pid_t child = fork(), tid;
	uint64_t at = 0;
	int status = 0;

	if (!child) {
		argv[5] = (char[]){"wait"};
		setenv("LD_PRELOAD", getenv("PRELOADED"), 1);
		execv(argv[0], argv);
		_exit(2);
	}
	while (!find_segment() && seconds_now() < end)
		usleep(1000);
	usleep(draw(&seed) % 60000);
	find_library(child);
	tid = worker ? worker_of(child) : child;
	if (segment && high && tid)
		at = step(tid, begun, &seed);
	kill(child, SIGKILL);
	while (waitpid(-1, &status, __WALL) > 0)
		;
	witness->inside = at && begun(tid) ? at : 0;
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? raise(SIGKILL) : 3;
}

/* ---- the one that launches ---- */

static void *launches(void *number)
{
	unsigned t = (unsigned)(uintptr_t)number;
	CUfunction f;
	CUstream stream;

	CK(cuCtxSetCurrent(context));
	f = kernel_named("empty");
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (uint64_t i = 0;; i++) {
		CK(cuLaunchKernel(f, 1 + (unsigned)(i % WITNESS_GRIDS), 1, 1, 32 * (t + 1), 1, 1, 0,
				  stream, NULL, NULL));
		witness->returned[t] = i + 1;
		if (pause_us)
			usleep(pause_us);
		else if (i % BURST == BURST - 1)
			sleep(3);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = argc == 6 ? open(argv[1], O_RDWR) : -1;
	unsigned threads = argc == 6 ? (unsigned)atoi(argv[2]) : 0;
	pthread_t other;

	if (fd < 0 || threads < 1 || threads > WITNESS_THREADS)
		return 2;
	witness = mmap(NULL, sizeof(*witness), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (witness == MAP_FAILED)
		return 2;
	if (strcmp(argv[5], "wait"))
		return kill_child(argv, strtoull(argv[4], NULL, 10));
	pause_us = (unsigned)atoi(argv[3]);
	context = client_start();
	for (unsigned t = 1; t < threads; t++)
		if (pthread_create(&other, NULL, launches, (void *)(uintptr_t)t))
			return 2;
	launches(NULL);
	return 0;
}
