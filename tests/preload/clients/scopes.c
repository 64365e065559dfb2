/*
 * Who asks: scopes ask|whose DRIVER. DRIVER: none; global or local, as libcuda.so.1 is opened;
 * plugin, opened with libcuda and libcupti among its dependencies. Built a second time linked to
 * both.
 */
#include "asks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

ask_fn asks_as_program, asks_as_dependency;
void asks_names(void);

static int whose;

static void *need(void *pointer, const char *what)
{
	if (!pointer) {
		printf("%s: %s\n", what, dlerror());
		exit(9);
	}
	return pointer;
}

static void ask_in(void *library, const char *symbol, const char *who, look_fn *look)
{
	ask_fn *ask;

	*(void **)&ask = need(dlsym(library, symbol), symbol);
	ask(who, look, whose);
}

/* A call from memory that belongs to no object, as just-in-time compilers and libffi make it. */
static look_fn *from_nowhere(void)
{
	/* sub $8,%rsp; movabs $dlsym,%rax; call *%rax; add $8,%rsp; ret */
	unsigned char code[] = {0x48, 0x83, 0xec, 8,    0x48, 0xb8, 0,    0,    0, 0,   0,
				0,    0,    0,    0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
	void *(*function)(void *, const char *) = dlsym;
	look_fn *look;
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(9);
	memcpy(code + 6, &function, sizeof(function));
	memcpy(memory, code, sizeof(code));
	if (mprotect(memory, 4096, PROT_READ | PROT_EXEC))
		exit(9);
	*(void **)&look = memory;
	return look;
}

int main(int argc, char **argv)
{
	const char *driver = argc > 2 ? argv[2] : "none";
	void *plugin, *space;

	whose = argc > 1 && !strcmp(argv[1], "whose");
	if (argc > 1 && !strcmp(argv[1], "names"))
		return asks_names(), 0;
	if (!strcmp(driver, "global"))
		need(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), driver);
	if (!strcmp(driver, "local"))
		need(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), driver);
	if (!strcmp(driver, "plugin")) {
		plugin = need(dlopen("plugin_of_cuda.so", RTLD_NOW | RTLD_LOCAL), driver);
		ask_in(plugin, "asks", "plug-in with CUDA", NULL);
		/* Needs no libcuda itself, but was opened with it. */
		ask_in(plugin, "asks_beside_cuda", "its dependency", NULL);
	}
	asks_as_program("program", NULL, whose);
	asks_as_program("nobody", from_nowhere(), whose);
	asks_as_dependency("dependency", NULL, whose);
	plugin = need(dlopen("plugin_plain.so", RTLD_NOW | RTLD_LOCAL), "plug-in");
	ask_in(plugin, "asks", "plug-in", NULL);
	ask_in(plugin, "asks_beside", "its dependency", NULL);
	space = need(dlmopen(LM_ID_NEWLM, "plugin_plain.so", RTLD_NOW | RTLD_LOCAL), "namespace");
	ask_in(space, "asks", "another namespace", NULL);
	ask_in(space, "asks", "another namespace by our dlsym", dlsym);
	ask_in(space, "asks_beside", "a dependency there", NULL);
	if (dlsym(RTLD_DEFAULT, "asks_preloaded"))
		ask_in(RTLD_DEFAULT, "asks_preloaded", "preloaded library", NULL);
	return 0;
}
