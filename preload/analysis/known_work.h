/*
 * What is known of the work of each configuration, put together from those who find it out:
 * reading code, counting on the GPU. Worker only. Bounded: of configurations beyond
 * GW_WORKS_MAX nothing is kept, and that is counted.
 */
#ifndef GW_KNOWN_WORK_H
#define GW_KNOWN_WORK_H

#include "predictor/core/types.h"

enum { GW_WORKS_MAX = 1 << 16 };

/** Start with nothing known. */
void gw_work_start(void);

/**
 * Add @p part to what is known of configuration @p config (an id of the log). Field by field: a
 * surer source replaces a weaker one, and the same source its own earlier value. Fields whose
 * source is GW_SOURCE_NONE, and values that are not numbers, change nothing. What code says of a
 * row that was counted is kept beside the count.
 */
void gw_work_offer(uint32_t config, const struct gw_work *part);

/** Into the log what a launch of executable graph @p graph does. */
void gw_work_of_graph(uint32_t graph, const struct gw_work *work);

/** What is known of a row of @p config; without a source: nothing. For each measured launch. */
struct gw_quantity gw_work_row(uint32_t config, enum gw_work_field field);

/** Into @p out, what code says of @p config, also of rows that were counted. */
void gw_work_by_code(uint32_t config, struct gw_work *out);

/**
 * Once a cycle: pass the known work to @p predictors and the log, of each configuration offered
 * something new since the last time; the log gets the rows that changed. Where code and counters
 * know the same row, and the predictor has not heard from the code yet, there are two WORK records,
 * the code's first.
 */
struct gw_predictor_set;
void gw_work_publish(struct gw_predictor_set *predictors);

/**
 * Once a cycle: where the log has lost something (@p losses: gw_log_losses()), write all of that
 * into it once more, some at a time. The predictor knows it.
 */
void gw_work_repeat(struct gw_predictor_set *predictors, uint32_t losses);

#endif
