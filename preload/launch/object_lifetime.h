/* What the hooks outside the launch path report of streams, contexts, functions and graphs. */
#ifndef GW_OBJECT_LIFETIME_H
#define GW_OBJECT_LIFETIME_H

#include "preload/runtime/driver.h"
#include "preload/maps/state.h"

/** A stream was made: whatever was known of its handle is stale. */
void gw_stream_made(CUstream stream);
/** A stream is about to be destroyed. */
void gw_stream_gone(CUstream stream);
/** A thread has ended, and with it its per-thread default streams. */
void gw_stream_thread_gone(struct gw_thread *t);
/** A context is about to be destroyed or reset: its streams and functions are forgotten. */
void gw_context_gone(CUcontext context);
/** A number that changes when a context of this handle ends. */
uint32_t gw_context_ends(CUcontext context);

/** The capture that @p stream began goes on. Of default streams, and of more than 64 at a time, no
 * more is known than that there is one. */
void gw_capture_of(CUstream stream);
/** Forget the captures that @p stream, or streams of @p context (where not NULL), began; returns
 * how many were known. They still count as under way. */
uint32_t gw_captures_take(CUstream stream, CUcontext context);
/** So many captures are over. */
void gw_captures_over(uint32_t count);

/** Remember which context is the primary one of @p device. */
void gw_primary_set(int device, void *context);
/** Whether there is a primary context of @p device; true where the driver does not say. */
bool gw_primary_active(int device);
/** The primary context of @p device was released: by its last user it is gone. */
void gw_primary_changed(int device);
/** The primary context of @p device was reset. */
void gw_primary_gone(int device);

/** Remember as which context green context @p green is used. */
void gw_green_set(void *green, void *context);
/** That context, forgotten now; NULL when it is not known. */
void *gw_green_take(void *green);

/** Block shape and shared memory of the launches of CUDA 1, which are set on the function. */
void gw_shape_block(CUfunction f, int x, int y, int z);
void gw_shape_shared(CUfunction f, unsigned bytes);

/** @p exec was instantiated from @p graph. */
void gw_graph_made(CUgraphExec exec, CUgraph graph);
/** @p exec was updated from @p graph. */
void gw_graph_updated(CUgraphExec exec, CUgraph graph);
/** The child graph under @p node of @p exec was replaced. */
void gw_graph_child_set(CUgraphExec exec, CUgraphNode node, CUgraph child);
/** A kernel node of @p exec got new parameters. */
void gw_graph_node_set(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params);
/** A node of @p exec was switched on or off. */
void gw_graph_node_enabled(CUgraphExec exec, CUgraphNode node, bool enabled);
/** @p exec is about to be destroyed. */
void gw_graph_gone(CUgraphExec exec);

#endif
