/* The driver's types with every version of every function visible, and the functions we call. */
#ifndef GW_DRIVER_H
#define GW_DRIVER_H

/* Without this cuda.h renames functions to their newest version and hides the others. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/** Driver functions that gpuwatch calls, NULL where the driver lacks one. */
struct gw_driver {
#define DRIVER(symbol) __typeof__(symbol) *symbol;
#include "preload/runtime/driver.def"
#undef DRIVER
};
extern struct gw_driver gw_driver;

/** libcuda as the process has loaded it; NULL where it has not. */
void *gw_libcuda(void);

/** Fill gw_driver from the libcuda that is loaded; false when none is. */
bool gw_driver_resolve(void);

/** The current context of the calling thread, NULL when there is none. */
CUcontext gw_context_current(void);

/** As cuDriverGetVersion gives it, 0 when not known. */
uint32_t gw_driver_version(void);

#endif
