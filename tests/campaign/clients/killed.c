/* SPDX-License-Identifier: Apache-2.0 */
/*
 * killed WITNESS THREADS PAUSE_US SEED wait|step: launches until it is killed.
 *
 * WITNESS is a file that holds a struct witness: each thread counts there the launches that
 * returned, in memory that outlives the process. Thread t launches blocks of 32 (t + 1) threads,
 * its launch i a grid of 1 + i % 7. With `step` the process kills itself, proven inside
 * libgpuwatch.so: a timer sets the trap flag, and a random number of instructions of the library
 * later the handler of SIGTRAP sends SIGKILL.
 */
#include "tests/campaign/clients/common.h"
#include "tests/campaign/clients/witness.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	TRAP_FLAG = 0x100,
	/* fewer than a ring holds: none is dropped while the worker does not run */
	BURST = 12000,
};

static struct witness *witness;
static CUcontext context;
static unsigned pause_us;
static uintptr_t low, high; /* the library's code */
static volatile int left;   /* instructions of it until the end */

static int find_library(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size, (void)unused;
	if (!strstr(info->dlpi_name, "libgpuwatch.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			low = info->dlpi_addr + p->p_vaddr;
			high = low + p->p_memsz;
		}
	}
	return 1;
}

/* The first signal is the timer's, those after it are the trap's. */
static void step(int sig, siginfo_t *info, void *context_of)
{
	greg_t *registers = ((ucontext_t *)context_of)->uc_mcontext.gregs;
	uintptr_t at = (uintptr_t)registers[REG_RIP];

	(void)info;
	registers[REG_EFL] |= TRAP_FLAG;
	if (sig != SIGTRAP || at < low || at >= high || left-- > 0)
		return;
	witness->inside = at - low + 1;
	kill(getpid(), SIGKILL);
}

static void arm(uint64_t seed)
{
	struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct itimerval when = {.it_value = {.tv_usec = 1000 + draw(&seed) % 100000}};

	dl_iterate_phdr(find_library, NULL);
	left = (int)(draw(&seed) % 400);
	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGTRAP, &action, NULL);
	setitimer(ITIMER_REAL, &when, NULL);
}

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
	pause_us = (unsigned)atoi(argv[3]);
	context = client_start();
	for (unsigned t = 1; t < threads; t++)
		if (pthread_create(&other, NULL, launches, (void *)(uintptr_t)t))
			return 2;
	if (!strcmp(argv[5], "step"))
		arm(strtoull(argv[4], NULL, 10));
	launches(NULL);
	return 0;
}
