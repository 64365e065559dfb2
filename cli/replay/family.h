/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels of a log are alike, so that none of them should teach another. */
#ifndef GW_REPLAY_FAMILY_H
#define GW_REPLAY_FAMILY_H

#include "cli/log/trace.h"

/**
 * The family of each kernel of @p trace, a number: by the regular expression @p pattern on
 * demangled names, or by the file @p path of lines "family kernel"; one of the two is NULL. Kernels
 * that neither knows are a family each. free() the list; NULL after a message.
 */
uint32_t *replay_families(const struct trace *trace, const char *pattern, const char *path);

#endif
