/* What loader opens and closes: a library that looks for the driver as it is loaded and as it goes.
 */
#include <dlfcn.h>

#define EXPORT __attribute__((visibility("default")))

static int has;

static int look(void)
{
	void *handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	int found = handle && dlsym(handle, "cuInit") && dlsym(handle, "cuCtxSynchronize");

	if (handle)
		dlclose(handle);
	return found;
}

__attribute__((constructor)) static void start(void)
{
	has = look();
}

__attribute__((destructor)) static void end(void)
{
	look();
}

EXPORT int plug_in_has_cuda(void);

int plug_in_has_cuda(void)
{
	return has;
}
