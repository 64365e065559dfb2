/* The microbenchmarks, compiled and embedded. */
#ifndef GW_KERNELS_H
#define GW_KERNELS_H

/** A module: a fat binary for cuModuleLoadData. */
struct gw_kernel_image {
	const char *name;
	const char *data, *end; /**< the byte after the last */
};

/** Every embedded module; a row without a name ends it, at once where this was built without
 * nvcc. */
extern const struct gw_kernel_image gw_kernel_images[];

#endif
