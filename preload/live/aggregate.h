/*
 * Launches as sums by configuration. In mode watch, of ten seconds, later of up to a minute,
 * with histograms. Once a log that is no ring is full, of spans of ten seconds first, of longer
 * ones later; when even these have no more room, one sum of all the time since is written over and
 * over. Worker only.
 */
#ifndef GW_AGGREGATE_H
#define GW_AGGREGATE_H

#include "predictor/log/record.h"
#include "preload/maps/state.h"

#include <stdbool.h>

#define GW_SPAN_S 10 /**< seconds of the shortest span; in the log's header, too */

/** Start with no sums; a forked child leaves its parent's. */
void gw_aggregate_start(void);

/** Add a launch to the running span; its entry in the live segment goes with it. */
void gw_aggregate_add(const struct gw_record_launch *r);

/**
 * Whether launches of graph @p slot can be added whole to the running span: its nodes, which all
 * have configurations, are counted by configuration once a span. False: there is no room, and each
 * of its kernels is to be added as a launch.
 */
bool gw_aggregate_graph_room(uint32_t slot);

/** Add a launch of that graph; @p r has its entry in the live segment, one for all its kernels. */
void gw_aggregate_graph(uint32_t slot, const struct gw_record_launch *r);

/** The slot is given to another graph. */
void gw_aggregate_graph_gone(uint32_t slot);

/** Call @p take with the launches that were added whole since the last time, by configuration. */
void gw_aggregate_graphs(void (*take)(uint32_t config, uint64_t launches));

/** Whether gw_aggregate_tick() would write the sums, and forget what was added whole. */
bool gw_aggregate_due(uint64_t now_ns, bool last);

/** Write the sums when their span is over, or @p last; whether it was. */
bool gw_aggregate_tick(uint64_t now_ns, bool last);

/** Where they are written over and over, do so now. */
void gw_aggregate_copy(void);

#endif
