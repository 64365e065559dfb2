/* A shared library that is linked against libcuda and launches; finds functions its own way too. */
#include "client.h"

#include <dlfcn.h>

__attribute__((visibility("default"))) int user_launch(unsigned grid);

int user_launch(unsigned grid)
{
	CUresult (*f)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		      unsigned, CUstream, void **, void **);

	client_compute(grid, 2);
	/* In this library's own scope libcuda is visible, whatever the program's is. */
	*(void **)&f = dlsym(RTLD_DEFAULT, "cuLaunchKernel");
	return f ? (int)f(client_kernel, grid, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) : -1;
}
