/* SPDX-License-Identifier: Apache-2.0 */
/* Code analysis in a report: for how many launches it gives no work, or a range, and why. */
#ifndef GW_REPORT_CODE_H
#define GW_REPORT_CODE_H

#include "cli/report/report.h"

#include <jansson.h>

/** Line of details: the reasons with the most launches; nothing where there is none. */
void gw_report_code_lines(const struct gw_report *report, unsigned width);
/** All reasons. */
json_t *gw_report_codes_json(const struct gw_log_model *model);
/** Of a row: launches whose work the code gave, and the reason with the most of the others. */
json_t *gw_report_code_json(const struct gw_log_model *model, const struct gw_row *row);

#endif
