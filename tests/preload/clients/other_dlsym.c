/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool's preload that stands in for dlsym, as some CUDA shims do. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int asked;

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);

	if (!next)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!next)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	if (strcmp(name, "other_asked") == 0)
		return &asked;
	asked++;
	return next(handle, name);
}
