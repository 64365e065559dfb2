/* The options of config.def as they stand in this process. */
#ifndef GW_OPTIONS_H
#define GW_OPTIONS_H

#include "predictor/log/record.h"

#include <stdbool.h>
#include <stdint.h>

enum gw_count_by { GW_COUNT_PM, GW_COUNT_OFF };
enum gw_stacks { GW_STACKS_AUTO, GW_STACKS_NO, GW_STACKS_YES };
enum gw_summary { GW_SUMMARY_AUTO, GW_SUMMARY_NO, GW_SUMMARY_YES };

struct gw_options {
	/** OFF also when GPUWATCH_DISABLE or AT_SECURE is set. The worker changes it (control.c).
	 */
	_Atomic enum gw_mode mode;
	enum gw_summary summary;
	enum gw_count_by counters; /**< how work is counted */
	bool counters_asked;       /**< GPUWATCH_COUNTERS was given */
	char out[4096];            /**< pattern of the log's name, absolute where that is known */
	char log_mode[16], log_group[64]; /**< who may read it */
	bool core_dumps;                  /**< of the GPU are asked for: `cupti` is "none" */
	char cupti[4096];   /**< path of libcupti; empty: look for it; "none": do not use it */
	char profile[4096]; /**< device profile, a file or a folder; empty: the usual places */
	bool log_launches;  /**< every launch by itself, also in mode watch */
	uint64_t log_max;   /**< bytes */
	bool command_name;  /**< of the command line the log has the first word alone */
	uint64_t segment;   /**< bytes of the live segment, 0: none */
	char run_mode[16], run_group[64]; /**< who may read these */
	char run_dir[4096];               /**< folder of live segments; empty: the usual one */
	uint64_t memory_max;              /**< bytes, of the process's memory */
	bool analyze_code;     /**< read the code of launched kernels (GPUWATCH_STATIC) */
	bool records;          /**< mode watch may attach libcupti in mid-run (GPUWATCH_WINDOWS) */
	enum gw_stacks stacks; /**< of first launches (GPUWATCH_STACKS) */
	bool ranges;           /**< record the program's NVTX ranges (GPUWATCH_NVTX) */
	bool nccl;             /**< record NCCL's collectives (GPUWATCH_NCCL) */
	uint32_t ring;         /**< slots of a thread's ring, a power of two */
	uint32_t event_rate;   /**< without activity, one launch in this many is timed */
	/** Percent of the process's time that windows and counters may cost. Changed as `mode`. */
	_Atomic uint32_t budget;
	uint32_t cpu_max;   /**< percent of a CPU that our threads may take in mode watch, 0: any */
	uint32_t exit_wait; /**< longest time for which exit() is held for answers, ms */
	char rejected[240]; /**< what was not understood, for one warning; empty when all was */
};
extern struct gw_options gw_options;

/** Read the environment once; a value that is not understood keeps its default. */
void gw_options_read(void);

/** gw_options.out names a folder: it becomes the default name in it. By whoever opens the log: a
 * file system that does not answer holds up no thread of the program. */
void gw_options_out_is_folder(void);

/**
 * Copy the environment, on the program's thread that starts us: it may change it at any time, and
 * is then the only one that may read it.
 */
void gw_environment_copy(void);

/** secure_getenv(), whose place this takes where the library is linked: of the copy, if there is
 * one. */
char *gw_environment(const char *name);

/** Whether some kernels are timed, in windows, and gpuwatch's own CPU time has a limit. */
static inline bool gw_options_watch(void)
{
	return gw_options.mode == GW_MODE_WATCH;
}

/** Whether launches go into sums from the start, and the log is a ring of files. */
static inline bool gw_options_sum(void)
{
	return gw_options_watch() && !gw_options.log_launches;
}

/** Whether kernels are timed in this process's mode: always, or in windows. */
static inline bool gw_options_measure(void)
{
	return gw_options.mode == GW_MODE_AUDIT ||
	       (gw_options.mode == GW_MODE_WATCH && gw_options.budget);
}

/** Whether counters are sampled in this process: where kernels are timed and the budget is not 0.
 */
static inline bool gw_options_sample(void)
{
	return gw_options_measure() && gw_options.counters == GW_COUNT_PM && gw_options.budget;
}

#endif
