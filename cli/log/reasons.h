/* SPDX-License-Identifier: Apache-2.0 */
/* Why something is missing, as a log says: what could not be done, and code that was not told. */
#ifndef GW_LOG_REASONS_H
#define GW_LOG_REASONS_H

#include "cli/log/model.h"

/** More reasons than these are not told apart: a log may make them up without end. */
enum { LOG_REASONS_MAX = 256 };

/** A DEGRADED record; @p told [LOG_REASONS_MAX]: which of the model's reasons this log has said. */
void log_degraded_add(struct gw_log_model *model, const struct gw_record_degraded *record,
                      const char *text, bool *told);

/** What a log says of the code of one configuration; all zero: nothing yet. */
struct log_code {
	uint64_t launches;
	uint32_t reason; /**< position in gw_log_model.untold, where `said` */
	bool said;       /**< there is a STUDY record of it, the last of which counts */
	bool told;       /**< it has static work */
};

/** A STUDY record of the configuration that @p code is of; NULL: of all. */
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

/** Of what STUDY says of @p end, its name and meaning. */
const char *gw_analysis_end_name(enum gw_analysis_end end);
const char *gw_analysis_end_meaning(enum gw_analysis_end end);

#endif
