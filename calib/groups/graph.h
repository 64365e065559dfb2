/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of kernel nodes. */
#ifndef GW_CALIB_GROUPS_GRAPH_H
#define GW_CALIB_GROUPS_GRAPH_H

#include "calib/bench.h"

/**
 * Seconds that one more node adds to a graph of kernel nodes of @p f (one warp, no arguments), each
 * depending on the one before: up to @p count samples. Returns how many; 0 noted, or where
 * the driver has no graphs.
 */
size_t gw_graph_periods(struct gw_bench *b, CUfunction f, double *seconds, size_t count);

#endif
