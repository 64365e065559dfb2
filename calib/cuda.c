#include "calib/cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum need { OPTIONAL, REQUIRED };

/* POSIX promises that a pointer to a function fits one to data. */
static bool resolve(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol != NULL;
}

bool gw_cuda_open(struct gw_cuda *cu, char *error, size_t size)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	const char *lacking = NULL;

	if (!library) {
		snprintf(error, size,
			 "no NVIDIA driver: %s; install it, or start the container with --gpus all",
			 dlerror());
		return false;
	}
#define CUDA(symbol, need) \
	if (!resolve(library, #symbol, &cu->symbol) && (need) == REQUIRED && !lacking) \
		lacking = #symbol;
#include "calib/cuda.def"
#undef CUDA
	if (lacking)
		snprintf(error, size,
			 "the driver is too old: libcuda.so.1 lacks %s; install a newer one",
			 lacking);
	return !lacking;
}

const char *gw_cuda_error(const struct gw_cuda *cu, CUresult result)
{
	const char *name = NULL;

	return cu->cuGetErrorName(result, &name) == CUDA_SUCCESS && name ? name : "unknown error";
}
