/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GW_COUNTERS_H
#define GW_COUNTERS_H

#include "preload/runtime/state.h"

/** The totals of counter.def: the process's own and every thread's. Worker only. */
void gw_counters_sum(uint64_t out[GW_COUNTERS]);

#endif
