/*
 * Launches of graphs as sums, a graph each, with the times of whole graphs: what an event pair
 * around the launch of a graph reads (preload/launch/events.c), and what was predicted of its
 * kernels, as if they ran one after the other. Worker only.
 */
#ifndef GW_GRAPH_SUMS_H
#define GW_GRAPH_SUMS_H

#include "predictor/core/types.h"

#include <stdbool.h>
#include <stdint.h>

/** One launch of an executable graph. */
struct gw_graph_run {
	uint32_t graph;          /**< number of the executable graph */
	int device;              /**< ordinal of the GPU it was launched on; -1: unknown */
	uint64_t call_ns;        /**< when, by the wall clock */
	uint32_t kernels, known; /**< that it runs; of them predicted */
	bool unlisted;           /**< it has more kernels than these */
	double expected_ns;      /**< predictions of the known ones */
	double bound_ns[GW_BOUND_LAUNCH + 1]; /**< the same by what bounds the kernel */
};

/** A kernel of it, predicted to take @p ns (NaN: unknown). */
void gw_graph_run_kernel(struct gw_graph_run *run, double ns, enum gw_bound bound);

/** The time of a whole graph. */
struct gw_graph_time {
	uint32_t graph;
	int device;       /**< as of the run */
	uint64_t call_ns; /**< likewise */
	double seconds;   /**< GPU time, above 0 */
	double follows;   /**< share of what was predicted of kernels that follow the SM clock */
};

/** Start with no sums; a forked child leaves its parent's. */
void gw_graph_sums_start(void);

/**
 * A graph was launched. @p ticket: gw_event_ticket() of its event pair, of the thread with
 * @p serial; 0: it is not timed.
 */
void gw_graph_sums_launched(const struct gw_graph_run *run, uint32_t serial, uint32_t ticket);

/**
 * An event pair has read @p seconds (0 or less: not usable). False: it is not one of a graph. @p
 * time: what was timed; its graph is 0 where nothing was.
 */
bool gw_graph_sums_timed(uint32_t serial, uint32_t ticket, double seconds,
			 struct gw_graph_time *time);

/** The span of the sums is over: to the log, where graphs are timed whole. */
void gw_graph_sums_write(void);

#endif
