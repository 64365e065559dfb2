/* SPDX-License-Identifier: Apache-2.0 */
/* Within ranks_judge(): collectives that take longer than before. */
#ifndef GW_RANKS_NETWORK_H
#define GW_RANKS_NETWORK_H

#include "cli/ranks/job.h"

/**
 * Times in which exposed communication took ranks of @p job longer than in steps before, into @p
 * out, which the caller frees; how many. Waiting must have been taken out, and the length of a step
 * be known.
 */
size_t ranks_watch_network(const struct ranks_job *job, struct ranks_network **out);

#endif
