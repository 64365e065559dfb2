/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool's preload: wraps cuLaunchKernel, and says at exit how often it was called. */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int calls;

__attribute__((visibility("default"))) CUresult
cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
               unsigned bz, unsigned shared, CUstream stream, void **params, void **extra)
{
	static __typeof__(cuLaunchKernel) *next;
	const char *leave = getenv("OTHER_LEAVES_AT");

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "cuLaunchKernel");
	if (!next)
		return CUDA_ERROR_NOT_FOUND;
	if (atomic_fetch_add(&calls, 1) + 1 == (leave ? atoi(leave) : 0)) {
		void (*jump)(void);

		*(void **)&jump = dlsym(RTLD_DEFAULT, "client_jump");
		if (getenv("OTHER_JUMPS") && jump)
			jump();
		pthread_exit(NULL); /* unwinds through every frame above */
	}
	return next(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

__attribute__((destructor)) static void tell(void)
{
	if (atomic_load(&calls))
		printf("the other wrapper was called %d times\n", atomic_load(&calls));
}
