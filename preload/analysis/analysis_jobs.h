/*
 * Analyses under way: jobs that the worker hands to threads of ours and takes back. They read
 * memory and files, and call neither the driver nor libcupti. The worker alone looks at results, so
 * whatever enters the predictor and the log does so in its order.
 *
 * After two seconds of CPU, so that busy machines get answers, too, threads go on at the lowest
 * priority there is: where a processor would be idle. So no lock is shared with the worker: a
 * thread of lowest priority that held one could keep it waiting for as long as the machine is busy.
 */
#ifndef GW_ANALYSIS_JOBS_H
#define GW_ANALYSIS_JOBS_H

#include "preload/analysis/analysis_code.h"

#include <stdatomic.h>

enum {
	GW_ANALYSIS_THREADS = 4, /**< most threads */
	GW_ANALYSIS_JOBS = 16, /**< handed out at a time: what a round of the worker takes to run */
	GW_ANALYSIS_FIRST_MS = 2000, /**< CPU time of all before threads lower their priority */
	GW_ANALYSIS_LAUNCH_MS = 300, /**< longest analysis of one launch, CPU time */
};

/** Life of a job. */
enum gw_analysis_job_state {
	GW_ANALYSIS_JOB_FREE,
	GW_ANALYSIS_JOB_PUT,   /**< waits for a thread */
	GW_ANALYSIS_JOB_TAKEN, /**< a thread is at it */
	GW_ANALYSIS_JOB_DONE,  /**< for the worker, which frees it */
};

/** One analysis. All but the state is the worker's, between PUT and DONE the thread's. */
struct gw_analysis_job {
	_Atomic int state; /**< enum gw_analysis_job_state */
	_Atomic uint64_t
		number;  /**< those of least turn first, then in the order that they were put
			  */
	uint32_t config; /**< id of the configuration */
	bool untimed;    /**< it had no time when it was queued: records wait for it */
	bool first;      /**< it is not a longer analysis after a brief one */
	uint32_t turn;   /**< how many of its kernel had theirs; more: others go first */
	struct gw_analysis_launch launch;
	/* Results: see gw_analysis_code(). */
	struct gw_work work;
	enum gw_analysis_end end;
	const char *why;
	bool limited;
	struct gw_analysis_identity code;
	bool stopped;       /**< given up because the program ends */
	uint64_t begun_cpu; /**< CPU time of its thread when it began, ns */
	uint64_t cpu_ns;    /**< CPU time that it took, and … */
	uint64_t evaluated; /**< … the part of it behind the decoding of the kernel */
};

/**
 * How many threads there are to be: half of the processors that affinity and the control group's
 * quota allow, at least one and at most GW_ANALYSIS_THREADS. None with a quota below two
 * processors: the program would wait for what they use up. Not in a sandbox.
 */
unsigned gw_analysis_threads_usual(void);

/** Start without jobs; up to @p threads threads are made as jobs come, 0: none ever. In a forked
 * child the parent's are not there. Worker, or before it. */
void gw_analysis_jobs_start(unsigned threads);

/** Whether jobs can be put: there are threads, or there will be. Worker only. */
bool gw_analysis_jobs_usable(void);

/** A free job, to be filled in and put; NULL: all are in use. Worker only. */
struct gw_analysis_job *gw_analysis_job_new(void);

/** Hand @p job, with its configuration, launch, `untimed` and `turn`, to the threads; its `go_on`
 * is theirs. False: there is no thread, and none can be made. Worker only. */
bool gw_analysis_job_put(struct gw_analysis_job *job);

/** Take back the last job that no thread has begun and that is @p needless; NULL: there is none. It
 * is free. Worker only. */
struct gw_analysis_job *
gw_analysis_job_withdraw(bool (*needless)(const struct gw_analysis_job *job));

/** The finished job whose turn was first, NULL: none is finished. The caller sets it free. Worker
 * only. */
struct gw_analysis_job *gw_analysis_job_done(void);

/** How many jobs were put and are not free yet. Worker only. */
unsigned gw_analysis_jobs_out(void);

/** Do @p job on the calling thread. */
void gw_analysis_job_do(struct gw_analysis_job *job);

/** No more jobs: what is under way is given up, and the threads end. Does not wait for them. */
void gw_analysis_jobs_stop(void);

#endif
