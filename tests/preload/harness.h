/*
 * Runs real processes on the stand-in driver, without and under libgpuwatch.so, and reads what
 * they left: output, status, the stand-in's own count of what ran, and the logs.
 */
#ifndef GW_TESTS_PRELOAD_HARNESS_H
#define GW_TESTS_PRELOAD_HARNESS_H

#include "predictor/log/record.h"
#include "predictor/core/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* cmocka wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { ARGS_MAX = 10, ENV_MAX = 32, PROCESSES_MAX = 64, KERNELS_MAX = 256, TIMEOUT_S = 120 };

/** A kernel at one configuration, and how often it ran. */
struct tally {
	char name[64];
	uint32_t grid[3], block[3], shared;
	bool graph;
	uint64_t count;
	uint64_t started; /**< logs: of them with a time of start, so by activity */
	uint64_t min_ns;  /**< logs: shortest measured time, 0 when none was measured */
};

/** What one process ran, by the stand-in's count or by a log. */
struct account {
	pid_t pid;
	uint64_t total; /**< kernels that ran */
	struct tally kernel[KERNELS_MAX];
	unsigned kernels;
	/* Logs only */
	char path[512];
	bool ended;           /**< closed in good order */
	bool damaged;         /**< something in it could not be read */
	uint64_t measured;    /**< launches with a time */
	uint64_t cold_static; /**< launches of kernels never timed, predicted from their code */
	uint64_t warm_static; /**< the same of kernels that were timed at other shapes */
	uint64_t by_events, invalid, aggregated, no_call;
	uint64_t of_thread[8]; /**< launches by the log's number of the thread */
	uint32_t degraded;     /**< bit per enum gw_degraded */
	uint32_t flags;        /**< of the header */
	unsigned works;        /**< configurations with WORK records, the first 16 */
	struct known_work {
		uint32_t config, blocks;
		bool counted[GW_WORK_FIELDS];
		double value[GW_WORK_FIELDS];
	} work[16];
	uint64_t timed,
		prompt; /**< stream launches with times of call and start; begun within 50 us */
	unsigned clocks, slows;       /**< CLOCK and SLOW records */
	struct gw_record_clock clock; /**< the last of them */
	struct gw_record_slow slow;
	uint64_t tiers[4];    /**< measured launches by enum gw_tier */
	uint64_t late;        /**< predicted after their call */
	uint64_t plain;       /**< of configurations without a digest */
	uint64_t guessed;     /**< of configurations with a provisional one */
	uint64_t off;         /**< of those predicted from own times, by more than a tenth */
	unsigned digests;     /**< CONFIG records with a digest by the code */
	unsigned provisional; /**< the same with a provisional one */
	unsigned kernel_records, config_records;
	unsigned mixed; /**< launches 1.5 times as long or short as the first of their configuration
			 */
	unsigned analyses[GW_ANALYSIS_ENDS]; /**< ANALYSIS records by their end */
	char analysis_text[128];             /**< of the last of them */
	uint32_t analysis_config;            /**< the same */
	uint64_t early;               /**< of them predicted from more than was published by then */
	uint64_t published, disorder; /**< PUBLISHED records; those that know no more than before */
	uint64_t known;               /**< of the last of them */
	uint64_t profile, profile_size; /**< bytes of PROFILE pieces; as they announce */
	uint32_t profiled;              /**< bit per device with a whole profile */
	uint64_t on_device[4];          /**< launches by the device of their configuration */
	uint64_t unlike;                /**< of them in a stream of another device */
	uint64_t steady_far;            /**< predicted as steady, and more than a half off */
	uint64_t graph_launches, graph_timed, graph_ns; /**< GRAPH records, summed up */
	struct gw_record_graph graph;                   /**< the last of a graph by itself */
	uint64_t counter[GW_COUNTERS];
};

/** What a run is made of. */
struct run {
	const char *program;                        /**< a client, or an absolute path */
	const char *arg[ARGS_MAX];                  /**< its arguments */
	const char *env[ENV_MAX];                   /**< NAME=VALUE */
	const char *preload_before, *preload_after; /**< other libraries to preload */
	const char *shell;      /**< run by /bin/sh instead, with "$@" the program and arguments */
	unsigned warnings;      /**< lines of ours allowed, one a process; 0 stands for 1 */
	bool inject;            /**< by CUDA_INJECTION64_PATH, not by LD_PRELOAD */
	void (*in_child)(void); /**< called before exec */
	void (*meanwhile)(pid_t pid); /**< called while it runs; not with run_both */
};

/** What came of it. */
struct outcome {
	char dir[64]; /**< its working directory; outputs and logs are in it */
	pid_t pid;    /**< of the program itself */
	int status;   /**< as waitpid gives it */
	bool timed_out;
	char *out, *err; /**< NUL-terminated */
	struct account truth[PROCESSES_MAX], log[PROCESSES_MAX];
	unsigned truths, logs;
};

/** Run without gpuwatch. Free the outcome with outcome_free. */
struct outcome *run_bare(const struct run *r);

/** Run under libgpuwatch.so. */
struct outcome *run_watched(const struct run *r);

/**
 * Run both ways, at the same time, and check that the program behaved alike: status, output, and
 * messages but for at most one line of ours. Returns the watched outcome.
 */
struct outcome *run_both(const struct run *r);

/** Delete its directory too. */
void outcome_free(struct outcome *o);

/** Every process that ran kernels has a log, and each log has just what ran. */
void assert_logs_are_the_truth(const struct outcome *o);

/** The same, for one log of a process and its true count, where graphs are distinguished. */
void assert_same_account(const struct account *truth, const struct account *log);

/**
 * Run a scenario of a client on two GPUs in each mode, preloaded and injected: so many kernels ran
 * on the first, so many on the second, and the only log has them all.
 */
void assert_on_gpus(const char *program, const char *scenario, unsigned first, unsigned second);

/** The predictor run over the only log (`gpuwatch replay --check`) gives the same bits. */
void assert_replays(const struct outcome *o);

/** The only log of an outcome. */
const struct account *only_log(const struct outcome *o);

/** What is degraded (bits), counters apart: a program that ends within seconds has none. */
static inline uint32_t degraded_otherwise(const struct account *log)
{
	return log->degraded & ~(UINT32_C(1) << GW_DEGRADED_COUNTERS);
}

/** How many lines of @p text are ours. */
unsigned warnings(const char *text);

/** Path of a client or helper library built beside the tests. */
const char *built(const char *name);

/** Under ThreadSanitizer, whose runtime can't live through it or takes too long: not run. */
#ifdef __SANITIZE_THREAD__
#define NOT_UNDER_TSAN() skip()
#else
#define NOT_UNDER_TSAN() (void)0
#endif

/** Shorthand: `RUN("processes", "fork_after_exit")`. */
#define RUN(...)                        ((struct run){PROGRAM_AND_ARGS(__VA_ARGS__, NULL)})
#define PROGRAM_AND_ARGS(program_, ...) .program = (program_), .arg = {__VA_ARGS__}

/** Whether this process may mount file systems in a name space of its own. */
bool may_mount(void);

/** Read the stand-in's count at @p path. */
bool account_of_truth(const char *path, struct account *out);

/** Read the log at @p path; false when it is none at all. */
bool account_of_log(const char *path, struct account *out);

/** How often @p wanted's kernel and configuration ran by @p a. */
uint64_t account_count(const struct account *a, const struct tally *wanted);

#endif
