/* Runs chosen workloads at chosen sizes on the current GPU and reports the results. */
#ifndef GW_RUNNER_H
#define GW_RUNNER_H

#include "kernels/workloads/workload.h"

/** Exit status of gpuwatch-workloads. */
enum wl_exit {
	WL_OK = 0,
	WL_WRONG = 1,  /**< a result was wrong */
	WL_USAGE = 2,  /**< bad options; one message on stderr */
	WL_CUDA = 3,   /**< CUDA refused something; one message on stderr */
	WL_NO_GPU = 77 /**< there is no GPU; how CTest knows a skipped test */
};

/** How to run. */
struct wl_job {
	bool check;      /**< one launch on poisoned outputs first, compared with the reference */
	bool cold;       /**< the L2 is overwritten before each measured launch */
	bool interleave; /**< all cases are prepared first, then run in turn, round by round */
	bool queued;     /**< a round's launches follow each other unwatched: no time is taken */
	uint64_t repeat; /**< measured rounds, at most */
	double seconds;  /**< after which no further round begins; 0: however long it takes */
	size_t memory;   /**< bytes that all live cases together may hold on the device */
	uint32_t seed;   /**< of the inputs */
};

/** A workload's case with what was measured. */
struct wl_result {
	struct wl_case c;
	struct wl_check check;
	uint64_t rounds;              /**< measured ones */
	double *seconds[WL_LAUNCHES]; /**< by events, `rounds` of each launch, in ascending order */
};

/** The workload and its size that a case shall have. */
struct wl_choice {
	unsigned workload, size;
};

/** Called once for each case when it has run. */
typedef void wl_report_fn(const struct wl_job *job, const struct wl_result *result);

/** Whether there is a GPU; if not, @p reason gives the cause. */
bool wl_gpu(const char **reason);

/**
 * Run @p count chosen cases. Measured rounds are between cudaProfilerStart and cudaProfilerStop;
 * fills, checks and one warm-up round are outside. Returns how many cases gave a wrong result.
 */
unsigned wl_run(const struct wl_job *job, const struct wl_choice *choice, unsigned count,
		wl_report_fn *report);

/** Median of the times of launch @p i, and the median of their distances from it. */
double wl_median(const struct wl_result *result, unsigned i);
double wl_spread(const struct wl_result *result, unsigned i);

#endif
