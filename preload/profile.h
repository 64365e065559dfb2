/* SPDX-License-Identifier: Apache-2.0 */
/* The device profile in use: found by the GPU's name, given to the predictor, kept in the log. */
#ifndef GW_PRELOAD_PROFILE_H
#define GW_PRELOAD_PROFILE_H

#include "predictor/device.h"

/** Start without a profile. */
void gw_device_profile_start(void);

/**
 * The program uses the GPU called @p name, which is device @p id of the log: take the profile of
 * that name into use, where none was looked for yet. Worker only; reads files, some 5 ms, once.
 */
void gw_device_profile_use(uint32_t id, const char *name);

/** The profile in use, NULL when there is none. */
const struct gw_device *gw_device_profile(void);

#endif
