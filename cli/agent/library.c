#include "cli/agent/library.h"

#include <dlfcn.h>
#include <string.h>

bool gw_library(const char *file, const char *const *symbols, size_t count, void *functions)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	char *to = functions;

	for (size_t i = 0; library && i < count; i++, to += sizeof(void *)) {
		void *found = dlsym(library, symbols[i]);

		if (!found)
			return false;
		memcpy(to, &found, sizeof(found));
	}
	return library;
}
