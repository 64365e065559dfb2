/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of kernels whose code does not tell all: why, and of how many launches. */
#ifndef GW_REPORT_CODE_H
#define GW_REPORT_CODE_H

#include "cli/log/model.h"

#include <jansson.h>

/** Header line: the reasons with the most launches; nothing where all was told. */
void gw_report_code_lines(const struct gw_log_model *model, unsigned width);
/** All reasons. */
json_t *gw_report_codes_json(const struct gw_log_model *model);
/** Of a row: launches that code tells of, and the reason why not of all that has the most. */
json_t *gw_report_code_json(const struct gw_log_model *model, const struct gw_row *row);

#endif
