#include "asks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define HOOK(symbol, ...)    #symbol,
#define FOREIGN(symbol, ...) #symbol,
#include "preload/cupti/other_profiler.def"
#include "preload/hook/hooks.def"
	"cuGetProcAddress", "cuGetProcAddress_v2",
	"cuDeviceGetCount", /* one that we do not stand in for */
};

void asks_names(void);

void asks_names(void)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		puts(names[i]);
}

static void tell(const char *who, const char *how, const char *name, void *found, int whose)
{
	const char *error = dlerror(), *file = "nothing", *slash;
	Dl_info info;

	if (found && dladdr(found, &info) && info.dli_fname) {
		slash = strrchr(info.dli_fname, '/');
		file = slash ? slash + 1 : info.dli_fname;
	}
	if (!whose && (!strncmp(file, "libcuda.so", 10) || !strncmp(file, "libcupti.so", 11) ||
		       !strcmp(file, "libgpuwatch.so")))
		file = "the driver's";
	printf("%s, %s, %s: %s%s%s\n", who, how, name, file, error ? "; " : "", error ? error : "");
}

/* A global, so that no call of it is a tail call: look-ups go by the caller's address. */
void *asks_last;

__attribute__((visibility("default"))) ask_fn asks;

void asks(const char *who, look_fn *look, int whose)
{
	void *program = dlopen(NULL, RTLD_NOW);

	if (!look)
		look = dlsym;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		dlerror();
		asks_last = look(RTLD_DEFAULT, names[i]);
		tell(who, "RTLD_DEFAULT", names[i], asks_last, whose);
		asks_last = look(RTLD_NEXT, names[i]);
		tell(who, "RTLD_NEXT", names[i], asks_last, whose);
		asks_last = look(program, names[i]);
		tell(who, "the program's handle", names[i], asks_last, whose);
		asks_last = dlvsym(RTLD_DEFAULT, names[i], "NO_SUCH_VERSION");
		tell(who, "RTLD_DEFAULT, no such version", names[i], asks_last, whose);
	}
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		dlerror();
		asks_last = dlvsym(RTLD_DEFAULT, names[i], "libcupti.so.13");
		printf("%s, by libcupti's version, %s: %s\n", who, names[i],
		       asks_last ? "found" : "nothing");
	}
	fflush(stdout); /* another namespace has its own stdio */
}
