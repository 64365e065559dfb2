/*
 * Other tools that use libcupti in this process: torch.profiler and its like. Their calls are seen;
 * we switch off before they come, and learn when they have gone.
 */
#ifndef GW_OTHER_PROFILER_H
#define GW_OTHER_PROFILER_H

#include "preload/runtime/linker/export.h"

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t gw_other_profiler_clock_fn(void);

/** Whether another tool has libcupti, or is about to take it. */
bool gw_other_profiler_busy(void);

/** The clock that another tool has put into libcupti, NULL: its own, which is CLOCK_REALTIME. */
gw_other_profiler_clock_fn *gw_other_profiler_clock(void);

/** In a forked child: forget the parent's. */
void gw_other_profiler_abandon(void);

/** Our stand-in for a function of libcupti, NULL for every other name. */
void *gw_other_profiler_wrapper_of(const char *name);

/** The same as an answer to a look-up; false for other names, or without libcupti. */
bool gw_other_profiler_stand_in(const char *name, struct gw_stand_in *s);

/** Whether @p s is such a stand-in, and @p address is in a libcupti: there may be several. */
bool gw_other_profiler_owns(void *address, const struct gw_stand_in *s);

#endif
