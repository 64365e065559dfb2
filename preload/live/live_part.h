/* What the parts of the live segment's writer share. */
#ifndef GW_LIVE_PART_H
#define GW_LIVE_PART_H

#include "preload/live/live.h"
#include "predictor/log/live.h"

/** The segment, NULL where there is none. */
struct gw_live_head *gw_live_mapped(void);

/**
 * Have pages for @p size bytes from offset @p from. Those that a full file system refuses are
 * refused here, not by SIGBUS later.
 */
bool gw_live_reserve(struct gw_live_head *h, uint64_t from, uint64_t size);

/** Say that it is full: @p why. */
void gw_live_full(const char *why);

/** Say, once a table, that one for @p most of @p what is full. */
void gw_live_table_full(const char *what, uint32_t most);

/** Of tables, in a forked child. */
void gw_live_tables_abandon(void);

/** Make the worker's lists of entries, of which there are at most @p most. */
void gw_live_entries_start(uint32_t most);

/** Of entries, in a forked child. */
void gw_live_entries_abandon(void);

/** What a GPU's idle time went by: in a forked child, and by another clock. */
void gw_live_idle_forget(void);

/** That GPU was idle for @p ns more, by cause. */
void gw_live_idled(uint32_t ordinal, const uint64_t ns[GW_LIVE_IDLE]);

/** Of graphs, in a forked child. */
void gw_live_graphs_abandon(void);

#endif
