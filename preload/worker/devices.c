/* Finding out about the GPUs that launches use: the driver is asked, a profile is read. */
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/runtime/driver.h"
#include "preload/worker/profile.h"
#include "preload/worker/registry.h"

#include <stdio.h>
#include <string.h>

static uint32_t count;
static bool gone;

static bool driver_is_stand_in(void)
{
	static const char name[] = "gpuwatch stand-in";
	char found[64] = "";

	return gw_driver.cuDeviceGetName &&
	       gw_driver.cuDeviceGetName(found, sizeof(found) - 1, 0) == CUDA_SUCCESS &&
	       !strncmp(found, name, sizeof(name) - 1);
}

void gw_registry_ask_driver(void)
{
	gw_device_stand_in_set(driver_is_stand_in());
}

void gw_registry_driver_gone(void)
{
	gone = true;
}

void gw_device_ids_start(void)
{
	gw_devices_clear();
	count = 0;
	gone = false;
}

/* @p unknown where the driver does not say. */
static uint32_t attribute(CUdevice device, CUdevice_attribute which, uint32_t unknown)
{
	int value = 0;

	if (!gw_driver.cuDeviceGetAttribute ||
	    gw_driver.cuDeviceGetAttribute(&value, which, device) != CUDA_SUCCESS || value < 0)
		return unknown;
	return (uint32_t)value;
}

static void meet(struct gw_device_entry *d, int ordinal)
{
	struct gw_record_device r = {.ordinal = (uint32_t)ordinal};
	uint32_t pci[3];
	char tail[256 + 33] = "";
	size_t memory = 0, n;
	CUuuid uuid = {{0}};

	r.id = d->id = ++count;
	pci[0] = attribute(ordinal, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, UINT32_MAX);
	pci[1] = attribute(ordinal, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, UINT32_MAX);
	pci[2] = attribute(ordinal, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, UINT32_MAX);
	r.compute_capability =
		10 * attribute(ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) +
		attribute(ordinal, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
	d->capability = r.compute_capability;
	r.sm_count = attribute(ordinal, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
	r.sm_clock_khz = attribute(ordinal, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0);
	r.mem_clock_khz = attribute(ordinal, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 0);
	r.driver_version = gw_driver_version();
	if (gw_driver.cuDeviceTotalMem_v2 &&
	    gw_driver.cuDeviceTotalMem_v2(&memory, ordinal) == CUDA_SUCCESS)
		r.memory = memory;
	if (gw_driver.cuDeviceGetName)
		gw_driver.cuDeviceGetName(tail, 255, ordinal);
	n = strlen(tail) + 1;
	if (gw_driver.cuDeviceGetUuid && gw_driver.cuDeviceGetUuid(&uuid, ordinal) == CUDA_SUCCESS)
		for (int i = 0; i < 16; i++)
			snprintf(tail + n + 2 * i, 3, "%02x", (unsigned char)uuid.bytes[i]);
	n += strlen(tail + n) + 1;
	gw_log_write(GW_RECORD_DEVICE, &r, sizeof(r), tail, n);
	gw_live_identity(&r, tail, (const unsigned char *)uuid.bytes, pci);
	gw_device_profile_use(r.id, tail);
}

/* With each launch: the driver is asked once. */
void gw_device_meet(int ordinal)
{
	struct gw_device_entry *d = gw_device_entry(ordinal);

	if (d && !d->id && !gone)
		meet(d, ordinal);
}
