/* SPDX-License-Identifier: Apache-2.0 */
/* Why there are no counters: which failures stay, and what can be done about them. */
#ifndef GW_PM_FAILURE_H
#define GW_PM_FAILURE_H

#include "preload/cupti/cupti_host.h"

#include <stdint.h>

/** What libcupti calls @p r. */
const char *gw_pm_failure_text(CUptiResult r);

/** What can be done about @p r, which does not get better with time; NULL: it may. */
const char *gw_pm_failure_remedy(CUptiResult r);

/** Nothing has failed. Before the sampling thread starts; all below is that thread's. */
void gw_pm_failure_start(void);

/**
 * @p what failed with @p r: report it. How long to wait before the next attempt, ns, longer after
 * each further failure; 0: trying again does not help.
 */
uint64_t gw_pm_failed(const char *what, CUptiResult r);

/** An attempt succeeded. */
void gw_pm_failure_over(void);

/** What failed last, "" when nothing did. */
const char *gw_pm_failure_last(void);

#endif
