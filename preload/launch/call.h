/* What a hook keeps of one call between its begin and its end. */
#ifndef GW_CALL_H
#define GW_CALL_H

#include "preload/runtime/driver.h"
#include "preload/maps/state.h"

/** What becomes of a launch when it succeeds. */
enum gw_call_how {
	GW_CALL_IGNORED,  /**< nothing */
	GW_CALL_OUTER,    /**< it has a slot, and no other launch of the thread was in flight */
	GW_CALL_INNER,    /**< it has a slot, within another launch of the thread */
	GW_CALL_DROPPED,  /**< counted only: the ring is full, or the thread has none */
	GW_CALL_CAPTURED, /**< counted only: the stream is being captured, so it will not run */
};

/** One call in flight; lives on the stack of the wrapper. */
struct gw_call {
	struct gw_event *event;   /**< ring slot being filled, NULL when there is none */
	struct gw_thread *thread; /**< NULL when the thread has no ring */
	CUstream stream;          /**< set while an event pair is under way */
	uint32_t pt;              /**< 1: stream 0 is the per-thread default stream */
	uint32_t how;             /**< enum gw_call_how */
	uint32_t at;              /**< position of the slot in the ring; of
				       cuDevicePrimaryCtxRetain(): a context was active */
	uint64_t since;           /**< of a wait: ticks when it began, 0: it is not recorded */
	CUfunction node; /**< when captured: what the graph will run; NULL: no kernel of its own */
	CUfunction function; /**< that is launched */
	struct gw_last last; /**< INNER: what the outer launch had looked up */
	struct gw_known_kernel
		known; /**< not OUTER: the kernel; the thread's may be half written */
};

/* What follows runs on first use or rarely: out of the way of the launch path's code. */
#define GW_COLD __attribute__((cold))
/* What every launch runs, side by side: as few pages and lines as can be. */
#define GW_HOT __attribute__((hot))

/** First launch of a thread: give it a ring. NULL when there is none left. */
GW_COLD struct gw_thread *gw_thread_register(void);

/** Looks the kernel up where the thread has not, or not since @p generation. */
__attribute__((noinline)) const struct gw_known_kernel *
gw_kernel_look_up(struct gw_call *call, CUfunction function, uint32_t generation);

/** First use of a kernel: get its name and resources from the driver. 0 when it fails. */
GW_COLD uint32_t gw_kernel_resolve(CUfunction function);

/** A slot for @p call, where the plain way to one failed: another launch of the thread is in
 * flight, or the ring is full; then NULL. */
GW_COLD struct gw_event *gw_ring_reserve(struct gw_call *call);

/** A slot for an event of our own within a launch, to be marked GW_EVENT_DONE; NULL: none is free.
 */
GW_COLD struct gw_event *gw_ring_reserve_inner(struct gw_thread *t);

/** The calling thread's launch in flight that began last learns its correlation id; false where
 * there is none, or it has one. */
GW_COLD bool gw_ring_correlate(uint32_t id);

/** Hand over what is in flight: no launch of the thread will end any more, but those within a
 * launch that has just ended. */
GW_COLD void gw_ring_settle(struct gw_thread *t);

/** What few launches need once they have been made: arguments, event pairs. */
GW_COLD void gw_call_more(struct gw_call *call, void **params, void **extra);

/** The end of a launch that is not an OUTER one, or failed. */
GW_COLD void gw_call_odd_end(struct gw_call *call, CUresult result, bool graph);

/**
 * A graph will run @p function: a launch of it was captured, or a node was made of it. The node
 * will name a function that no call gave, in a module that no call loaded: which library that is,
 * only this handle says (kernels.c).
 */
GW_COLD void gw_kernel_in_graph(CUfunction function);

/**
 * The calling thread's current context, asked of the driver and kept, for gw_context_of(), while
 * its changes are seen. Where one was not, all launches ask from then on.
 */
GW_COLD CUcontext gw_context_ask(struct gw_thread *thread, uint32_t generation);

/** The calling thread's current context has changed, or may have. */
static inline void gw_context_changed(void)
{
	if (gw_self)
		gw_self->last.context = 0;
}

/**
 * Make @p context the calling thread's current one for a moment; false where the driver can't. What
 * is put into @p pushed goes to gw_context_leave() afterwards, either way.
 */
GW_COLD bool gw_context_enter(CUcontext context, bool *pushed);
GW_COLD void gw_context_leave(bool pushed);

/** The ordinal of the GPU of @p context, -1 where the driver call fails. */
GW_COLD int gw_context_device(CUcontext context);

/** First sight of a stream; @p key as in gw_stream_key. 0 when there is no slot left. */
GW_COLD uint32_t gw_stream_resolve(struct gw_thread *thread, CUstream stream, CUcontext context,
				   uint32_t kind, uintptr_t key);

/**
 * The launch of @p call has succeeded and its configuration has no published prediction: copy its
 * arguments for the worker, unless this thread has done so before, there is no room, or the layout
 * isn't known or, asked again, not the driver's. No lock, allocation or system call of ours. Clears
 * GW_EVENT_ARGUMENTS where nothing was copied.
 */
GW_COLD void gw_arguments_take(struct gw_call *call, void **params, void **extra);

/**
 * A launch of @p f is being captured: its configuration's stack is taken, unless it was before
 * (stacks.h). Of @p shape grid, block, cluster and shared memory count.
 */
GW_COLD void gw_stack_captured(struct gw_call *call, CUfunction f, const struct gw_event *shape,
			       void **params, void **extra);

/** Function @p f is what kernel @p kernel of a library is in the current context. */
GW_COLD void gw_function_of_kernel(CUfunction f, CUkernel kernel);

/** The buffer of arguments in @p extra, and its size; NULL when it has none. */
static inline const unsigned char *gw_extra_buffer(void **extra, size_t *size)
{
	enum { WORDS = 8 }; /* looked at; two pairs and an end are in use */
	const unsigned char *buffer = NULL;

	*size = 0;
	for (unsigned i = 0; i + 1 < WORDS && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[i + 1];
		else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1])
			*size = *(const size_t *)extra[i + 1];
	}
	return buffer;
}

/**
 * The argument hash of a launch by its kernel's layout; 0 where the arguments are unknown. Out of
 * line, out of the way of kernels whose arguments decide nothing.
 */
GW_HOT uint32_t gw_digest_read(const struct gw_digest_plan *plan, void **params, void **extra);

/** Whether @p stream is being captured, asked of the driver. */
GW_COLD bool gw_stream_capturing(CUstream stream, uint32_t pt);

/** Block shape and shared memory set by the old cuFuncSet… calls; {1,1,1} and 0 when never set. */
GW_COLD void gw_shape_of(CUfunction function, uint32_t block[3], uint32_t *shared);

/** Around launches, of so many kernels, while gw_hot.events is set: sampled timing by event pairs.
 */
GW_COLD void gw_events_begin(struct gw_call *call, CUstream stream, uint32_t kernels);
GW_COLD void gw_events_end(struct gw_call *call);

/** Whether a copy in @p stream may run beside what is in that of the base of exact event pairs. */
GW_COLD bool gw_events_beside(CUstream stream);

/**
 * The time that a GW_EVENT_TIME has of its launch, s: without what a pair takes by itself and for
 * how long the GPU waited for the call. 0, counted: these may be most of it. Worker only.
 */
GW_COLD double gw_events_seconds(const struct gw_event *e);

#endif
