/*
 * Weak references to every name we stand in for: by these, programs that are not linked to libcuda
 * test whether it is there. The program and its library are both built of this file.
 */
#include <dlfcn.h>
#include <stdio.h>

#define FOREIGN(symbol, ...) HOOK(symbol, )
#define HOOK(symbol, ...)    extern void symbol(void) __attribute__((weak));
#include "preload/cupti/other_profiler.def"
#include "preload/hook/hooks.def"
HOOK(cuGetProcAddress, )
HOOK(cuGetProcAddress_v2, )
HOOK(cuDeviceGetCount, ) /* one that we do not stand in for */
#undef HOOK

typedef void function(void);

/* Read from data, where the linker has put it. */
static const struct {
	const char *name;
	function *volatile address;
} data[] = {
#define HOOK(symbol, ...) {#symbol, symbol},
#include "preload/cupti/other_profiler.def"
#include "preload/hook/hooks.def"
#undef HOOK
};

static void tell(const char *who, const char *how, const char *name, function *address)
{
	printf("%s, %s, %s: %s\n", who, how, name, address ? "there" : "absent");
}

void weak_ask(const char *who);

__attribute__((visibility("default"))) void weak_ask(const char *who)
{
	for (unsigned i = 0; i < sizeof(data) / sizeof(*data); i++)
		tell(who, "data", data[i].name, data[i].address);
#define HOOK(symbol, ...) tell(who, "code", #symbol, symbol);
#include "preload/cupti/other_profiler.def"
#include "preload/hook/hooks.def"
	HOOK(cuGetProcAddress, )
	HOOK(cuGetProcAddress_v2, )
	HOOK(cuDeviceGetCount, )
#undef HOOK
}

#ifdef WEAK_PROGRAM
void weak_ask_library(const char *who);

int main(int argc, char **argv)
{
	if (cuInit && argc > 2)
		cuInit();
	weak_ask("program");
	weak_ask_library("library");
	if (argc > 1)
		dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
	weak_ask("program, later");
	return 0;
}
#endif
