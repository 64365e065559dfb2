/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this process can have counters, and what of the GPU at hand is left to it. */
#ifndef GW_PM_CHIP_H
#define GW_PM_CHIP_H

#include "preload/counters/pm_sampler.h"

/** What is known of a GPU. Zero-initialised: nothing. The sampling thread's. */
struct gw_pm_chip {
	const char *name;      /**< CUPTI's, NULL: not known, or to be asked for anew */
	uint8_t *availability; /**< of its counters; owned */
	uint32_t device;       /**< ordinal */
};

/** Ask, once, which chip @p device is and what of it is left to us; @p what: the call that failed.
 */
CUptiResult gw_pm_chip_know(struct gw_pm_chip *chip, uint32_t device, const char **what);

/** Why there are to be no counters of @p device in this process; NULL: there may be. Any thread. */
const char *gw_pm_against(uint32_t device);

#endif
