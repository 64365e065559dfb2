/* SPDX-License-Identifier: Apache-2.0 */
/* The logs that tests and the fuzzing corpus share. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include "tests/cli/log_builder.h"

/** Two kernels, two configurations of the first, five blocks, 60 launches, closed in good order. */
void sample_plain(struct lb *b, uint32_t pid, uint32_t flags);
/** The same with a prediction that knew its own measurement and one that knew a later end. */
void sample_violations(struct lb *b);
/** A log that went over to aggregates. */
void sample_aggregates(struct lb *b);
/** The sample called @p name into @p b; false when there is none. */
bool sample_named(struct lb *b, const char *name);

#endif
