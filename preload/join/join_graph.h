/*
 * The kernels of graph launches wait here for their times: the part of join.c for GW_JOIN_GRAPH.
 * Worker only.
 *
 * A program can launch graphs by the hundred thousand kernels before the first record comes. So a
 * record looks for its launch by the correlation id that all kernels of it share. Where no launch
 * has that id, it takes the first launch whose id is still unknown; it never searches the rest.
 */
#ifndef GW_JOIN_GRAPH_H
#define GW_JOIN_GRAPH_H

#include "preload/join/join.h"

/** Start empty; results go to @p sink, which stays the caller's. */
void gw_join_graph_start(const struct gw_join_sink *sink);

/** A kernel of a graph launch waits: as gw_join_wait(). */
void gw_join_graph_wait(uint64_t graph, uint32_t number, const struct gw_record_launch *record);

/** Whether @p a, of a graph, found its launch; @p now: of the batch, ns. */
bool gw_join_graph_match(const struct gw_activity *a, uint64_t now);

/** Give up launches that were overtaken long before @p now, @p last: all. */
void gw_join_graph_expire(uint64_t now, bool last);

#endif
