/*
 * The rows of the tables of hours (work.def), and how they become a Parquet file.
 */
#ifndef GW_AGENT_HOURS_H
#define GW_AGENT_HOURS_H

#include "cli/agent/node.h"

#include <stdio.h>

enum { HOURS_NAME = 80 };

/** A row of `work`. */
struct hours_work {
	uint64_t time_s, seconds; /**< begin of the hour since 1970; how much of it was seen */
	char uuid[48], model[64], program[OWNER_TEXT], build[OWNER_TEXT], kernel[AGENT_NAME];
	uint64_t shape; /**< 0: several; at most INT64_MAX */
	unsigned bound; /**< enum gw_bound */
	uint64_t launches, timed;
	double gpu_s, timed_s, compared_s, expected_s;
	double sm_hertz; /**< 0: unknown */
};

/** A row of `state`. */
struct hours_state {
	uint64_t time_s, seconds, from_s; /**< from_s: since when the hour was seen; 0: unknown */
	char uuid[48], model[64], metric[HOURS_NAME], label[HOURS_NAME], which[HOURS_NAME];
	bool gauge;
	double value, most;
};

/** Write rows of the machine @p host to @p out as a file of the table. */
void hours_put_work(FILE *out, const char *host, const struct hours_work *rows, size_t count);
void hours_put_state(FILE *out, const char *host, const struct hours_state *rows, size_t count);

#endif
