/* The log file of a process. Worker only, but for the last words at exit. */
#ifndef GW_LOG_H
#define GW_LOG_H

#include "predictor/log/record.h"

#include <stdbool.h>
#include <stddef.h>

/** Begin the log by GPUWATCH_OUT; false (and said) when that can't be done. Does not wait for it.
 */
bool gw_log_open(void);

/** Whether records go to a file, or may yet. */
bool gw_log_is_open(void);

/**
 * Append a record: @p head points to its struct, @p size bytes, whose kind is set here;
 * @p tail are @p tail_size bytes of strings. Lost (and counted) when there is no log.
 */
void gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
		  size_t tail_size);

/**
 * From now on the log is a ring of files, of GPUWATCH_LOG_MAX bytes together: the oldest goes when
 * a new one needs its room. So it is from the start in mode watch.
 */
void gw_log_make_ring(void);

/** Of streams and graph nodes in a ring: each file names those with ids up to this; others come and
 * go. */
enum { GW_NAMED_FIRST = 1024 };

/** Whether it is one. */
bool gw_log_ring(void);

/** Whether something was written since the last flush that who reads the log later needs. */
bool gw_log_urgent(void);

/** Whether launches no longer fit one by one, but in sums; true from the first time on. */
bool gw_log_sums(void);

/** Whether @p size more bytes of sums can be appended; false from the first time on: they then go
 * into a copy. */
bool gw_log_sums_fit(size_t size);

/** Whether the file has the definition of @p config. */
bool gw_log_names(uint32_t config);

/**
 * Begin a copy of what is not appended any more: it takes the place of the one before the last.
 * False when there is no room for it now; else how many bytes of records fit is in @p room.
 */
bool gw_log_copy_begin(size_t *room);
void gw_log_copy_end(void);

/** Number of the block that the last record went to; packed blocks in the file bear it, from 1. */
uint32_t gw_log_block(void);

/** Blocks with a lower number than this are in the file, or lost and counted. */
uint32_t gw_log_written(void);

/** Bytes of the file, what is still in memory included (as it is there). */
uint64_t gw_log_bytes(void);

/** Changes whenever the file lost something, or is a new one. */
uint32_t gw_log_losses(void);

/** Hand what is in memory to the writer. */
void gw_log_flush(void);

/** Wait until it was written or can't be, for a bounded time. */
void gw_log_settle(void);

/** Flush, close and wait for that, for a bounded time. */
void gw_log_close(void);

/** Drop what is in memory, writing nothing: a forked child's part. */
void gw_log_abandon(void);

/** Name of the file, "" before it is open. */
const char *gw_log_name(void);

#endif
