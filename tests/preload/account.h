/* SPDX-License-Identifier: Apache-2.0 */
/* What a process ran, as the stand-in's count or as its log has it. */
#ifndef GW_TESTS_PRELOAD_ACCOUNT_H
#define GW_TESTS_PRELOAD_ACCOUNT_H

#include "tests/preload/harness.h"

/** Read the stand-in's count at @p path. */
bool account_of_truth(const char *path, struct account *out);

/** Read the log at @p path; false when it is none at all. */
bool account_of_log(const char *path, struct account *out);

/** How often @p wanted's kernel and configuration ran by @p a. */
uint64_t account_count(const struct account *a, const struct tally *wanted);

#endif
