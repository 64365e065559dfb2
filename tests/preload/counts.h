/* Runs of the client `counted`, and what its log says was counted, held against the stand-in. */
#ifndef GW_TESTS_PRELOAD_COUNTS_H
#define GW_TESTS_PRELOAD_COUNTS_H

#include "tests/preload/harness.h"

#include "predictor/core/types.h"

/**
 * The client for so many @p ms, @p how, counters sampled nearly all the time, and up to three more
 * settings; what its log says of work is kept for the functions below.
 */
struct outcome *counted3(const char *ms, const char *how, const char *one, const char *two,
			 const char *three);
struct outcome *counted(const char *ms, const char *how, const char *one, const char *two);

/**
 * How many counted values there are, and in @p off how many of them are off by more than
 * @p tolerance and three times the error that they state.
 */
unsigned values(double tolerance, unsigned *off);

/** Whether this field (any field) is known of a kernel of so many blocks. */
bool knows(unsigned blocks, unsigned field);
bool knows_any(unsigned blocks);

#endif
