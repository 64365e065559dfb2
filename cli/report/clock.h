/* SPDX-License-Identifier: Apache-2.0 */
/* A report over time: gaps between kernels, clocks, slow launches. */
#ifndef GW_REPORT_CLOCK_H
#define GW_REPORT_CLOCK_H

#include "cli/report/report.h"

#include <jansson.h>

/** Header line: share of time in which no kernel ran, and its main cause; nothing where it is not
 * known. */
void gw_report_idle_line(const struct gw_log_model *model, unsigned width);
/** Header line: slow launches and throttling; nothing where there is none. */
void gw_report_slow_line(const struct gw_log_model *model, unsigned width);
/** The same in full: idle time by cause, clocks, the worst episodes. */
void gw_report_clock_details(struct gw_report *report, unsigned width);

/** Idle time of a GPU by cause. */
json_t *gw_report_idle_json(const struct log_gaps *gaps);
/** Clocks of a GPU; null without samples. */
json_t *gw_report_clocks_json(struct log_clocks *clocks);
/** Every episode of slow launches. */
json_t *gw_report_slow_json(const struct gw_log_model *model);

#endif
