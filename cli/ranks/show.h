/* What `gpuwatch ranks` prints. */
#ifndef GW_RANKS_SHOW_H
#define GW_RANKS_SHOW_H

#include "cli/ranks/build.h"

/** A judged job and the logs that it is of, in the order of its ranks. */
struct ranks_shown {
	const struct ranks_job *job;
	const struct ranks_log *logs;
	size_t log_count; /**< those that were left out come last */
	const struct ranks_steps *steps;
};

/** Who is late, and a row for each rank; of many ranks those that are late or wait most, unless @p
 * all. */
void ranks_show(const struct ranks_shown *shown, bool all);
/** A row for each step of the rank at position @p rank of the job. */
void ranks_show_steps(const struct ranks_shown *shown, size_t rank);
/** All of it as JSON. */
void ranks_show_json(const struct ranks_shown *shown);

/** What a rank is called: its number as the launcher gave it, or its log. */
const char *ranks_label(const struct ranks_shown *shown, size_t rank);

#endif
