#include "preload/counters/pm_parts.h"

#include "preload/counters/pm.h"
#include "preload/counters/pm_sampler.h"
#include "preload/counters/pm_sets.h"
#include "preload/runtime/driver.h"
#include "preload/runtime/process.h"

#include <stdlib.h>
#include <string.h>

/* CU_DEVICE_ATTRIBUTE_MPS_ENABLED, which headers before CUDA 12.1 lack; drivers without refuse it.
 */
enum { MPS_ENABLED = 133 };

static struct {
	const char *name;
	uint32_t device;
	uint8_t *availability;
} chip;

/* By GPU what the driver says of MPS, which does not change: 0: not asked yet, 1: no, 2: yes. */
static _Atomic uint8_t mps[64];

void gw_pm_chip_start(void)
{
	memset(&chip, 0, sizeof(chip));
	for (size_t i = 0; i < sizeof(mps); i++)
		mps[i] = 0;
}

void gw_pm_chip_forget(void)
{
	free(chip.availability);
	chip.availability = NULL;
	chip.name = NULL;
}

CUptiResult gw_pm_chip_know(uint32_t device)
{
	CUptiResult r = CUPTI_SUCCESS;

	if (chip.name && chip.device == device)
		return r;
	if (chip.name) /* another GPU may have another one */
		gw_pm_sets_release();
	gw_pm_chip_forget();
	chip.device = device;
	chip.name = gw_cupti_chip(device, &r);
	return r;
}

const char *gw_pm_chip_name(void)
{
	return chip.name;
}

const uint8_t *gw_pm_chip_availability(void)
{
	return chip.availability;
}

static bool may_be_another_s(CUptiResult r)
{
	return r != CUPTI_SUCCESS && r != CUPTI_ERROR_HARDWARE_BUSY &&
	       r != CUPTI_ERROR_MAX_LIMIT_REACHED && !gw_pm_failure_remedy(r);
}

bool gw_pm_chip_refused(CUptiResult refused)
{
	CUptiResult r;

	if (!chip.name || chip.availability || !may_be_another_s(refused))
		return false;
	chip.availability = gw_pm_availability(chip.device, &r);
	if (chip.availability)
		gw_pm_sets_release();
	return chip.availability != NULL;
}

/* Under MPS kernels of other processes run beside ours: what is counted is also theirs. */
static bool shared(uint32_t device)
{
	_Atomic uint8_t *known = &mps[device % sizeof(mps)];
	int value = 0;

	if (*known)
		return *known == 2;
	if (!gw_driver.cuDeviceGetAttribute ||
	    gw_driver.cuDeviceGetAttribute(&value, (CUdevice_attribute)MPS_ENABLED,
					   (CUdevice)device) != CUDA_SUCCESS)
		value = 0;
	*known = value ? 2 : 1;
	return value != 0;
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
