/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches as sums by configuration. In mode watch, of ten seconds, with histograms. Once a log
 * that is no ring is full, of spans of ten seconds first, of longer ones later; when even these
 * have no more room, one sum of all the time since is written over and over. Worker only.
 */
#ifndef GW_AGGREGATE_H
#define GW_AGGREGATE_H

#include "predictor/log/record.h"

#include <stdbool.h>

/** Start with no sums; a forked child leaves its parent's. */
void gw_aggregate_start(void);

/** Add a launch to the running span; its entry in the live segment goes with it. */
void gw_aggregate_add(const struct gw_record_launch *r);

/** Write the sums when their span is over, or @p last; whether it was. */
bool gw_aggregate_tick(uint64_t now_ns, bool last);

/** Where they are written over and over, do so now. */
void gw_aggregate_copy(void);

#endif
