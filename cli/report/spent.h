/* SPDX-License-Identifier: Apache-2.0 */
/* A report's account of where the time of GPUs went (cli/spent/spent.h). */
#ifndef GW_REPORT_SPENT_H
#define GW_REPORT_SPENT_H

#include "cli/report/report.h"

#include <jansson.h>

/** Header line: shares of the time of all GPUs, from first to last kernel or copy. False, and
 * nothing, where no log has copies and waits. */
bool gw_report_spent_line(const struct gw_log_model *model, unsigned width);
/** The same for each GPU, in full, with copies and waits. */
void gw_report_spent_details(const struct gw_log_model *model, unsigned width);

/** Where the time of a GPU went; null where no log says so. */
json_t *gw_report_spent_json(const struct log_spent *spent);

#endif
