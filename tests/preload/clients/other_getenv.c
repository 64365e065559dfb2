/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may come in the midst of reading our options: a signal handler that looks a function up, and
 * a fork, whose child does. Where nobody reads them nothing happens.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((visibility("default"))) char *secure_getenv(const char *name)
{
	static int asked;
	char *(*next)(const char *);
	pid_t child;

	*(void **)&next = dlsym(RTLD_NEXT, "secure_getenv");
	if (strncmp(name, "GPUWATCH_", 9) == 0 && !asked++) {
		child = fork();
		dlsym(RTLD_DEFAULT, "cuInit");
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	return next(name);
}
