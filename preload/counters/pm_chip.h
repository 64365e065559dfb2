/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU's chip, as sampling needs it: what its metric sets are made for. The sampling thread's
 * alone.
 */
#ifndef GW_PM_CHIP_H
#define GW_PM_CHIP_H

#include "preload/cupti/cupti.h"

#include <stdbool.h>
#include <stdint.h>

/** Nothing is known; what a forked child has is its parent's, and left alone. Before the thread
 * starts.
 */
void gw_pm_chip_start(void);

/** Nothing is known any more: another tool gets libcupti, and may end it. */
void gw_pm_chip_forget(void);

/** Ask once which chip device @p device (ordinal) has. What was made for another one goes. */
CUptiResult gw_pm_chip_know(uint32_t device);

/** Name of the chip; NULL: not known. */
const char *gw_pm_chip_name(void);

/** What of the chip is left to us; NULL: all of it, as far as is known. */
const uint8_t *gw_pm_chip_availability(void);

/**
 * Sampling ended with @p refused. Where the reason may be that a part of the chip is another's, ask
 * once what is left (0.2 s on an H200). True: it is known now, and sets have to be made for it.
 */
bool gw_pm_chip_refused(CUptiResult refused);

#endif
