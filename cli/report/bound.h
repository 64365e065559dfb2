/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds in a report: what to fix first, JSON. */
#ifndef GW_REPORT_BOUND_H
#define GW_REPORT_BOUND_H

#include "cli/report/report.h"

#include <jansson.h>

/** The sentences of what to fix first; nothing when there is none. */
void gw_report_fix_lines(const struct gw_report *report, unsigned width);

/** A row's verdict, work and peaks; null when none of it was measured. */
json_t *gw_report_bound_json(const struct gw_row *row);
/** What to fix first. */
json_t *gw_report_fixes_json(const struct gw_report *report);
/** Predictions by their basis: objects by earlier times, and by the source of the work. */
json_t *gw_report_basis_json(const struct gw_row *row);

#endif
