/* Calls in which the program waits for the GPU. On the launching thread; out of the launch path. */
#ifndef GW_WAITS_H
#define GW_WAITS_H

#include "preload/launch/call.h"

/** The driver's function is about to be called. Nothing is kept but in mode audit. */
GW_COLD void gw_wait_begin(struct gw_call *call);

/** The same of a copy of @p bytes between host and GPU. */
GW_COLD void gw_host_copy_begin(struct gw_call *call, size_t bytes);

/**
 * Whether copies between host and GPU keep a copy engine at work, where they have no records: by
 * the bytes asked for since the last look, 0.1 s ago or longer, 4 GB/s or more. Worker only.
 */
bool gw_copies_go_on(void);

/** Once a round: look, where it is time. */
void gw_copies_look(uint64_t now);

/**
 * The same of a copy or memset of @p bytes in @p stream; @p waits: it may wait for the GPU. Kept in
 * a window of exact event pairs, too, unless it is so little that a kernel's counts do not show it:
 * the GPU does what no pair is around.
 */
GW_COLD void gw_copy_begin(struct gw_call *call, CUstream stream, size_t bytes, bool waits);
enum { GW_COPY_LITTLE = 64 << 10 /**< bytes: what device memory moves in 20 ns */ };

/**
 * It has returned: leave an event in the ring of a thread that launches, where it took
 * GW_WAIT_LEAST or longer and half of the ring is free. The first launch gives a thread its ring:
 * what it waited for before is not recorded. No lock, allocation or system call.
 */
GW_COLD void gw_wait_end(struct gw_call *call, enum gw_wait_call which);

/** @p khz: ticks per millisecond as known by now, 0: nothing is recorded. Worker only. */
void gw_waits_clock(uint32_t khz);

/** Shorter calls explain no gap and are not recorded. us */
enum { GW_WAIT_LEAST = 2 };

#endif
