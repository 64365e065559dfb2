/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the log knows of the work of each configuration in the end: counted, told by the code, and,
 * as the predictor does it, scaled from the kernel's configurations that were counted.
 */
#ifndef GW_LOG_WORK_H
#define GW_LOG_WORK_H

#include "cli/log/reader.h"

/** State while a log is read. */
struct log_works;

struct log_works *log_works_new(void);
void log_works_free(struct log_works *w);

/** Configurations of the log from 0, in order: each of kernel @p kernel, from 0. */
void log_works_config(struct log_works *w, uint32_t kernel, const struct gw_config *config);
/** A WORK record of configuration @p config. */
void log_works_add(struct log_works *w, uint32_t config, const struct gw_log_record *record);
/** Once after all records: scales. @p kernels by number. */
void log_works_end(struct log_works *w, const struct gw_kernel *kernels, size_t kernel_count);
/** What is known of @p config; false, and nothing known, where nothing is. */
bool log_works_of(const struct log_works *w, uint32_t config, struct gw_work *out);

#endif
