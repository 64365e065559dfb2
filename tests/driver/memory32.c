/* The functions of api_32bit.def can be found, as on the real driver, but not used: no memory
 * here has an address of 32 bits. */
#include "si.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define SI_API(sym, since, ...) \
	CUresult si_##sym(SI_PARAMETERS(sym, __VA_ARGS__)) \
	{ \
		CUcontext ctx; \
		CUresult result = si_current(&ctx); \
		return result == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : result; \
	}
#include "api_32bit.def"
