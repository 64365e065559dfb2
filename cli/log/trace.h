/*
 * A log as its learner saw it, kept in memory in its own order: what `gpuwatch score` and
 * `gpuwatch replay` run over, the latter again and again.
 */
#ifndef GW_LOG_TRACE_H
#define GW_LOG_TRACE_H

#include "cli/log/events.h"
#include "predictor/counters/clocks.h"

/** What is known of a configuration beside what it is, by its position in gw_log.configs. */
struct trace_config {
	uint32_t predecessor;   /**< 1 + position of the one it goes on from; 0: none */
	uint32_t last_work;     /**< 1 + position of its last WORK; 0: none */
	uint64_t measured;      /**< launches with a valid time */
	uint64_t time_ns;       /**< their sum */
	struct gw_sketch *sums; /**< times, ns, of launches that sums hold; NULL: none */
};

/** A WORK record, and what stays of those before it. */
struct trace_work {
	uint32_t config;       /**< position in gw_log.configs */
	uint32_t before;       /**< 1 + position of the one it replaces; 0: none */
	uint32_t first, count; /**< the parts in trace.parts */
	uint64_t known;        /**< observations that had been made */
};

/** A LAUNCH record; what of it neither learning nor scoring needs is left out. Times in ns. */
struct trace_launch {
	uint32_t config;     /**< position in gw_log.configs */
	uint32_t flags;      /**< GW_LAUNCH_* */
	uint32_t known;      /**< as in the record */
	uint32_t gpu;        /**< position in gw_log.gpus; GW_INDEX_NONE when not known */
	uint32_t stream_gpu; /**< the same by its stream alone, as the library had it at the call */
	float predicted, low, high; /**< NaN when unknown */
	uint8_t tier, work;         /**< enum gw_tier, enum gw_source */
	uint64_t start;             /**< when it started on the GPU, else when it was called */
	uint64_t duration;          /**< 0: not measured */
};

/** A CLOCK record. */
struct trace_clock {
	uint32_t gpu; /**< position in gw_log.gpus */
	struct gw_clock_sample sample;
};

/** What stands in the log, in the order the learner went by. */
enum trace_kind {
	TRACE_PROFILE,   /**< a whole profile: index in gw_log.gpus */
	TRACE_CONFIG,    /**< index in gw_log.configs */
	TRACE_WORK,      /**< index in trace.works */
	TRACE_LAUNCH,    /**< index in trace.launches */
	TRACE_PUBLISHED, /**< index in trace.published */
	TRACE_CLOCK,     /**< index in trace.clocks */
	TRACE_SUCCESSOR, /**< index in gw_log.configs, of the one that goes on from its predecessor
			  */
	TRACE_KINDS
};

struct trace_event {
	uint32_t kind; /**< enum trace_kind */
	uint32_t index;
};

/** One log. */
struct trace {
	const char *path; /**< the caller's */
	struct gw_log log;
	struct trace_config *configs;
	struct trace_work *works;
	struct gw_record_quantity *parts;
	struct trace_launch *launches;
	uint64_t *published;
	struct trace_clock *clocks;
	struct trace_event *events;
	size_t work_count, part_count, launch_count, published_count, clock_count, event_count;
	size_t config_room, work_room, part_room, launch_room;
	size_t published_room, clock_room, event_room;
	uint64_t aggregated; /**< launches that the log holds as sums only */
	bool watched;        /**< it was in mode watch at a time: most launches are in sums */
	bool spread;         /**< trace_spread() has put launches in their place */
	uint64_t nameless;   /**< launches whose configuration is in a lost part */
};

/**
 * Read the log at @p path. False when it can't be read at all; trace->log.status.error then says
 * why. Free it in either case.
 */
bool trace_read(struct trace *trace, const char *path);
/** The same for @p length bytes in memory; @p name stands for the path. */
bool trace_read_memory(struct trace *trace, const char *name, const void *data, size_t length);
void trace_free(struct trace *trace);

/**
 * Put launches in the place of sums, for replays with times withheld: of each configuration whose
 * times are in sums as many as were timed, 1,000 at most, their times spread as the histograms
 * have them. The first eight of each are learnt, one of each configuration between two
 * publications. False where no configuration has such times.
 */
bool trace_spread(struct trace *trace);

/** Whether a launch has a valid time. */
bool trace_measured(const struct trace_launch *launch);

/** The parts of WORK @p index, unpacked. */
void trace_work_of(const struct trace *trace, uint32_t index, struct gw_work *out);

/** 1 + position of the WORK of @p config that was known after @p known observations; 0: none. */
uint32_t trace_work_known(const struct trace *trace, uint32_t config, uint64_t known);

#endif
