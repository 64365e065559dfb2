/*
 * Holds a context on the first GPU it sees, and does nothing: says "ready" when it has one, and
 * ends when its standard input does. Exit status 77 where there is no GPU.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned) = NULL, (*retain)(void **, int) = NULL;
	void *context;
	char byte;

	if (cuda) {
		*(void **)&init = dlsym(cuda, "cuInit");
		*(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
	}
	if (!init || !retain || init(0) || retain(&context, 0)) {
		puts("no GPU");
		return 77;
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
