/*
 * Names of kernels as activity records have them: each is kept once, until exit, as libcupti's own
 * live only as long as the module. Longer ones are cut to GW_NAME_MAX bytes, as the hooks' are.
 * Worker only.
 */
#ifndef GW_KERNEL_NAMES_H
#define GW_KERNEL_NAMES_H

#include "preload/maps/state.h"
#include "predictor/core/hash.h"

#include <string.h>

struct gw_kernel_name {
	uint64_t hash; /**< gw_kernel_name_hash() of the text */
	char text[];
};

/** Start with none; what a forked child's parent kept stays where it is. */
void gw_kernel_names_start(void);

/** Our copy of @p name; NULL where there is no room, which is announced. */
const struct gw_kernel_name *gw_kernel_name_keep(const char *name);

static inline uint64_t gw_kernel_name_hash(const char *name)
{
	return gw_hash_plain(0, name, strnlen(name, GW_NAME_MAX));
}

#endif
