/* SPDX-License-Identifier: Apache-2.0 */
/* GPU time without a verdict: how much, why, and what would help. */
#ifndef GW_REPORT_ADVICE_H
#define GW_REPORT_ADVICE_H

#include "cli/report/report.h"

#include <jansson.h>

/** A reason for an unknown bound (NULL: none is known), in few words. */
const char *gw_unjudged_words(const char *why);
/** One line of what would help, where a twentieth of GPU time or more has no verdict. */
void gw_report_advice_line(const struct gw_log_model *m, unsigned width);
/** For --verbose: the share of GPU time with a verdict, and each reason with its share. */
void gw_report_verdict_details(const struct gw_log_model *m, unsigned width);
/** Why GPU time of @p b has no verdict: objects of reason and seconds, most first. */
json_t *gw_report_unjudged_json(const struct gw_row_bound *b);

#endif
