/* The NVTX ranges of a log's threads and process over time: which one a launch was called in. */
#ifndef GW_SPENT_RANGES_H
#define GW_SPENT_RANGES_H

#include "predictor/log/record.h"

#include <stddef.h>

enum {
	LOG_RANGE_NAMES = 1 << 16,   /**< ids of names that a log may have */
	LOG_RANGE_CHANGES = 1 << 20, /**< of a thread that are kept: of more the older half goes */
};

/** Zero-initialised is empty. */
struct log_ranges {
	char **names; /**< by id: the domain's, where it has one, a colon, and its own; NULL: none
		       */
	size_t name_room;
	struct log_range_timeline {
		struct log_range_change {
			uint64_t ns;
			uint32_t name; /**< id, 0: in no range */
		} * list;
		size_t count, room;
	} * timelines; /**< by position of the thread plus 1; 0: of the process */
	size_t timeline_room;
};

void log_range_name(struct log_ranges *ranges, const struct gw_record_range_name *record,
		    const char *text);
/** @p thread: position in the log's threads, GW_INDEX_NONE for the process. */
void log_range_change(struct log_ranges *ranges, uint32_t thread,
		      const struct gw_record_range *record);

/**
 * The innermost range that thread @p thread (as above) was in when it called at @p call_ns; where
 * it was in none, that of the process. "[no range]", "[unnamed]", or "[unknown]" where that is so.
 * Stays the ranges'.
 */
const char *log_range_at(const struct log_ranges *ranges, uint32_t thread, uint64_t call_ns);

/** What id @p name of a record stands for, as above; NULL for 0. */
const char *log_range_text(const struct log_ranges *ranges, uint32_t name);

void log_ranges_free(struct log_ranges *ranges);

#endif
