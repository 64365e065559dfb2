/*
 * What a report shows, gathered from any number of logs: the processes, the devices, one row
 * of statistics per kernel (or configuration, or device).
 */
#ifndef GW_LOG_MODEL_H
#define GW_LOG_MODEL_H

#include "cli/log/clock.h"
#include "cli/log/events.h"
#include "cli/log/gaps.h"
#include "cli/log/order.h"
#include "cli/spent/tally.h"
#include "cli/common/quantile.h"
#include "cli/graphs/graphs.h"
#include "predictor/core/types.h"

struct gw_row_bound;

enum gw_by {
	GW_BY_KERNEL,
	GW_BY_CONFIG,
	GW_BY_DEVICE,
	GW_BY_MODULE,
	GW_BY_RANGE,
	GW_BY_LINE,
	GW_BY_RANK
};

/** A stack that launches of a row came by. */
struct gw_row_stack {
	uint32_t file, stack; /**< positions in gw_log_model.files and its stacks.list */
	uint64_t launches;    /**< of configurations that it was recorded for */
};
enum { GW_ROW_STACKS = 4 }; /**< of a row, those of most launches */

#define LOG_MODULE_MEMORY  "[memory]"  /**< stands for all code that was loaded from memory */
#define LOG_MODULE_UNKNOWN "[unknown]" /**< and for code that was loaded unseen */
#define LOG_NO_RANK        "[no rank]" /**< the row of logs without a number of a rank */

/** Statistics of a group of launches. Times in ns. */
struct gw_row {
	uint32_t name;           /**< position in gw_model.names; by module that of the file's path,
				    LOG_MODULE_MEMORY or LOG_MODULE_UNKNOWN; by range its name,
				    as log_range_at() gives it, by line log_stack_line()'s, by rank
				    "rank N" or LOG_NO_RANK */
	uint32_t device;         /**< position in gw_model.devices, GW_INDEX_NONE; by device only */
	struct gw_config config; /**< by configuration only */
	uint64_t launches;       /**< kernels that ran */
	uint64_t measured;       /**< of them with a valid time */
	uint64_t from_graph, by_events, overlapped, multimodal, cooperative, no_call, invalid;
	uint64_t aggregated;    /**< launches known only as aggregates */
	uint64_t slow;          /**< launches that were slow in episodes of slow ones */
	double total, mean, m2; /**< of the measured ones; mean and m2 without aggregates */
	uint64_t single;        /**< measured one by one: behind mean, m2 and the quantiles */
	double min, max;        /**< NaN when none was measured */
	uint64_t at_least;      /**< measured one by one and not predicted, with a lower limit */
	uint64_t scored;        /**< measured and predicted */
	uint64_t late; /**< of them predicted after the call (from the state at the call) */
	uint64_t intervals, covered; /**< scored with an interval; measured time inside it */
	uint64_t within10, within25; /**< scored one by one, error at most 10%, 25% */
	uint64_t scored_single;      /**< scored one by one */
	double error_sum; /**< of |predicted - measured| / measured over the scored ones */
	uint64_t tiers[GW_TIER_STEADY + 1];    /**< scored_single by enum gw_tier */
	uint64_t works[GW_SOURCE_COUNTED + 1]; /**< and by enum gw_source of its work */
	uint64_t code_analyzed;                /**< launches whose work code analysis derived */
	uint64_t
		unexplained_most; /**< most launches with one reason for an incomplete analysis … */
	uint32_t
		unexplained; /**< … its position in gw_log_model.unexplained, where there are any */
	struct gw_row_bound *bound; /**< what bounds it (verdict.h); NULL: nothing measured */
	struct gw_row_stack stacks[GW_ROW_STACKS]; /**< most launches first; then 0 launches */
	struct gw_quantile time, predicted, error;
	struct gw_quantile least; /**< of those that count in at_least, ns */
};

/** A GPU, identified by its UUID, or by name and number where that is unknown. */
struct gw_gpu {
	char *name, *uuid;
	struct gw_record_device record; /**< as in the first log that has it */
	uint64_t launches;
	struct log_clocks clocks;
	struct log_gaps gaps; /**< between its kernels, summed over processes */
};

/** A reason why something is missing, and in how many logs. */
struct gw_log_reason {
	char *text;           /**< a kernel in it has its short name */
	char *recorded;       /**< as in the log */
	uint32_t code, files; /**< enum gw_degraded */
	uint64_t seen;        /**< DEGRADED records */
};

/** A reason why the analysis of some configurations is incomplete. */
struct gw_unexplained {
	char *text;       /**< empty: superseded by a complete analysis */
	uint32_t end;     /**< enum gw_analysis_end */
	uint32_t name;    /**< of the kernel with the most such launches in one configuration … */
	uint64_t most;    /**< … and how many those are */
	uint64_t configs; /**< configurations; of GW_ANALYSIS_OFF, logs */
	uint64_t launches; /**< of them */
};

/** Order violation, for --verify. */
struct gw_violation {
	uint32_t file, name;
	uint64_t offset;
	enum gw_order_result result;
	uint64_t known, learnt, call_ns, latest_ns;
};

enum { GW_FILE_MODES = 8 }; /**< changes of a log's mode that are kept */

/** One log. */
struct gw_file {
	char *path;
	struct gw_log_status status;
	bool again;   /**< an earlier one is of the same process: its log is a ring of files */
	bool skipped; /**< could not be read at all; status.error says why */
	struct gw_record_header header;
	char *text[GW_TEXTS]; /**< "" when unknown */
	uint64_t counters[GW_COUNTERS];
	bool counted;                  /**< there was a COUNTERS record */
	uint64_t first_ns, last_ns;    /**< of the calls seen; 0 when none */
	uint64_t until_ns;             /**< time of the last COUNTERS record; 0 when none */
	uint64_t launches, lost_names, /**< launches whose configuration is in a lost part */
		without_place;         /**< launches for whose configuration there was no place */
	uint64_t untimed;              /**< see struct gw_order */
	struct log_stacks stacks;      /**< where its launches came from */
	struct gw_record_mode modes[GW_FILE_MODES]; /**< the first changes of its mode … */
	uint32_t mode_count;                        /**< … and how many there are in all */
};

struct gw_log_model;

/**
 * Looks on while logs are read, for what sums do not show. GPUs and rows are positions in the
 * model; GW_INDEX_NONE: not known.
 */
struct log_watch {
	void *arg;
	/** A launch that counts in the report. */
	void (*launch)(void *arg, uint32_t row, uint32_t gpu, const struct gw_record_launch *launch,
		       enum gw_tier tier);
	/** A sample of a GPU's clocks. */
	void (*clock)(void *arg, uint32_t gpu, const struct gw_record_clock *clock);
	log_span_fn *span; /**< the time of GPUs, piece by piece (gaps.h) */
};

enum { GW_VIOLATIONS = 100 }; /**< violations listed one by one */

struct gw_log_model {
	enum gw_by by;
	const char *device;            /**< only launches of matching devices; NULL: all */
	const struct log_watch *watch; /**< NULL: nobody looks on */
	bool names_only; /**< of launches, only what bounds their rows: no times, errors and gaps */
	struct gw_row *rows;
	struct gw_name *names;
	struct gw_gpu *gpus;
	struct gw_log_reason *reasons;
	struct gw_unexplained *unexplained;
	struct gw_file *files;
	size_t row_count, name_count, gpu_count, reason_count, unexplained_count, file_count;
	size_t row_room, name_room, gpu_room, reason_room, unexplained_room, file_room;
	struct gw_index row_index, name_index;
	struct log_slows slows;
	struct log_graphs graphs; /**< that were timed whole */
	/** What else launches may differ in, where @ref tallied: added up beside the rows.
	 */
	bool tallied;
	struct log_tally ranges;            /**< as rows by range */
	struct log_tally lines;             /**< as rows by line, of configurations with a stack */
	struct gw_row all;                  /**< the same statistics over everything */
	uint64_t counters[GW_COUNTERS];     /**< sums over the files */
	uint64_t order[GW_ORDER_LATER + 1]; /**< launches by result */
	struct gw_violation violations[GW_VIOLATIONS];
	uint32_t violation_count; /**< kept ones */
	bool summed;              /**< some log has sums, and single launches as a sample */
	bool stand_in;            /**< some log is of the CPU stand-in */
	uint64_t profiles;        /**< device profiles in the logs */
};

/** @p launches more of @p row came by stack @p stack of file @p file; GW_INDEX_NONE: not known. */
void gw_row_stack(const struct gw_log_model *model, struct gw_row *row, uint32_t file,
		  uint32_t stack, uint64_t launches);

/** Prepare @p model; fields `by`, `device`, `watch` and `names_only` may be set after it. */
void gw_log_model_init(struct gw_log_model *model);

/**
 * Add what the process of @p file, the last one read, counted of itself to the model's totals:
 * where its log is several files of a ring, only what the earlier ones lack.
 */
void gw_log_model_count(struct gw_log_model *m, struct gw_file *file);

/** Count a launch of @p file, and when it was called. */
void gw_file_launch(struct gw_file *file, const struct gw_record_launch *launch);

/** Read the log at @p path into @p model. False when it can't be read: the last file says why. */
bool gw_log_model_read(struct gw_log_model *model, const char *path);

/** The same for @p length bytes in memory, at @p data (NULL: the file alone, without its live
 * segment);
 * @p name stands for the path. */
bool gw_log_model_read_memory(struct gw_log_model *model, const char *name, const void *data,
			      size_t length);

void gw_log_model_free(struct gw_log_model *model);

/** Position of @p mangled in the model's names; a new one is demangled once a log is read. */
uint32_t gw_log_model_name(struct gw_log_model *model, const char *mangled);

/** The short forms of the model's names, by position; each to free(), and the array too. */
char **gw_log_model_short_names(const struct gw_log_model *model);

/** Whether @p text selects @p gpu: its number, a prefix of its UUID, or part of its name. */
bool gw_gpu_matches(const struct gw_gpu *gpu, const char *text);

#endif
