/*
 * What gpuwatch top shows, apart from how: processes with their GPUs and kernels, and what came to
 * each between two snapshots. A snapshot is a call of top_begin(), of the others for what each
 * process has, and of top_end(). Times are CLOCK_MONOTONIC unless said.
 */
#ifndef GW_TOP_MODEL_H
#define GW_TOP_MODEL_H

#include "cli/common/index.h"
#include "predictor/core/types.h"
#include "predictor/log/live.h"

#include <math.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** How long a process that has ended is shown. */
#define TOP_ENDED_NS UINT64_C(5000000000)

enum { TOP_BOUNDS = 8 }; /* room for every enum gw_bound */

enum top_state {
	TOP_RUNNING,
	TOP_ELSEWHERE, /**< it is of another PID namespace: whether it runs is unknown */
	TOP_ENDED,
};

/** Totals since a process began, or what was added to them between two snapshots. */
struct top_counts {
	uint64_t runs;     /**< launches of the kernel */
	uint64_t measured; /**< of them with a time */
	uint64_t compared; /**< of these with a prediction */
	double time_ns;    /**< sum of the measured times */
	double ratio;      /**< sum of measured / predicted */
};

/** A configuration of a process: what each snapshot adds up, apart from its sketches, which are far
 * larger. */
struct top_brief {
	struct top_counts now;
	double predicted, low, high;
	uint32_t row;  /**< position in the process's rows */
	uint32_t next; /**< configuration of the same row, plus one; 0: it is the last */
	uint32_t kernel, device;
	uint32_t change; /**< position in the process's list of changes, where it is in there */
	uint8_t bound, tier, work;
	bool known;
	bool whole; /**< the process's `config` has all of it */
};

/** A configuration that has changed since the snapshot before. */
struct top_change {
	uint32_t at;
	struct top_counts before; /**< at the snapshot before */
};

/** A GPU as a process numbers it. */
struct top_device {
	struct gw_live_device now;
	bool known;          /**< a kernel was launched on it */
	uint64_t busy_ns;    /**< at the snapshot before */
	uint64_t horizon_ns; /**< up to when busy_ns was complete, CLOCK_REALTIME; 0: not known */
	double idle; /**< share of the time between the snapshots without a kernel; NaN: unknown */
	uint64_t idle_ns, input_ns; /**< at the snapshot before, of all causes, and of input */
	double input; /**< share of idle time between the snapshots whose cause is input; NaN:
			 unknown */
};

/** What there is to say of the runs of a kernel between two snapshots, or since the start. */
struct top_span {
	double runs, measured; /**< NaN: unknown, there is no snapshot before */
	double time_ns;        /**< GPU time of the runs; NaN: unknown */
	double mean_ns;        /**< mean measured time; NaN: none was measured */
	double ratio;          /**< mean of measured / predicted; NaN: none was compared */
	bool estimated;        /**< time_ns is the runs times the mean of those measured */
};

/** A kernel on a GPU of a process: a row. */
struct top_row {
	struct top_process *process; /**< whose it is; outlives the row */
	uint32_t slot;               /**< of the kernel, while its name is not known; else 0 */
	uint32_t device;             /**< the driver's number of the GPU; UINT32_MAX: unknown */
	uint32_t at;                 /**< position in the process's rows */
	bool unfinished;             /**< but for interval.time_ns what follows is not up to date */
	size_t configs;              /**< configurations that it has */
	struct top_span interval, total;
	double predicted;    /**< ns, mean over the runs in the interval; NaN: not predicted */
	double low, high;    /**< the same of the ends of the 90% intervals */
	enum gw_bound bound; /**< of the configuration with the most GPU time */
	enum gw_tier tier;   /**< likewise */
	enum gw_source work; /**< likewise */
	char *mangled;       /**< NULL: unknown */
	char *plain;         /**< demangled; never NULL */
	char *name;          /**< short, unlike those of other kernels; never NULL */
};

/** Add @p ns to the sum of known times @p sum, which is NaN while there are none; NaN adds nothing.
 */
static inline void top_add_time(double *sum, double ns)
{
	if (!isnan(ns))
		*sum = (isnan(*sum) ? 0 : *sum) + ns;
}

/** Rows lie apart: those read soon are fetched while others are read. */
static inline void top_row_soon(struct top_row *const *row, size_t at, size_t rows)
{
	enum { AHEAD = 8 };

	if (at + AHEAD < rows)
		__builtin_prefetch(&row[at + AHEAD]->interval);
}

/** A graph of a process that is timed whole. */
struct top_graph {
	struct gw_live_graph_time now;    /**< graph 0: not known */
	struct gw_live_graph_time before; /**< at the snapshot before */
	double time_ns; /**< GPU time of its launches in the interval; NaN: unknown */
	double share;   /**< of the GPU time of all rows and graphs in it; NaN: unknown */
};

/** A process: one live segment. */
struct top_process {
	char *id;  /**< of its segment, unique */
	char *exe; /**< path of the program */
	uint32_t pid;
	enum top_state state;
	bool fresh;              /**< there is one snapshot of it so far */
	bool touched;            /**< it was in the snapshot being taken */
	bool finished;           /**< top_process_end() was called for that */
	uint64_t ended_ns;       /**< when it was first seen to have ended */
	struct top_brief *brief; /**< configurations by id less one */
	size_t configs, brief_room;
	size_t unnamed;                /**< of them the name of whose kernel is not known */
	struct gw_live_config *config; /**< likewise, of those that are whole */
	size_t config_room;
	struct top_change *change;
	size_t changes, change_room;
	struct top_row **row;
	size_t rows, row_room;
	struct gw_index row_index; /**< of rows, by kernel and GPU */
	uint32_t devices;          /**< GPUs numbered below 32 that rows have: bits */
	struct top_device device[GW_LIVE_DEVICES];
	struct top_graph *graph; /**< timed whole, by entry */
	size_t graphs, graph_room;
	struct gw_live_totals totals;   /**< totals.ns 0: none yet */
	struct gw_live_answer switched; /**< mode and budget, and until when */
	bool switchable;                /**< that is known */
	double runs;                    /**< in the interval, of all kernels; NaN: unknown */
	double time_ns;                 /**< GPU time of all rows in the interval; NaN: unknown */
	double bound_ns[TOP_BOUNDS];    /**< of it, by enum gw_bound */
	bool waiting;          /**< runs may be on the GPU: not all have a time or are lost */
	struct top_sums *sums; /**< by row, to which a snapshot adds what has changed */
	size_t sum_room;
	bool again; /**< all is to be added up: a configuration is another, or its row is */
};

struct top_model {
	struct top_process **process; /**< by pid */
	size_t processes, process_room;
	uint64_t now_ns;
	double span_ns; /**< between the last two snapshots; NaN: there was one */
	double time_ns; /**< GPU time of all rows and graphs in the interval; NaN: unknown */
	double bound_ns[TOP_BOUNDS]; /**< of it, by enum gw_bound */
	bool unnamed;                /**< rows have come whose short name is to be made */
	/** Configurations come without buckets, but for top_config_whole(); rows are for
	 * top_row_finish() to complete, unless top_choose() or top_order() has ordered them. */
	bool brief;
};

struct top_model *top_model_new(void);
void top_model_free(struct top_model *model);

/** A snapshot begins. */
void top_begin(struct top_model *model, uint64_t now_ns);

/** The process whose segment is @p id, added where it is new. Valid until the top_end() after it
 * was left out of a snapshot. */
struct top_process *top_process_of(struct top_model *model, const char *id, uint32_t pid,
				   const char *exe);
/** Entry @p at of its configurations; @p mangled NULL: the kernel's name is not known yet. What is
 * not said again is unchanged. */
void top_config_is(struct top_model *model, struct top_process *process, size_t at,
		   const struct gw_live_config *config, const char *mangled);
/** The same entry with its buckets; it changes nothing else. */
void top_config_whole(struct top_process *process, size_t at, const struct gw_live_config *config);
/** Whether the name of the kernel of entry @p at is still unknown. */
bool top_config_unnamed(const struct top_process *process, size_t at);
void top_device_is(struct top_process *process, uint32_t ordinal,
		   const struct gw_live_device *device);
void top_totals_are(struct top_process *process, const struct gw_live_totals *totals);
void top_process_ended(struct top_model *model, struct top_process *process);
/** All that the snapshot has of @p process was said. To call it is optional, and saves time. */
void top_process_end(const struct top_model *model, struct top_process *process);

/**
 * The snapshot is complete: compute the rows. Processes that ended TOP_ENDED_NS ago, and those that
 * the snapshot leaves out, are gone; pointers to them and their rows are no longer valid.
 */
void top_end(struct top_model *model);

/** Configuration @p at of its process where that is the row's and whole, else NULL. */
const struct gw_live_config *top_row_config(const struct top_row *row, size_t at);
/** The two sketches of a row, of all runs since its process began whose buckets are known. */
void top_row_sketches(const struct top_row *row, struct gw_sketch *time, struct gw_sketch *ratio);

/** Complete a row for the last snapshot, where it is not yet. */
void top_row_finish(struct top_row *row);

/** Share of the GPU time of all rows and graphs in the interval; NaN: unknown. */
double top_row_share(const struct top_model *model, const struct top_row *row);

/** Whether the interval's measured / predicted is outside the 90% interval of the predictions. */
bool top_row_off(const struct top_row *row);

/** Whether kernels are timed all the time, so that busy time is all there is. */
bool top_process_timed(const struct top_process *process);

/* ---- what is shown (sort.c) ---- */

enum top_sort {
#define SORT(id, meaning) TOP_SORT_##id,
#include "cli/top/sort.def"
#undef SORT
	TOP_SORTS
};

/** Name of a sort key; never NULL. */
const char *top_sort_name(enum top_sort sort);
/** The key of this name; TOP_SORTS: there is none. */
enum top_sort top_sort_of(const char *name);

struct top_choice {
	enum top_sort sort;
	bool reverse;
	const regex_t *filter; /**< NULL: every kernel */
};

/** The rows that @p choice picks into @p rows, the first @p ordered of them in its order; free()
 * it. Returns how many. */
size_t top_choose(const struct top_model *model, const struct top_choice *choice, size_t ordered,
		  struct top_row ***rows);
/** Give each row its short name. */
void top_name_rows(struct top_model *model);
/** Bring the first @p ordered of these @p count into its order. */
void top_order(struct top_row **rows, size_t count, const struct top_choice *choice,
	       size_t ordered);

#endif
