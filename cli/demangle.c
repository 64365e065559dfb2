/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/demangle.h"

#include "cli/memory.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * Substitutions make a mangled name grow exponentially when it is taken apart. Names of the
 * largest template libraries stay under these bounds; a log can hold anything.
 */
enum { MANGLED_MOST = 16384, DEMANGLED_MOST = 1 << 20 };

typedef char *demangle_fn(const char *mangled, char *buffer, size_t *length, int *status);

/* The C++ runtime is on every machine that runs CUDA programs; opening it keeps it optional. */
static demangle_fn *demangler(void)
{
	static demangle_fn *function;
	static bool tried;

	if (!tried) {
		void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
		void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;

		/* POSIX promises that a function pointer fits; ISO C has no cast for it. */
		memcpy(&function, &symbol, sizeof(function));
		tried = true;
	}
	return function;
}

char *gw_demangle(const char *mangled)
{
	demangle_fn *function = demangler();
	int status = 0;
	char *out;

	if (!function || strncmp(mangled, "_Z", 2) || strlen(mangled) > MANGLED_MOST)
		return gw_copy(mangled);
	out = function(mangled, NULL, NULL, &status);
	if (!out || status || strlen(out) > DEMANGLED_MOST) {
		free(out);
		return gw_copy(mangled);
	}
	return out;
}

const char *gw_demangle_missing(void)
{
	return demangler() ? NULL
	                   : "names are mangled: libstdc++.so.6 was not found; install it or "
	                     "pipe the output through c++filt";
}
