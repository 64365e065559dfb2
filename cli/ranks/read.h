/*
 * A rank's log: what ran on its GPU, in order of start, and the collectives that it took part in.
 * Collectives are NCCL's, by the numbers that it gave them (COLLECTIVE) or else by the order of the
 * kernels of one name; without any such kernel, copies to the host and back of one size stand for
 * them (gloo, MPI).
 */
#ifndef GW_RANKS_READ_H
#define GW_RANKS_READ_H

#include "cli/ranks/job.h"
#include "predictor/core/index.h"

/** How collectives were joined. */
enum ranks_by { RANKS_BY_NOTHING, RANKS_BY_COPIES, RANKS_BY_NAME, RANKS_BY_NUMBER };

/** What ran on the GPU, or stands for it. */
enum ranks_kind {
	RANKS_RUN_KERNEL, /**< also memsets and copies on the GPU */
	RANKS_RUN_COMMUNICATION,
	RANKS_RUN_FROM_HOST, /**< copy */
	RANKS_RUN_TO_HOST
};

/** One of them, of which a job has many millions. Times in ns of CLOCK_REALTIME; 0: not known. */
struct ranks_run {
	uint64_t start, end, call;
	uint64_t bytes; /**< copies */
	uint64_t
		key; /**< communication: the collective; 0: of none that others are known to have */
	uint64_t symbol; /**< communication: what of the collective is the same in each step */
	uint32_t thread; /**< that called; GW_INDEX_NONE: not known */
	uint32_t shape;  /**< kernels: number of kernel and configuration in the job */
	float predicted; /**< kernels: ns, NaN: not known */
	uint8_t kind;    /**< enum ranks_kind */
	bool together;   /**< communication: ends in all ranks at once */
};

/** A rank's log. */
struct ranks_log {
	char *path, *host, *boot, *label; /**< label: its rank, "" when not known */
	char *gpu;                        /**< UUID, "" when not known */
	unsigned long number;             /**< the same as a number; ULONG_MAX: not known */
	struct ranks_run *runs;           /**< of the GPU with most of them, by start */
	size_t run_count, run_room;
	enum ranks_by by;
	uint64_t untimed; /**< launches without a time, of that GPU or not known which */
	uint64_t summed;  /**< launches in sums */
	bool waits;       /**< copies have records */
};

/** Kernels with their configurations, of all logs. Zero-initialised is none. */
struct ranks_shapes {
	struct gw_index index;
	uint64_t *hash;
	size_t count, room;
};

/**
 * Read the log at @p path, or the @p length bytes at @p data where that is not NULL. False, after a
 * message, when it can't be read. Free it in either case.
 */
bool ranks_log_read(struct ranks_log *log, struct ranks_shapes *shapes, const char *path,
		    const void *data, size_t length);
void ranks_log_free(struct ranks_log *log);
void ranks_shapes_free(struct ranks_shapes *shapes);

#endif
