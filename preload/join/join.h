/*
 * Launches wait here for their times. Worker only.
 *
 * A launch and its activity record share no number: the hook can't see the correlation id.
 * But within one stream kernels run in the order of their launches, so records, taken in
 * order of correlation id, meet launches in order of call, checked by name and
 * configuration. The kernels of a graph launch share one correlation id and the number of
 * the executable graph. Where the launch came through a CUPTI callback, the correlation id
 * is known and decides.
 *
 * libcupti hands out buffers by launching thread: where threads share a stream, records come
 * a buffer's length out of order. So a record looks only among launches of its own kernel and
 * configuration, for the first that was called after what is known to have come before it.
 */
#ifndef GW_JOIN_H
#define GW_JOIN_H

#include "preload/cupti/activity.h"
#include "predictor/log/record.h"

#include <stdbool.h>

/** What a queue of waiting launches is keyed by. */
enum gw_join_by { GW_JOIN_STREAM, GW_JOIN_GRAPH, GW_JOIN_CORRELATION, GW_JOIN_TICKET };

/** What becomes of a launch: @p record is complete but for config checks; see pipeline.c. */
struct gw_join_sink {
	/** A launch is matched to its record. @p a is NULL when it was timed by events: @p seconds
	 * holds. */
	void (*joined)(struct gw_record_launch *record, const struct gw_activity *a,
		       double seconds);
	/** A launch for which no record came. */
	void (*unmatched)(struct gw_record_launch *record);
	/** A record without a launch. */
	void (*orphan)(const struct gw_activity *a);
	/** The queue is full: the next launch evicts the oldest. The sink delivers the records that
	 * there are; it may call gw_join_batch(). */
	void (*queue_full)(void);
};

/** Start empty. */
void gw_join_start(const struct gw_join_sink *sink);

/**
 * A launch waits. @p key: for STREAM the stream's numbers (gw_join_stream_key), for GRAPH the
 * graph's number in activity records, for CORRELATION gw_join_correlation_key, for TICKET the
 * thread's serial.
 * @p number: for GRAPH a number common to the kernels of one graph launch, for CORRELATION
 * the correlation id, for TICKET the ticket.
 */
void gw_join_wait(enum gw_join_by by, uint64_t key, uint32_t number,
		  const struct gw_record_launch *record);

static inline uint64_t gw_join_stream_key(uint32_t context, uint32_t stream)
{
	return (uint64_t)context << 32 | stream;
}

/**
 * For STREAM too: launches on several devices at once. The driver runs each kernel in a stream of
 * its own, which no call of ours has named, so for these the device decides; no context has the
 * number 0.
 */
static inline uint64_t gw_join_multi_key(uint32_t device)
{
	return device + 1;
}

/* Few enough to keep, enough that a look among them is short. */
static inline uint64_t gw_join_correlation_key(uint32_t correlation)
{
	return correlation & 1023;
}

/** A record came; kept until gw_join_batch. The name is copied. */
void gw_join_record(const struct gw_activity *a);

/** Match what came. @p last: nothing more will come, so give up what is left. */
void gw_join_batch(bool last);

/** The time of a launch that was timed by an event pair. */
void gw_join_ticket(uint32_t thread, uint32_t ticket, double seconds);

/** Thread @p thread (its serial) asks no event pair for its time any more: its launches that wait
 * for one are given up. */
void gw_join_thread_gone(uint32_t thread);

/** Launches that wait for records. Those that wait for an event pair are not among them: when its
 * time comes, if ever, is up to their thread. */
uint32_t gw_join_waiting(void);

#endif
