/*
 * gpuwatch diff: two runs, as rows of kernels at launch shapes. A row is in both runs when kernel,
 * shape and argument hash agree. Where the argument hashes of a kernel's shape do not meet at all,
 * as after a new build, its rows are compared as one.
 */
#ifndef GW_DIFF_RUNS_H
#define GW_DIFF_RUNS_H

#include "cli/diff/shift.h"
#include "cli/log/clock.h"
#include "predictor/core/types.h"

#include <stdint.h>

enum { BASE, OTHER, RUNS };

/** What is said of a row. */
enum diff_verdict {
	DIFF_SAME,    /**< no change found */
	DIFF_SLOWER,  /**< significant, and the estimate is above 1 */
	DIFF_FASTER,  /**< significant, and the estimate is below 1 */
	DIFF_FEW,     /**< too few times for an interval */
	DIFF_NEW,     /**< only in the other run */
	DIFF_GONE,    /**< only in the base */
	DIFF_RENAMED, /**< gone and new under another name with the same resources and shape */
	DIFF_VERDICTS
};

enum { DIFF_SPAN_MS = 10000 }; /**< of a log that holds sums in place of launches */

/** Launches of a row in one run. */
struct diff_side {
	float *times; /**< measured alone, ns, in the order of the log */
	size_t count; /**< of them */
	size_t room;
	/** Means of spans, ns: where a log of either run holds sums they are compared. */
	struct diff_spans {
		float *means;
		size_t count, room;
		uint64_t span;  /**< under way: number of DIFF_SPAN_MS since 1970 … */
		double sum;     /**< … its times, ns … */
		uint64_t times; /**< … and how many */
	} spans;
	uint64_t launches; /**< all that ran, measured or not */
	uint64_t measured; /**< of them with a valid time, those beside other kernels included */
	double total;      /**< sum of the measured times, ns */
	/** What was last predicted without a time of the kernel, ns, and its 90% interval;
	 * predicted 0: nothing was. */
	double predicted, low, high;
};

struct diff_row {
	char *mangled, *plain, *name; /**< name: short; renamed: of the other run's kernel */
	struct gw_kernel kernel;      /**< resources; its name is `mangled` */
	struct gw_config config;      /**< digest 0 where rows were put together */
	struct diff_side side[RUNS];
	struct shift shift;  /**< of the times */
	struct shift cycles; /**< of the cycles of the SM clock; NaN: a clock is not known */
	enum diff_verdict verdict;
	bool regression;
	bool against_prediction; /**< shift is of the median time to the prediction, its interval
				    90% */
	bool siblings;       /**< other rows have the same kernel and shape, and other arguments */
	bool elsewhere;      /**< in one run alone; the other has its kernel and shape */
	bool minor;          /**< elsewhere, with a share of GPU time below that of the rule */
	char *was;           /**< renamed: the name in the base; else NULL */
	uint64_t code[RUNS]; /**< digest of its machine code; 0: not known */
};

/** Whether the kernel's code is the same in both runs. */
enum diff_code { DIFF_CODE_UNKNOWN, DIFF_CODE_SAME, DIFF_CODE_CHANGED };

/** In the place of a digest: logs of one run have different code under one name. */
#define DIFF_CODE_MIXED UINT64_MAX

/** One run: any number of logs. */
struct diff_run {
	const char *path;
	size_t logs;
	uint64_t launches, nameless; /**< nameless: their configuration is in a lost part */
	double total;                /**< GPU time measured, ns */
	double from, to; /**< wall-clock times of the first and the last launch, ns; 0: none */
	char *gpu;       /**< of the first log; NULL: not known */
	bool gpus_differ, stand_in, incomplete;
	bool sums; /**< a log of it holds sums, as of mode watch */
	struct log_clocks clocks;
};

struct diff {
	struct diff_run run[RUNS];
	struct diff_row *rows;
	size_t count, room;
	struct gw_index index;
};

/** What decides on verdicts. */
struct diff_rule {
	double rate; /**< share of changes reported that may be false */
	double fail; /**< a regression is slower by more than this share, with its whole interval …
		      */
	double share; /**< … and has at least this share of the run's GPU time */
};

/** Add the log, or the logs of the folder, at @p path to @p run. 0, or the exit status after a
 * message. */
int diff_read(struct diff *diff, unsigned run, const char *path);

/** Compare what was read. Rows come in the order of the GPU time that they gained or lost. */
void diff_compare(struct diff *diff, const struct diff_rule *rule);

/** The same for one run (BASE) and what was predicted before kernels were timed. */
void diff_compare_predictions(struct diff *diff, const struct diff_rule *rule);

/** GPU time that a row has more in the other run per run of its base, ns; of a new or gone row its
 * total. */
double diff_gain(const struct diff_row *row);

/** The median SM clock, kHz; NaN when not known. */
double diff_clock(struct diff_run *run);

enum diff_code diff_code(const struct diff_row *row);

void diff_free(struct diff *diff);

void diff_text(struct diff *diff, const struct diff_rule *rule, uint64_t top, bool all);
void diff_markdown(struct diff *diff, const struct diff_rule *rule, uint64_t top, bool all);
void diff_json(struct diff *diff, const struct diff_rule *rule);

#endif
