/* The sections of a report: what report.c, text.c and data.c put together. Each is in the file of
 * its name. */
#ifndef GW_REPORT_SECTIONS_H
#define GW_REPORT_SECTIONS_H

#include "cli/report/report.h"

#include <jansson.h>

/* header.c. The header of the text report: what ran, when, and what is to be said of it in a dozen
 * lines. */

/** The title and at most twelve lines, each of one row where the width is 100 or more. */
void gw_report_header(struct gw_report *report, unsigned width);
/** gpuwatch's own bookkeeping, for --verbose: every loss, cost, cause and check. */
void gw_report_details(struct gw_report *report, unsigned width);

/* clock.c. A report over time: gaps between kernels, clocks, slow launches. */

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

/* spent.c. A report's account of where the time of GPUs went (cli/spent/spent.h). */

/** Header line: shares of the time of all GPUs, from first to last kernel or copy. False, and
 * nothing, where no log has copies and waits. */
bool gw_report_spent_line(const struct gw_log_model *model, unsigned width);
/** The same for each GPU, in full, with copies and waits. */
void gw_report_spent_details(const struct gw_log_model *model, unsigned width);

/** Where the time of a GPU went; null where no log says so. */
json_t *gw_report_spent_json(const struct log_spent *spent);

/* code.c. Code analysis in a report: for how many launches it gives no work, or a range, and why.
 */

/** Line of details: the reasons with the most launches; nothing where there is none. */
void gw_report_code_lines(const struct gw_report *report, unsigned width);
/** All reasons. */
json_t *gw_report_codes_json(const struct gw_log_model *model);
/** Of a row: launches whose work the code gave, and the reason with the most of the others. */
json_t *gw_report_code_json(const struct gw_log_model *model, const struct gw_row *row);

/* losses.c. What a report lacks: launches and records that were lost, what was degraded, damaged
 * logs. */

/** One row each for what was dropped (damage of the logs included) and degraded; none where there
 * is nothing. */
void gw_report_loss_lines(const struct gw_log_model *model, unsigned width);
/** The same in full, "nothing" included. */
void gw_report_loss_details(const struct gw_log_model *model, unsigned width);

/* advice.c. GPU time without a verdict: how much, why, and what would help. */

/** A reason for an unknown bound (NULL: none is known), in few words. */
const char *gw_unjudged_words(const char *why);
/** One line of what would help, where a twentieth of GPU time or more has no verdict. */
void gw_report_advice_line(const struct gw_log_model *m, unsigned width);
/** For --verbose: the share of GPU time with a verdict, and each reason with its share. */
void gw_report_verdict_details(const struct gw_log_model *m, unsigned width);
/** Why GPU time of @p b has no verdict: objects of reason and seconds, most first. */
json_t *gw_report_unjudged_json(const struct gw_row_bound *b);

/* bound.c. Bounds in a report: what to fix first, JSON. */

/** The sentences of what to fix first; nothing when there is none. */
void gw_report_fix_lines(const struct gw_report *report, unsigned width);

/** A row's verdict, work and peaks; null when none of it was measured. */
json_t *gw_report_bound_json(const struct gw_row *row);
/** What to fix first. */
json_t *gw_report_fixes_json(const struct gw_report *report);
/** Predictions by their basis: objects by earlier times, and by the source of the work. */
json_t *gw_report_basis_json(const struct gw_row *row);

/* graphs.c. Graphs that were timed whole, and what all launches were expected to take. */

/** One row: GPU time predicted of all launches against that of the timed ones; nothing where all or
 * none are timed. */
void gw_report_expected_line(const struct gw_log_model *model, unsigned width);
/** A table of the graphs; nothing where none was timed whole. */
void gw_report_graphs(const struct gw_report *report, unsigned width);

json_t *gw_report_expected_json(const struct gw_log_model *model);
json_t *gw_report_graphs_json(const struct gw_log_model *model);

/** GPU time of graphs that were timed whole by what bounds their kernels. */
json_t *gw_report_graphs_bound_json(const struct gw_log_model *model);

#endif
