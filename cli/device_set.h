/* SPDX-License-Identifier: Apache-2.0 */
/* The devices a command was told to look at. */
#ifndef GW_DEVICE_SET_H
#define GW_DEVICE_SET_H

#include "predictor/profile.h"

/** Profiles in the order they were asked for; freed by device_set_free. */
struct device_set {
	size_t count;
	struct gw_profile **profiles;
};

/**
 * Open the profiles of @p count @p names, each a name or a file. On failure returns false after one
 * message on stderr, which for a name lists the known ones, and leaves an empty set.
 */
bool device_set_open(struct device_set *set, const char *const *names, size_t count);
void device_set_free(struct device_set *set);

#endif
