/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/counters/pm_chip.h"

#include "preload/counters/pm_failure.h"
#include "preload/counters/pm_sampler.h"
#include "preload/counters/pm_sets.h"

#include <stdlib.h>
#include <string.h>

static struct {
	const char *name;
	uint32_t device;
	uint8_t *availability;
} chip;

void gw_pm_chip_start(void)
{
	memset(&chip, 0, sizeof(chip));
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
