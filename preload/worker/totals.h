/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GW_TOTALS_H
#define GW_TOTALS_H

#include "preload/maps/state.h"

/** The totals of counter.def: the process's own and every thread's. Worker only. */
void gw_totals_sum(uint64_t out[GW_COUNTERS]);

#endif
