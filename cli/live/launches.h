/* The launches in a live segment that its log lacks. */
#ifndef GW_LIVE_LAUNCHES_H
#define GW_LIVE_LAUNCHES_H

#include "cli/live/file.h"
#include "predictor/log/live.h"

struct gw_live_launch {
	uint64_t call_ns;
	uint64_t ticks; /**< of the call; 0: not known */
	uint32_t tid;
	uint32_t stream; /**< the log's id, 0 when not known */
	bool node;       /**< of a graph */
	bool open; /**< its call had not returned: it may be of a record without a launch, no more
		    */
	struct gw_live_event event;
};

/** A record of the log without a launch, whose launch may be one of these. */
struct gw_live_lone {
	uint64_t ticks;  /**< when its kernel started */
	uint32_t config; /**< as the log has it, 0: not known */
	bool node;       /**< of a graph */
};

/** What is left in a segment. */
struct gw_live_left {
	const struct gw_live_file *file;
	unsigned char *blocks; /**< bit per block of the process that is in the log's file */
	size_t block_bytes;
	uint32_t first_block; /**< the first of those; the process's before it are in earlier files
			       */
	struct gw_live_launch *launch; /**< in the order of their calls; free() it */
	size_t count, room;
	struct gw_live_lone *lone; /**< free() it */
	size_t lone_count, lone_room;
	uint64_t lost;       /**< launches that were in neither log, ring nor entry */
	uint32_t unlisted;   /**< rings of which nothing is known */
	uint64_t counted[6]; /**< by all threads with a place in the segment, as `counted` there */
	uint64_t walked;     /**< chunks of graphs */
	uint64_t graphs;     /**< launches of graphs whose kernels are not all known */
};

/** Whether the record of entry @p at, from 0, is in the log's file, or its launch in a sum. */
bool gw_live_settled(const struct gw_live_left *left, uint32_t at);

/** Sum @p at of the segment, where it counts and the log's file lacks it: with all launches where a
 * graph's are counted apart. False: no such. */
bool gw_live_sum_left(const struct gw_live_left *left, uint32_t at, struct gw_live_sum *out);

/** Find them: @p left->file and its blocks are set. */
void gw_live_take(struct gw_live_left *left);

/** Key of the kernel and configuration of a launch or a record, from the fields that both have. */
typedef uint64_t gw_live_like_launch_fn(void *arg, const struct gw_live_launch *launch);
typedef uint64_t gw_live_like_config_fn(void *arg, uint32_t config);

/**
 * Leave out the launches that the log has by a record without a launch, and those whose call had
 * not returned.
 */
void gw_live_drop_lone(struct gw_live_left *left, gw_live_like_launch_fn *of_launch,
		       gw_live_like_config_fn *of_config, void *arg);

/** Whether @p size bytes at @p at, a multiple of 4, lie in the file. */
bool gw_live_within(const struct gw_live_file *file, uint64_t at, uint64_t size);

#endif
