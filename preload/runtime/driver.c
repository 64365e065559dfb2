#include "preload/runtime/driver.h"

#include "preload/runtime/linker/objects.h"
#include "preload/runtime/linker/real_dl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct gw_driver gw_driver;

/* Opened only where it is loaded: else it would be looked for in the file system. */
void *gw_libcuda(void)
{
	static void *_Atomic handle;
	void *h = atomic_load(&handle);

	if (!h && gw_object_loaded("libcuda.so.1")) {
		int saved = errno;

		h = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
		atomic_store(&handle, h);
		errno = saved;
	}
	return h;
}

bool gw_driver_resolve(void)
{
	void *handle = gw_libcuda();

	if (!handle)
		return false;
	gw_dl_init();
#define DRIVER(symbol) #symbol "\0"
	gw_dl_find(handle, (void **)&gw_driver,
#include "preload/runtime/driver.def"
		   , 0);
#undef DRIVER
	return true;
}

CUcontext gw_context_current(void)
{
	CUcontext context = NULL;

	if (gw_driver.cuCtxGetCurrent && gw_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS)
		return NULL;
	return context;
}

uint32_t gw_driver_version(void)
{
	int version = 0;

	if (!gw_driver.cuDriverGetVersion ||
	    gw_driver.cuDriverGetVersion(&version) != CUDA_SUCCESS || version < 0)
		return 0;
	return (uint32_t)version;
}
