/*
 * Streams and graph nodes without a record. Where launches go into sums, few are in the log by
 * themselves, and a program that makes streams and graphs all the time would fill it with records
 * that nothing names. So there the first GW_UNNAMED_FROM of each have one; launches of the others
 * name none. Worker only.
 */
#ifndef GW_UNNAMED_H
#define GW_UNNAMED_H

#include "predictor/log/record.h"

#include <stdbool.h>
#include <stdint.h>

enum { GW_UNNAMED_FROM = 1024 };

/** Start with none. */
void gw_unnamed_start(void);

/** Stream or node @p id is new: whether it is to have no record. */
bool gw_unnamed_stream(uint32_t id);
bool gw_unnamed_node(uint32_t id);

/** Whether stream @p id has no record and would have one now, under a new id: the mode has changed.
 */
bool gw_unnamed_now(uint32_t id);

/** @p r goes to the log by itself: what it names and has no record becomes 0. */
void gw_unnamed_leave_out(struct gw_record_launch *r);

#endif
