/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What deep counters count: sets of metrics of one pass each, as many as the chip needs, and the
 * kernels that may be counted. Worker only, but for what says otherwise.
 */
#ifndef GW_DEEP_SETS_H
#define GW_DEEP_SETS_H

#include "predictor/core/types.h"
#include "preload/cupti/cupti_host.h"

enum { GW_DEEP_SETS = 16 /**< at most; below 32 */ };

/** Start with nothing known. */
void gw_deep_sets_start(void);

/** Go on making the sets, a metric a call. True when they are made, or none can be. */
bool gw_deep_sets_make(void);

/** How many sets there are, 0 before all are made. Any thread. */
uint32_t gw_deep_sets_ready(void);

/** Set @p index, below gw_deep_sets_ready(). Any thread. */
const struct gw_cupti_set *gw_deep_set(uint32_t index);

/** Why there is no set. */
CUptiResult gw_deep_sets_why(void);

/** What the data of a range of set @p index says of a launch; false when it says nothing, as if the
 * set could not be counted. */
bool gw_deep_sets_work(uint32_t index, const uint8_t *data, size_t size, struct gw_work *out);

/** From here on libcupti is left alone; waits for a call under way. Any thread. */
void gw_deep_sets_stop(void);

/** Whether kernel @p slot can't wait for anything, as far as is known by now. Any thread. */
bool gw_deep_kernel_allowed(uint32_t slot);

/** Read the code of kernels that were asked about. */
void gw_deep_kernels_analysis(void);

#endif
