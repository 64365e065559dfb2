/* SPDX-License-Identifier: Apache-2.0 */
/* The names of kernels in a model: each once, demangled log by log. */
#ifndef GW_LOG_NAMES_H
#define GW_LOG_NAMES_H

#include "cli/log/model.h"

/** Position of @p mangled in the model's names; a new one has no plain name yet. */
uint32_t log_name_of(struct gw_log_model *m, const char *mangled);

/** Plain names for those from position @p first on, in one go: see demangle.c. */
void log_names_demangle(struct gw_log_model *m, size_t first);

#endif
