/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What windows of mode watch cost the program, as this process shows it: launches per second while
 * a window is open against those before it. And what libcupti costs while it is attached and off,
 * which decides whether it is attached at all: it cannot be detached again. Worker only.
 */
#ifndef GW_WINDOW_COST_H
#define GW_WINDOW_COST_H

#include <stdbool.h>
#include <stdint.h>

/** Start with nothing known. */
void gw_window_cost_start(void);

/** @p launches calls came in a round of the worker that took @p ns; @p open: in a window. */
void gw_window_cost_round(bool open, uint64_t ns, uint32_t launches);

/** The window has ended: what it showed counts. */
void gw_window_cost_ended(void);

/**
 * Share of the time for which a window is open that the program loses, 0 to 1: the upper bound of
 * what past windows showed, two standard errors above their mean; a half as long as there were few.
 */
double gw_window_cost_share(void);

/** A launch was timed by a pair of events; @p queued: the GPU had work when it was called. */
void gw_window_cost_pair(bool queued);

/**
 * Whether libcupti may stay attached: what it adds to launch calls is within half of @p percent of
 * the time, or is hidden because the GPU, not the host, is what the program waits for.
 */
bool gw_window_cost_stay(uint32_t percent);

#endif
