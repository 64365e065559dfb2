/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives of a job, by those who take part, and the clocks of its ranks. */
#ifndef GW_RANKS_CLOCK_H
#define GW_RANKS_CLOCK_H

#include "cli/ranks/job.h"

/** A rank's part in a collective: positions in the job and in the rank's meetings. */
struct ranks_seat {
	uint32_t rank, meeting;
};

/** A collective: seats[first] to seats[first + count - 1] take part, each rank once. */
struct ranks_gathering {
	uint64_t key;
	size_t first, count;
};

/** All collectives of a job. */
struct ranks_table {
	struct ranks_gathering *all;
	struct ranks_seat *seats;
	double **offset; /**< by rank and block of collectives: how far its clock is ahead, ns */
	size_t count, room;
	double *values; /**< room for one of each rank */
};

/** Make @p t of @p job, and set the job's `one_clock` and the ranks' `offset`. */
void ranks_gather(struct ranks_job *job, struct ranks_table *t);
void ranks_table_free(const struct ranks_job *job, struct ranks_table *t);

/** What a rank has of the collective. */
const struct ranks_meeting *ranks_meeting_of(const struct ranks_job *job,
                                             const struct ranks_seat *s);

/** How far the rank's clock is ahead then, ns. */
double ranks_offset_of(const struct ranks_table *t, const struct ranks_seat *s);

#endif
