/* SPDX-License-Identifier: Apache-2.0 */
/* Records of what is no kernel, in mode audit: copies, waits of threads that launch, ranges
 * that the program names, and collectives of NCCL. Worker only. */
#ifndef GW_HOST_TIME_H
#define GW_HOST_TIME_H

#include "preload/cupti/activity.h"
#include "preload/maps/state.h"

/** A copy or memset ran: counters that were sampled meanwhile hold its traffic, too. */
void gw_copy_ran(const struct gw_copy *copy);

/** Event @p e of thread @p t is a GW_EVENT_WAIT. */
void gw_wait_event(struct gw_thread *t, const struct gw_event *e);

/** Event @p e of thread @p t is a GW_EVENT_RANGE. */
void gw_range_event(struct gw_thread *t, const struct gw_event *e);

/** Event @p e of thread @p t is a GW_EVENT_COLLECTIVE. */
void gw_collective_event(struct gw_thread *t, const struct gw_event *e);

/** A log begins: nothing of ranges and communicators is in it yet. */
void gw_host_time_start(void);

#endif
