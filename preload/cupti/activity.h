/* GPU times from CUPTI activity records; libcupti is opened at run time. */
#ifndef GW_ACTIVITY_H
#define GW_ACTIVITY_H

#include "preload/cupti/attach.h"
#include "preload/runtime/driver.h"

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

/** One copy or memset that ran. */
struct gw_copy {
	uint32_t device, direction; /**< libcupti's number; enum gw_direction */
	uint32_t stream;            /**< libcupti's number */
	uint64_t bytes;
	uint64_t start, end; /**< as in struct gw_activity */
};

/** Memory for records; false when there is none. Idempotent. */
bool gw_activity_reserve(void);

/** Hand libcupti the buffers' callbacks; answers as it does. */
int gw_activity_register(void);

/** Records come from here on, and meet their launches as @p as says (preload/cupti/attach.h). */
void gw_activity_begin(enum gw_attach_as as);
/** Launches called from here on wait for no record in a window, which ends in a moment. */
void gw_activity_settle(void);
/** The activity is about to be switched off. Worker only. */
void gw_activity_off(void);
/** Launches called from here on have none; those of earlier ones still come. Worker only. */
void gw_activity_end(void);
/** None come any more. */
void gw_activity_gone(void);

/** Whether records come, even if only those of earlier launches. */
bool gw_activity_on(void);

/**
 * Whether a record may come for a launch called at @p ticks; @p correlated: it knows its
 * correlation id.
 */
bool gw_activity_covers(uint64_t ticks, bool correlated);

/**
 * Whether a record can be of a launch called at @p call_ns, CLOCK_REALTIME. Not in a window, where
 * it started before: then it is of a launch on the edge of this window or, come late, of the one
 * before. Worker only.
 */
bool gw_activity_of_call(const struct gw_activity *record, uint64_t call_ns);

/**
 * Whether a record is of a kernel of a graph that ended after its window: libcupti has not read its
 * end, and what it reads is that of the kernel's next run. Worker only.
 */
bool gw_activity_overran(const struct gw_activity *record);

/** Whether launches wait for records by GPU, not by stream: see GW_ATTACH_WINDOW. */
bool gw_activity_by_device(void);

/**
 * Whether a record without a launch is one of a launch on the edge: where measuring begins and ends
 * while the program launches, launches just outside have records, which nothing joins to them.
 */
bool gw_activity_edges(const struct gw_activity *record);

/** Whether most of the latest records came without times: libcupti has no room for any more. */
bool gw_activity_worn(void);

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

/** Where records go. */
struct gw_activity_sink {
	void (*kernel)(const struct gw_activity *record);
	void (*copy)(const struct gw_copy *copy);
};

/** Hand on every record received since; returns the number of kernels'. Worker only. */
uint64_t gw_activity_take(const struct gw_activity_sink *sink);

#endif
