/* Which logs a report is of: each process once, and runs at different times kept apart. */
#ifndef GW_REPORT_RUNS_H
#define GW_REPORT_RUNS_H

#include "cli/log/find.h"
#include "cli/report/report.h"

/** The logs of a report. */
struct gw_report_logs {
	struct log_identity *log;
	bool *in_folder; /**< by log: found in a folder that was named, not named itself */
	size_t count, room, flag_room;
};

/**
 * Add the log at @p path, or the logs of the folder at @p path. One that is there already is left
 * out, with a warning. Returns 0, or the exit status after a message.
 */
int gw_report_logs_add(struct gw_report_logs *logs, const char *path);
/** Add the logs of the last run in the current folder, or where GPUWATCH_OUT puts them, and say
 * which. Returns 0, or the exit status after a message. */
int gw_report_logs_find(struct gw_report_logs *logs);
/** Leave the last run alone in @p logs. */
void gw_report_logs_last(struct gw_report_logs *logs);
void gw_report_logs_free(struct gw_report_logs *logs);

/** A span of time, ns since 1970; 0: unknown. */
struct gw_span {
	uint64_t from, to;
};

/** How many runs the logs that were read are of, and the span of all of them. */
size_t gw_report_runs(const struct gw_log_model *model, struct gw_span *all);

#endif
