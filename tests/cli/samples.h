/* The logs that tests and the fuzzing corpus share. */
#ifndef GW_SAMPLES_H
#define GW_SAMPLES_H

#include "tests/cli/log_builder.h"

/** Two kernels, two configurations of the first, five blocks, 60 launches, closed in good order. */
void sample_plain(struct lb *b, uint32_t pid, uint32_t flags);
/** The plain one, an hour later. */
void sample_later(struct lb *b, uint32_t pid);
/** The same with a prediction made of its own measurement and one made of a later end. */
void sample_violations(struct lb *b);
/** The first launches of the plain one, which have no predictions. */
void sample_unpredicted(struct lb *b);
void sample_at_least(struct lb *b);
void sample_modules(struct lb *b);
/** The plain one with samples of clocks and two episodes of slow launches, one reported twice. */
void sample_clocked(struct lb *b);
/** The plain one, shorter: code reported all, in part, and nothing. */
void sample_analysed(struct lb *b);
/** The plain one, in which no code was read. */
void sample_unanalysed(struct lb *b);
/** A log that went over to aggregates. */
void sample_aggregates(struct lb *b);
void sample_whole_graphs(struct lb *b);
/** Names that are formulas, control sequences, turned writing and no UTF-8. */
void sample_hostile(struct lb *b);
/** Names, a GPU and a reason that are markup and scripts, or end them. */
void sample_markup(struct lb *b);
/** 3,000 kernels with names of 1,500 bytes, a few launches each over 15 minutes. */
void sample_crowd(struct lb *b);
/** What of the sample with work is left out. */
enum sample_without { SAMPLE_WHOLE, SAMPLE_NO_WORK, SAMPLE_NO_PROFILE, SAMPLE_HALF_PROFILE };
/**
 * Kernels whose work is known, on the GPU of tests/predict/test-gpu.json: one near the peak of
 * device memory, one with scattered loads, one of few blocks, a tiny one, and one of which nothing
 * is known; predictions at every tier.
 */
void sample_worked(struct lb *b, enum sample_without without);
/** The sample called @p name into @p b; false when there is none. */
bool sample_named(struct lb *b, const char *name);

#endif
