/* SPDX-License-Identifier: Apache-2.0 */
/* Which metrics the chip at hand collects together: asked of CUPTI when their turn comes. */
#ifndef GW_PM_SETS_H
#define GW_PM_SETS_H

#include "preload/counters/pm.h"

/** Start from the sets of pm_metric.def, none of them tried. */
void gw_pm_sets_start(void);

/**
 * The next set in turn, ready to be collected on @p chip, and its @p number; NULL when the chip
 * collects none. A set that does not fit is halved until its parts do.
 */
const struct gw_cupti_set *gw_pm_sets_next(const char *chip, const uint8_t *availability,
                                           unsigned *number);

/** Give back what was made ready: from here on each is made anew, with the number it had. */
void gw_pm_sets_release(void);

#endif
