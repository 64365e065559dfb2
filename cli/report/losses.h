/* SPDX-License-Identifier: Apache-2.0 */
/* What a report lacks: launches and records that were lost, what was degraded, damaged logs. */
#ifndef GW_REPORT_LOSSES_H
#define GW_REPORT_LOSSES_H

#include "cli/report/report.h"

/** One row each for what was dropped (damage of the logs included) and degraded; none where there
 * is nothing. */
void gw_report_loss_lines(const struct gw_log_model *model, unsigned width);
/** The same in full, "nothing" included. */
void gw_report_loss_details(const struct gw_log_model *model, unsigned width);

#endif
