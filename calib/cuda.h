/*
 * libcuda, opened at run time: without a driver the command runs and names what is missing. cuda.h
 * is used for its types only.
 */
#ifndef GW_CALIB_CUDA_H
#define GW_CALIB_CUDA_H

/* Without this cuda.h renames functions to their newest version and hides the others. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

/** The functions of cuda.def, typed; the optional ones NULL where the driver lacks them. */
struct gw_cuda {
#define CUDA(symbol, need) __typeof__(symbol) *symbol;
#include "calib/cuda.def"
#undef CUDA
};

/**
 * Open libcuda.so.1, which stays open, and fill @p cu. Returns false with the reason and the remedy
 * in @p error of @p size bytes.
 */
bool gw_cuda_open(struct gw_cuda *cu, char *error, size_t size);

/** "CUDA_ERROR_INVALID_VALUE" and the like; never NULL. */
const char *gw_cuda_error(const struct gw_cuda *cu, CUresult result);

#endif
