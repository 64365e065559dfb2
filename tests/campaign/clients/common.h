/* What the campaigns' clients share beside those of the stand-in. */
#ifndef GW_TESTS_CAMPAIGN_COMMON_H
#define GW_TESTS_CAMPAIGN_COMMON_H

#include "tests/driver/clients/client.h"
#include "tests/random.h"

#include <stdint.h>
#include <time.h>

/** The next of a row of pseudo-random numbers. */
static inline uint32_t draw(uint64_t *seed)
{
	return (uint32_t)(next_random(seed) >> 33);
}

static inline double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/** A kernel of the stand-in's image, in the calling thread's context. */
static inline CUfunction kernel_named(const char *name)
{
	CUmodule module;
	CUfunction function;

	CK(cuModuleLoadData(&module, CLIENT_IMAGE));
	CK(cuModuleGetFunction(&function, module, name));
	return function;
}

#endif
