/*
 * The cases of the program `workload`, one function each: CASE(name, what it shows).
 */
#ifndef GW_CASES_H
#define GW_CASES_H

#include "kernels.h"

#define CASES(CASE) \
	CASE(launch)      /* <<<>>> and cudaLaunchKernel on every kind of stream */ \
	CASE(ex)          /* cudaLaunchKernelExC: cluster, programmatic; a kernel with clusters */ \
	CASE(cooperative) /* both ways to ask for a cooperative launch */ \
	CASE(threads)     /* 16 threads, 8 streams each */ \
	CASE(errors)      /* refused launches between good ones */ \
	CASE(fault)       /* a kernel that writes where it must not */ \
	CASE(module)      /* cuLaunchKernel and its kin on functions of modules */ \
	CASE(library)     /* the same on kernels of libraries, never made into functions */ \
	CASE(entry)       /* launch functions by entry-point queries and dlsym */ \
	CASE(capture)     /* graphs captured from streams */ \
	CASE(graph)       /* graphs built node by node */ \
	CASE(update)      /* executable graphs changed between launches */ \
	CASE(child)       /* child graphs, nested */ \
	CASE(reset)       /* cudaDeviceReset in mid-program */ \
	CASE(destroy)     /* contexts destroyed in mid-program */ \
	CASE(contexts)    /* two contexts in turn */

#define DECLARE(name) void case_##name(struct tally *t);
CASES(DECLARE)
#undef DECLARE

#endif
