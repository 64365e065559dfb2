/* From the threads' rings to one row of events in order of call. Worker only. */
#ifndef GW_DRAIN_H
#define GW_DRAIN_H

#include "preload/maps/state.h"

/** Whether any ring holds an event. */
bool gw_drain_pending(void);

/** Call @p take for every event there is, oldest call first; returns how many. */
uint32_t gw_drain(void (*take)(struct gw_thread *t, const struct gw_event *e));

/**
 * The largest share of a ring's slots, 0 to 1, that gw_drain() found full since this was last
 * asked: launches of a thread are lost at 1.
 */
double gw_drain_fullest(void);

/**
 * Free the slots of streams and graphs that ended before @p until, ticks: the worker has seen all
 * events that were there then (recycle.c).
 */
void gw_recycle(uint64_t until);

#endif
