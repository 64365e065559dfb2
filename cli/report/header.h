/* SPDX-License-Identifier: Apache-2.0 */
/* The header of the text report: what ran, when, and what is to be said of it in a dozen lines. */
#ifndef GW_REPORT_HEADER_H
#define GW_REPORT_HEADER_H

#include "cli/report/report.h"

/** The title and at most twelve lines, each of one row where the width is 100 or more. */
void gw_report_header(struct gw_report *report, unsigned width);
/** gpuwatch's own bookkeeping, for --verbose: every loss, cost, cause and check. */
void gw_report_details(struct gw_report *report, unsigned width);

#endif
