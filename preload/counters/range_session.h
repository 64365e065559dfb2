/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's range profiler around one launch: what the GPU does between begin and end is counted,
 * once, in place. Both wait until the context is idle, on the calling thread, whose current context
 * it is.
 */
#ifndef GW_RANGE_SESSION_H
#define GW_RANGE_SESSION_H

#include "preload/cupti/cupti_host.h"

/** The range profiler of a context; zero-initialised is closed. */
struct gw_range {
	CUpti_RangeProfiler_Object *object; /**< NULL: closed */
	bool started, pushed;
	const char *failed; /**< the call that failed last, for a message */
};

/** Whether the libcupti that was found has all that is needed here. */
bool gw_range_usable(void);

/** Open it for @p context, which is current. */
CUptiResult gw_range_open(struct gw_range *r, CUcontext context);

/**
 * Bytes that the data of one range of @p set takes; 0, with the reason in @p why, on failure. To be
 * asked before each gw_range_begin: the profiler prepares the data of the set it was asked for
 * last.
 */
size_t gw_range_data_size(struct gw_range *r, const struct gw_cupti_set *set, CUptiResult *why);

/** Begin to count @p set; what is counted goes to @p size bytes at @p data. */
CUptiResult gw_range_begin(struct gw_range *r, const struct gw_cupti_set *set, uint8_t *data,
                           size_t size);

/** End it; the first failure is returned, and all is taken back whatever fails. */
CUptiResult gw_range_end(struct gw_range *r);

/** Close it; harmless when it is not open. */
void gw_range_close(struct gw_range *r);

#endif
