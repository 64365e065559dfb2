/* SPDX-License-Identifier: Apache-2.0 */
/* The log file of a process. Worker only, but for the last words at exit. */
#ifndef GW_LOG_H
#define GW_LOG_H

#include "predictor/record.h"

#include <stdbool.h>
#include <stddef.h>

/** Open the log by GPUWATCH_OUT; false (and said) when that can't be done. */
bool gw_log_open(void);

/** Whether records go to a file. */
bool gw_log_is_open(void);

/**
 * Append a record: @p head points to its struct, @p size bytes, whose kind is set here;
 * @p tail are @p tail_size bytes of strings. Lost (and counted) when there is no log.
 */
void gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
                  size_t tail_size);

/** Bytes of the file, what is still in memory included. */
uint64_t gw_log_bytes(void);

/** Write out what is in memory. */
void gw_log_flush(void);

/** Flush and close. */
void gw_log_close(void);

/** Drop the file and what is in memory, writing nothing: a forked child's part. */
void gw_log_abandon(void);

/** The rank of this process in its job, "" when no launcher says. */
const char *gw_log_rank(void);

/** Name of the file, "" before it is open. */
const char *gw_log_name(void);

#endif
