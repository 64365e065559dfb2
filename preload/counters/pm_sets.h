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

/**
 * The set of which a session is worth the most by @p worth, the first of equals, otherwise as
 * above. NULL: of those that are collected none is worth anything.
 */
const struct gw_cupti_set *gw_pm_sets_best(const char *chip, const uint8_t *availability,
					   double (*worth)(unsigned number), unsigned *number);

/** Whether any set is worth anything that the chip collects, as far as that was tried. */
bool gw_pm_sets_worthwhile(double (*worth)(unsigned number));

/** Whether the chip collects any set, as far as that was tried. */
bool gw_pm_sets_any(void);

/** Give back what was made ready: from here on each is made anew, with the number it had. */
void gw_pm_sets_release(void);

#endif
