/* SPDX-License-Identifier: Apache-2.0 */
/* From the threads' rings to one row of events in order of call. Worker only. */
#ifndef GW_DRAIN_H
#define GW_DRAIN_H

#include "preload/maps/state.h"

/** Whether any ring holds an event. */
bool gw_drain_pending(void);

/** Call @p take for every event there is, oldest call first; returns how many. */
uint32_t gw_drain(void (*take)(struct gw_thread *t, const struct gw_event *e));

#endif
