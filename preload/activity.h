/* SPDX-License-Identifier: Apache-2.0 */
/* GPU times from CUPTI activity records; libcupti is opened at run time. */
#ifndef GW_ACTIVITY_H
#define GW_ACTIVITY_H

#include "preload/driver.h"

#include <stdint.h>

/** One kernel that ran, whatever the version of libcupti that reported it. */
struct gw_activity {
	const char *name;    /**< libcupti's, valid while its module is loaded */
	uint64_t start, end; /**< ns, CLOCK_REALTIME */
	uint64_t graph_node; /**< number of the graph node, 0 for none */
	uint32_t context, stream, graph, device, correlation; /**< libcupti's numbers; 0 for none */
	uint32_t grid[3], block[3], cluster[3];
	uint32_t dynamic_shared, static_shared, registers, local;
	bool device_launched; /**< by a kernel, not by the host */
};

/** Find libcupti, make sure nobody else uses it, begin. Says what can't be done. */
void gw_activity_attach(void);

/** Never attach in this process; @p why is said. */
void gw_activity_forbid(const char *why);

/** Whether records are being collected. */
bool gw_activity_on(void);

/** Whether a kernel launched at @p ticks has, or had, its record collected. */
bool gw_activity_covers(uint64_t ticks);

/** Version of libcupti in use, 0 when none. */
uint32_t gw_activity_version(void);

/** Numbers of a stream and its context in activity records; left 0 when not known. */
void gw_activity_stream_ids(CUcontext context, CUstream stream, bool per_thread,
                            uint32_t *context_id, uint32_t *stream_id);

/** Number of an executable graph in activity records, 0 when not known. */
uint32_t gw_activity_graph_id(CUgraphExec exec);

/** A context is about to be destroyed: have its records out. */
void gw_activity_context_going(void);

/** Ask for the records of finished kernels (@p all: of unfinished buffers too). Worker only. */
void gw_activity_flush(bool all);

/**
 * Call @p take for every kernel's record received since; returns their number. Copies and memsets
 * go to gw_counted_copy. Worker only.
 */
uint64_t gw_activity_take(void (*take)(const struct gw_activity *record));

/** Have records of copies and memsets too, or no more. Any thread. */
void gw_activity_copies(bool on);

/** Our stand-in for a function of libcupti, NULL for every other name. */
void *gw_activity_wrapper_of(const char *name);

/** The function of the libcupti the program uses, NULL when it uses none. */
void *gw_activity_real(const char *name);

#endif
