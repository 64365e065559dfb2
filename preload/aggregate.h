/* SPDX-License-Identifier: Apache-2.0 */
/* Once the log is full: sums of ten seconds by configuration. Worker only. */
#ifndef GW_AGGREGATE_H
#define GW_AGGREGATE_H

#include "predictor/record.h"

#include <stdbool.h>

/** Start with no sums; a forked child leaves its parent's. */
void gw_aggregate_start(void);

/** Add a launch to the running ten seconds. */
void gw_aggregate_add(const struct gw_record_launch *r);

/** Write the sums when ten seconds have passed, or @p last. */
void gw_aggregate_tick(uint64_t now_ns, bool last);

#endif
