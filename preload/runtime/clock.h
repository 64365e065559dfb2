/* From the tick counter to CLOCK_REALTIME, and what our own work costs the application. */
#ifndef GW_CLOCK_H
#define GW_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/** Begin to relate ticks to CLOCK_REALTIME; the first pair is the log header's. */
void gw_clock_start(uint64_t *ticks, uint64_t *realtime_ns, uint64_t *monotonic_ns);

/**
 * Take another pair; the worker calls this now and then, which bounds the drift. By how much the
 * wall clock was set since the last time, ns; 0: it was not.
 */
int64_t gw_clock_update(void);

/** Whether the wall clock showed @p ns before it was set back, and has not come there again. Worker
 * only. */
bool gw_clock_ahead(uint64_t ns);

/** CLOCK_REALTIME, ns, of @p ticks. Worker only. */
uint64_t gw_clock_ns(uint64_t ticks);

/** Ticks per millisecond as seen since the start, 0 before the second pair. */
uint32_t gw_clock_khz(void);

/** How long @p ticks take, ns. Worker only. */
uint64_t gw_ticks_ns(uint64_t ticks);

/** CLOCK_REALTIME now, ns: for times that the log keeps, never for a span or a wait. */
uint64_t gw_wall_ns(void);

/** CLOCK_MONOTONIC now, ns: for spans and waits (deadline.h). */
uint64_t gw_steady_ns(void);

/** Account the ticks since @p begin as time taken from an application thread. */
void gw_overhead_since(uint64_t begin);

/** Account the ticks since @p begin as time taken to attach the measuring library. */
void gw_attach_since(uint64_t begin);

/** The two accounts, ns. Worker only. */
uint64_t gw_overhead_ns(void);
uint64_t gw_attach_ns(void);

#endif
