/* What the client programs share. Each takes the name of a scenario as its first argument. */
#ifndef GW_TESTS_PRELOAD_CLIENT_H
#define GW_TESTS_PRELOAD_CLIENT_H

#include "../../driver/clients/tasks.h"

#include <cuda.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CK(call) CHECK_CALL(call, 9)

#define CLIENT_IMAGE \
	"gpuwatch-stand-in-module\n" \
	"kernel empty ns=800\n" \
	"kernel add regs=12 ns=1000 params=8 body=increment\n" \
	"kernel short ns=2000\n" \
	"kernel long ns=300000\n" \
	"kernel spin ns=@0 params=8 body=spin\n"

static CUcontext client_context;
static CUmodule client_module;
static CUfunction client_kernel;

/* The file that CODE_IMAGE names. */
__attribute__((unused)) static void *client_image(void)
{
	const char *path = getenv("CODE_IMAGE");
	int fd = path ? open(path, O_RDONLY) : -1;
	struct stat st;
	char *bytes;

	if (fd < 0 || fstat(fd, &st)) {
		fprintf(stderr, "no image\n");
		exit(9);
	}
	/* As the driver would read behind a damaged image: what follows is ours to read. */
	bytes = calloc(1, (size_t)st.st_size + 4096);
	if (!bytes || read(fd, bytes, (size_t)st.st_size) != st.st_size)
		exit(9);
	close(fd);
	return bytes;
}

__attribute__((unused)) static CUfunction client_function(const char *name)
{
	CUfunction f;

	CK(cuModuleGetFunction(&f, client_module, name));
	return f;
}

/* Device 0's primary context, made current, and the kernels. */
__attribute__((unused)) static void client_start(void)
{
	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&client_context, 0));
	CK(cuCtxSetCurrent(client_context));
	CK(cuModuleLoadData(&client_module, CLIENT_IMAGE));
	client_kernel = client_function("empty");
}

/* `n` launches on the calling thread; the grid distinguishes callers. */
__attribute__((unused)) static void client_launch(unsigned grid, int n)
{
	for (int i = 0; i < n; i++)
		CK(cuLaunchKernel(client_kernel, grid, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

/* Start, launch, wait. */
__attribute__((unused)) static void client_compute(unsigned grid, int n)
{
	client_start();
	client_launch(grid, n);
	CK(cuCtxSynchronize());
}

static inline bool client_is_idle(void *busy, const char *status)
{
	char state = *task_field(status, "\nState:\t");

	*(bool *)busy = task_is_library(status) && (state == 'R' || state == 'D');
	return !*(bool *)busy;
}

/* Whether a thread of the library's has something to do, and perhaps no processor to do it on. */
__attribute__((unused)) static bool client_library_busy(void)
{
	bool busy = false;

	each_task(client_is_idle, &busy);
	return busy;
}

/*
 * So much time for the library's threads to do what they want to: on a loaded machine a
 * millisecond counts only when they had all they wanted of it.
 */
__attribute__((unused)) static void client_nap(unsigned ms)
{
	while (ms) {
		usleep(1000);
		ms -= !client_library_busy();
	}
}

/* How a child ended, in words that are the same on each run. */
__attribute__((unused)) static void client_reap(const char *what, pid_t pid)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		printf("%s: no child\n", what);
		return;
	}
	if (WIFSIGNALED(status))
		printf("%s: signal %d\n", what, WTERMSIG(status));
	else
		printf("%s: exit %d\n", what, WEXITSTATUS(status));
	fflush(stdout);
}

struct scenario {
	const char *name;
	void (*run)(void);
};

/* Runs the scenario that the first argument names. */
__attribute__((unused)) static int client_main(int argc, char **argv, const struct scenario *list)
{
	for (; argc > 1 && list->name; list++)
		if (strcmp(list->name, argv[1]) == 0) {
			list->run();
			return 0;
		}
	fprintf(stderr, "%s: no scenario %s\n", argv[0], argc > 1 ? argv[1] : "given");
	return 8;
}

#endif
