/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other tools that use libcupti in this process: torch.profiler and its like. Their calls are seen;
 * we detach before they come, and know when they have gone.
 */
#ifndef GW_FOREIGN_H
#define GW_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t gw_foreign_clock_fn(void);

/** Whether another tool has libcupti, or is about to take it. */
bool gw_foreign_busy(void);

/** The clock that another tool has put into libcupti, NULL: its own, which is CLOCK_REALTIME. */
gw_foreign_clock_fn *gw_foreign_clock(void);

/** In a forked child: forget the parent's. */
void gw_foreign_abandon(void);

/** Our stand-in for a function of libcupti, NULL for every other name. */
void *gw_foreign_wrapper_of(const char *name);

/** Whether @p address is such a stand-in. */
bool gw_foreign_is_wrapper(const void *address);

#endif
