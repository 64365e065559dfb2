/* Records of what is no kernel, in mode audit: copies, waits of threads that launch, ranges
 * that the program names, collectives of NCCL, and child processes. Worker only. */
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

/** A log begins: no child process is known yet. */
void gw_children_start(void);

/**
 * Child processes at work while the threads that launch are not: what reads a
 * program's input, such as the workers of PyTorch's DataLoader. Once a round, before its launches
 * are taken: what was used since the last round goes before launches that were called later. @p
 * now: CLOCK_MONOTONIC, ns. Where there are children, a system call for each of them and for each
 * thread that launches, at most 64 of each; once a second a file for each of these threads.
 */
void gw_children_tick(uint64_t now);

#endif
