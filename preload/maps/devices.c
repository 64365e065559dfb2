#include "preload/maps/devices.h"

#include <string.h>

static struct gw_device_entry devices[GW_DEVICES_MAX];       /* by ordinal */
static const struct gw_device *profiles[GW_DEVICES_MAX + 1]; /* by id; [0]: the first found */
static bool simulated;

void gw_devices_clear(void)
{
	memset(devices, 0, sizeof(devices));
	memset(profiles, 0, sizeof(profiles)); /* a forked child leaves the parent's behind */
}

struct gw_device_entry *gw_device_entry(int ordinal)
{
	return ordinal >= 0 && ordinal < GW_DEVICES_MAX ? &devices[ordinal] : NULL;
}

uint32_t gw_device_id(int ordinal)
{
	const struct gw_device_entry *d = gw_device_entry(ordinal);

	return d ? d->id : 0;
}

uint32_t gw_device_capability(int ordinal)
{
	const struct gw_device_entry *d = gw_device_entry(ordinal);

	return d ? d->capability : 0;
}

const struct gw_device *gw_device_profile(uint32_t id)
{
	return profiles[id <= GW_DEVICES_MAX ? id : 0];
}

void gw_device_profile_set(uint32_t id, const struct gw_device *profile)
{
	profiles[id] = profile;
	if (!profiles[0])
		profiles[0] = profile;
}

bool gw_device_stand_in(void)
{
	return simulated;
}

void gw_device_stand_in_set(bool stand_in)
{
	simulated = stand_in;
}
