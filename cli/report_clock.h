/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of clocks and of slow launches. */
#ifndef GW_REPORT_CLOCK_H
#define GW_REPORT_CLOCK_H

#include "cli/report.h"

#include <jansson.h>

/** Header lines: the clocks that were sampled, the episodes of slow launches. Nothing where there
 * are none. */
void gw_report_clock_lines(struct gw_report *report, unsigned width);

/** Clocks of a GPU; null without samples. */
json_t *gw_report_clocks_json(struct log_clocks *clocks);
/** Every episode of slow launches. */
json_t *gw_report_slow_json(const struct gw_log_model *model);

#endif
