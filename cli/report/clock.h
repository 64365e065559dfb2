/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of the course of time: gaps between kernels, clocks, slow launches. */
#ifndef GW_REPORT_CLOCK_H
#define GW_REPORT_CLOCK_H

#include "cli/report/report.h"

#include <jansson.h>

/** Header lines: what passed between kernels, the clocks that were sampled, the episodes of slow
 * launches. Nothing where there are none. */
void gw_report_clock_lines(struct gw_report *report, unsigned width);

/** Gaps between the kernels of a GPU. */
json_t *gw_report_gaps_json(const struct log_gaps *gaps);
/** Clocks of a GPU; null without samples. */
json_t *gw_report_clocks_json(struct log_clocks *clocks);
/** Every episode of slow launches. */
json_t *gw_report_slow_json(const struct gw_log_model *model);

#endif
