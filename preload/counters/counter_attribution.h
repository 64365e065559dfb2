/*
 * From windows of counter samples and the kernels that ran meanwhile to the counted work of
 * configurations. Worker only.
 */
#ifndef GW_COUNTER_ATTRIBUTION_H
#define GW_COUNTER_ATTRIBUTION_H

#include "preload/maps/state.h"

#include <stdbool.h>
#include <stdint.h>

/** Start with nothing counted. */
void gw_counter_attribution_start(void);

/** The wall clock was set: kernels that run meanwhile can't be assigned to windows under way. */
void gw_counter_attribution_clock_set(void);

/** A launch of @p config (0: not known) ran on @p device from @p start_ns to @p end_ns. */
void gw_counter_attribution_kernel(uint32_t device, uint32_t config, uint64_t start_ns,
				   uint64_t end_ns);

/**
 * A window of event pairs began, which show when each launch ran; it ended: what ran is known by
 * them, from the first one to the last before a launch without.
 */
void gw_counter_attribution_exact(void);
void gw_counter_attribution_exact_end(void);

/** A launch of the thread with @p serial came; @p ticket: of its pair. */
void gw_counter_attribution_launched(uint32_t serial, uint32_t ticket, const struct gw_event *e);

/** A graph launched as a whole, as a configuration: its number, and this. */
#define GW_COUNTED_GRAPH (UINT32_C(1) << 31)

/** GW_EVENT_TIME @p e is of such a launch, of @p config; 0: of none that is known. */
void gw_counter_attribution_timed(uint32_t serial, uint32_t config, const struct gw_event *e);

/** A copy or memset did. */
void gw_counter_attribution_copy(uint32_t device, uint64_t start_ns, uint64_t end_ns);

/**
 * Once a cycle: take in the windows whose kernels are all known by now (@p last: all there are),
 * and offer the results to gw_work_offer(). @p asked_ns: when libcupti was last asked for the
 * records, all of which have been joined since. A window is of kernels that ended long before.
 */
void gw_counter_attribution_tick(uint64_t now_ns, uint64_t asked_ns, bool last);

/** Whether a window waits for records: they are to be asked for, also where no launch waits. */
bool gw_counter_attribution_waits(void);

/**
 * Take off what was counted of a launch of @p config (an id of the log) what it did because it is
 * instrumented (cupti_overhead.c). Worker only.
 */
void gw_subtract_cupti_overhead(uint32_t config, struct gw_work *counted);

#endif
