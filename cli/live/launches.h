/* SPDX-License-Identifier: Apache-2.0 */
/* The launches in a live segment that its log lacks. */
#ifndef GW_LIVE_LAUNCHES_H
#define GW_LIVE_LAUNCHES_H

#include "cli/live/file.h"
#include "predictor/log/live.h"

struct gw_live_launch {
	uint64_t call_ns;
	uint32_t tid;
	bool node; /**< of a graph */
	struct gw_live_event event;
};

/** What is left in a segment. */
struct gw_live_left {
	const struct gw_live_file *file;
	unsigned char *blocks; /**< bit per block of the process that is in the log's file */
	size_t block_bytes;
	struct gw_live_launch *launch; /**< in the order of their calls; free() it */
	size_t count, room;
	uint64_t graphs; /**< launches of graphs whose kernels are not all known */
};

/** Find them: @p left->file and its blocks are set. */
void gw_live_take(struct gw_live_left *left);

/** Whether @p size bytes at @p at, a multiple of 4, lie in the file. */
bool gw_live_within(const struct gw_live_file *file, uint64_t at, uint64_t size);

#endif
