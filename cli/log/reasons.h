/* Why something is missing in a log: what did not work, and code that was not analysed. */
#ifndef GW_LOG_REASONS_H
#define GW_LOG_REASONS_H

#include "cli/log/model.h"

/** Further reasons are counted as the last one: a log may contain any number of them. */
enum { LOG_REASONS_MAX = 256 };

/** A DEGRADED record; @p seen [LOG_REASONS_MAX]: which of the model's reasons this log has. */
void log_degraded_add(struct gw_log_model *model, const struct gw_record_degraded *record,
		      const char *text, bool *seen);

/** What a log says of the code of one configuration; all zero: nothing yet. */
struct log_code {
	uint64_t launches;
	uint32_t reason; /**< position in gw_log_model.unexplained, where `said` */
	bool said;       /**< the log has an ANALYSIS record of it; the last one is valid */
	bool has_work;   /**< it has static work */
};

/** An ANALYSIS record of the configuration of @p code; NULL: of all. */
void log_analysis_add(struct gw_log_model *model, struct log_code *code,
		      const struct gw_record_analysis *record, const char *text);

/** A WORK record of it. */
void log_analysis_work(struct log_code *code, const struct gw_log_record *record);

/**
 * The log has been read: count the launches of a configuration called @p name in row @p row.
 * @p ended: the log was closed in good order.
 */
void log_analysis_end(struct gw_log_model *model, struct gw_row *row, uint32_t name,
		      const struct log_code *code, bool ended);

void log_reasons_free(struct gw_log_model *model);

/** Name and meaning of the `end` of an ANALYSIS record; "unknown" and "" where it is invalid. */
const char *gw_analysis_end_name(uint32_t end);
const char *gw_analysis_end_meaning(uint32_t end);

#endif
