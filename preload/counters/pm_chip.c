/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/counters/pm_chip.h"

#include "preload/counters/pm.h"
#include "preload/runtime/driver.h"
#include "preload/runtime/process.h"

#include <stdlib.h>

/* CU_DEVICE_ATTRIBUTE_MPS_ENABLED, which headers before CUDA 12.1 lack; drivers without refuse it.
 */
enum { MPS_ENABLED = 133 };

CUptiResult gw_pm_chip_know(struct gw_pm_chip *chip, uint32_t device, const char **what)
{
	CUptiResult r = CUPTI_SUCCESS;

	if (chip->name && chip->device == device)
		return r;
	*what = "cuptiDeviceGetChipName";
	chip->name = gw_cupti_chip(device, &r);
	gw_pm_used(0);
	if (!chip->name)
		return r;
	chip->device = device;
	free(chip->availability);
	*what = "cuptiPmSamplingGetCounterAvailability";
	chip->availability = gw_pm_availability(device, &r);
	gw_pm_used(1);
	if (!chip->availability)
		chip->name = NULL;
	return r;
}

/* Under MPS kernels of other processes run beside ours: what is counted is also theirs. */
static bool shared(uint32_t device)
{
	int value = 0;

	return gw_driver.cuDeviceGetAttribute &&
	       gw_driver.cuDeviceGetAttribute(&value, (CUdevice_attribute)MPS_ENABLED,
	                                      (CUdevice)device) == CUDA_SUCCESS &&
	       value;
}

const char *gw_pm_against(uint32_t device)
{
	if (shared(device))
		return "the GPU is shared by MPS, and its counters count all processes";
	if (!gw_pm_usable())
		return "the libcupti found has no PM sampling (it came with CUDA 12.6)";
	if (!gw_exit_watched())
		return "the program's exit can't be seen early enough (another thread than the "
		       "main one loaded the library)";
	return NULL;
}
