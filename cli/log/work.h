/*
 * What the log knows of the work of each configuration in the end: counted, read off the code, and,
 * as the predictor does it, scaled from the kernel's configurations that were counted.
 */
#ifndef GW_LOG_WORK_H
#define GW_LOG_WORK_H

#include "cli/log/events.h"

/** State while a log is read. */
struct log_works;

struct log_works *log_works_new(void);
void log_works_free(struct log_works *w);

/** A WORK record of configuration @p config, a position in gw_log.configs. */
void log_works_add(struct log_works *w, uint32_t config, const struct gw_log_record *record);
/** Once after all records of @p log: scales. */
void log_works_end(struct log_works *w, const struct gw_log *log);
/** What is known of @p config, held by @p w; NULL where nothing is. After log_works_end. */
struct log_work *log_works_of(const struct log_works *w, uint32_t config);

#endif
