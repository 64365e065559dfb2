/*
 * The GPUs that launches have used, by the driver's ordinal, as worker/devices.c discovers them.
 * To look here asks nobody and writes nothing. Worker only.
 */
#ifndef GW_DEVICES_H
#define GW_DEVICES_H

#include "predictor/core/device.h"

#include <stdbool.h>
#include <stdint.h>

enum { GW_DEVICES_MAX = 64 /**< GPUs of a process */ };

/** A GPU that was used. */
struct gw_device_entry {
	uint32_t id;         /**< in the log, from 1; 0: not discovered */
	uint32_t capability; /**< compute capability, 10 * major + minor */
};

/** Forget all. */
void gw_devices_clear(void);

/** The entry of the device numbered @p ordinal by the driver; NULL where that is no number. */
struct gw_device_entry *gw_device_entry(int ordinal);

/** Id in the log of device @p ordinal; 0 while it is not discovered. */
uint32_t gw_device_id(int ordinal);

/** Compute capability (10 * major + minor) of device @p ordinal; 0: not known yet. */
uint32_t gw_device_capability(int ordinal);

/** The profile of device @p id of the log, of the first that has one where that is 0; NULL: there
 * is none. */
const struct gw_device *gw_device_profile(uint32_t id);

/** @p profile is that of device @p id, which is at most GW_DEVICES_MAX. Kept by reference. */
void gw_device_profile_set(uint32_t id, const struct gw_device *profile);

/** Whether the driver in use said at the start that it is the CPU stand-in. */
bool gw_device_stand_in(void);
void gw_device_stand_in_set(bool stand_in);

#endif
