/* SPDX-License-Identifier: Apache-2.0 */
/* How often the GPU's counters are sampled, by how long its kernels take. */
#ifndef GW_PM_INTERVAL_H
#define GW_PM_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

/** Nothing has run. Worker only. */
void gw_pm_interval_start(void);

/** A kernel of @p ns ran. Worker only. */
void gw_pm_interval_ran(uint64_t ns);

/** Whether any has. Worker only. */
bool gw_pm_interval_known(void);

/** Between two samples, ns: long kernels need no short interval; a coarser one sees more of them
 * for the same cost. Sampling thread only. */
uint64_t gw_pm_interval(void);

#endif
