/* SPDX-License-Identifier: Apache-2.0 */
/* Why there are no counters: which failures stay, and what can be done about them. */
#ifndef GW_PM_FAILURE_H
#define GW_PM_FAILURE_H

#include "preload/cupti/cupti_host.h"

/** What libcupti calls @p r. */
const char *gw_pm_failure_text(CUptiResult r);

/** What can be done about @p r, which does not get better with time; NULL: it may. */
const char *gw_pm_failure_remedy(CUptiResult r);

/** Why there are to be no counters in this process; NULL: there may be. */
const char *gw_pm_against(void);

#endif
