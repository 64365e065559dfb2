/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool's preload that has nothing to do with CUDA: wraps puts and malloc by dlsym. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static __thread int inside;
static unsigned long mallocs;

EXPORT int puts(const char *text)
{
	int (*next)(const char *);

	*(void **)&next = dlsym(RTLD_NEXT, "puts");
	fputs("[", stdout);
	return next(text);
}

EXPORT void *malloc(size_t size)
{
	static void *(*next)(size_t);
	static char early[4096];
	static size_t used;

	if (!next && inside) { /* dlsym itself allocates */
		used = (used + 15) & ~(size_t)15;
		if (used + size > sizeof(early))
			return NULL;
		used += size;
		return early + used - size;
	}
	if (!next) {
		inside = 1;
		*(void **)&next = dlsym(RTLD_NEXT, "malloc");
		inside = 0;
	}
	mallocs++;
	return next(size);
}

__attribute__((destructor)) static void tell(void)
{
	fputs(mallocs ? "malloc was wrapped\n" : "malloc was not wrapped\n", stdout);
}
