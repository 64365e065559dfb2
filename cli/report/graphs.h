/* SPDX-License-Identifier: Apache-2.0 */
/* Of a report: graphs that were timed whole, and what all launches were expected to take. */
#ifndef GW_REPORT_GRAPHS_H
#define GW_REPORT_GRAPHS_H

#include "cli/report/report.h"

/** One row: GPU time predicted of all launches against that of the timed ones; nothing where all or
 * none are timed. */
void gw_report_expected_line(const struct gw_log_model *model, unsigned width);
/** A table of the graphs; nothing where none was timed whole. */
void gw_report_graphs(const struct gw_report *report, unsigned width);

json_t *gw_report_expected_json(const struct gw_log_model *model);
json_t *gw_report_graphs_json(const struct gw_log_model *model);

#endif
