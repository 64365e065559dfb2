/*
 * The ranks of a job: where each one's time goes step by step, who comes late to collectives, and
 * why. Times are ns from one base; each rank's are of its own clock.
 */
#ifndef GW_RANKS_JOB_H
#define GW_RANKS_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ranks_part {
#define PART(NAME, key, name, meaning) RANKS_##NAME,
#include "cli/ranks/part.def"
#undef PART
	RANKS_PARTS
};

enum ranks_cause {
#define CAUSE(NAME, key, name, meaning) RANKS_CAUSE_##NAME,
#include "cli/ranks/cause.def"
#undef CAUSE
	RANKS_CAUSES
};

/** A collective as one rank has it. */
struct ranks_meeting {
	uint64_t key;      /**< the same in all ranks that take part */
	double start, end; /**< ns; of its kernel, or of what stands for it */
	double exposed;    /**< share of it in which nothing else ran, 0 to 1 */
	uint32_t step;     /**< number in the rank's steps; RANKS_NO_STEP: in none */
	bool together;     /**< it ends in all ranks at once, as an AllReduce does */
	/* ranks_judge(): */
	double until;          /**< when the last rank came, by this rank's clock */
	uint32_t last, others; /**< that rank, position in the job; how many others take part */
};

enum { RANKS_NO_STEP = UINT32_MAX };

/** A step of one rank, ns. WAITING is 0 until ranks_judge(), and in COMMUNICATION until then. */
struct ranks_step {
	float part[RANKS_PARTS];
	float expected; /**< of COMPUTE; NaN: not known */
	/* ranks_judge(): */
	float late;   /**< how much longer than the median rank it needed for all but communication
			   and waiting */
	float caused; /**< how long others waited for it, each on average */
	float least;  /**< wait for the rank that it waited for most … */
	uint32_t waited_for; /**< … which is that: position in the job; RANKS_NO_STEP: for none */
};

/** A time in which a rank came late, step after step. */
struct ranks_episode {
	uint32_t rank;        /**< position in the job */
	uint32_t first, last; /**< steps */
	uint32_t found;       /**< the step after which it is certain */
	enum ranks_cause cause;
	double late;                 /**< ns a step */
	double excess[RANKS_CAUSES]; /**< ns a step more than the median rank, by cause */
};

/**
 * A time in which collectives took longer than in the steps before, though all of their ranks had
 * come: the network is slow, or what they carry has become more.
 */
struct ranks_network {
	uint32_t first, last; /**< steps */
	uint32_t found;       /**< the step after which it is certain */
	uint32_t rank;        /**< position of the first rank that has it */
	uint32_t ranks;       /**< how many have it */
	double more;          /**< ns a step, of the median one of these */
};

/** A rank. What it points to is the caller's. */
struct ranks_rank {
	struct ranks_meeting *meetings; /**< by start */
	struct ranks_step *steps;
	size_t meeting_count;
	uint32_t clock; /**< number of its clock: ranks of one machine have the same */
	double offset;  /**< ranks_judge(): its clock is ahead of the median rank's, ns; median */
};

/** A job; zero-initialised is none. */
struct ranks_job {
	struct ranks_rank *ranks;
	size_t rank_count, step_count; /**< each rank has as many steps */
	/* ranks_judge(): */
	bool one_clock;                 /**< all ranks have the same: offsets are 0 */
	struct ranks_episode *episodes; /**< in order of `found`; ranks_job_free() frees them */
	size_t episode_count, episode_room;
	struct ranks_network *networks; /**< in order of `found`; ranks_job_free() frees them */
	size_t network_count;
	size_t joined; /**< collectives that two ranks or more have */
	double length; /**< of a step, median, ns */
	double noise;  /**< scatter of `late` from step to step, ns */
};

/** Fill in what judging gives. The job has two ranks and a step at least. */
void ranks_judge(struct ranks_job *job);
/** Frees what ranks_judge() made. */
void ranks_job_free(struct ranks_job *job);

/** Names: of a part and cause in tables, in JSON, and what they mean. */
const char *ranks_part_name(enum ranks_part part);
const char *ranks_part_key(enum ranks_part part);
const char *ranks_cause_name(enum ranks_cause cause);
const char *ranks_cause_key(enum ranks_cause cause);

/**
 * The standard deviation of what lies so far from its middle: by the median of a normal
 * distribution, or by seven eighths where its tail is heavier. The values change places.
 */
double ranks_scatter(double *distances, size_t count);

/** The lower median of @p count values, at least one, which change places. */
double ranks_median(double *values, size_t count);

/* Within ranks_judge(): collectives that take longer than before. */

/**
 * Times in which exposed communication took ranks of @p job longer than in steps before, into @p
 * out, which the caller frees; how many. Waiting must have been taken out, and the length of a step
 * be known.
 */
size_t ranks_watch_network(const struct ranks_job *job, struct ranks_network **out);

/* The collectives of a job, by those who take part, and the clocks of its ranks. */

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
