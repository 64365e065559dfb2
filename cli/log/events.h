/*
 * A log as events: the records that its reader found whole, in the order of the file, each with
 * what its ids stand for. Every command reads logs through here: a report adds up as the events
 * come (model.h), export writes them, score, replay and whatif keep them (trace.h).
 *
 * Memory grows with what a log defines (GPUs, kernels, configurations, streams), not with its
 * launches.
 */
#ifndef GW_LOG_EVENTS_H
#define GW_LOG_EVENTS_H

#include "cli/common/index.h"
#include "cli/log/names.h"
#include "cli/log/profile.h"
#include "cli/log/reader.h"
#include "cli/stack/stacks.h"
#include "predictor/core/sketch.h"

/** The texts of a HEADER that are kept. */
#define GW_HEADER_TEXTS(X) \
	X(host) X(exe) X(command) X(mode) X(build) X(driver) X(cupti) X(rank) X(replay) X(part)
enum gw_header_text {
#define KEY(name) GW_TEXT_##name,
	GW_HEADER_TEXTS(KEY)
#undef KEY
		GW_TEXTS
};

/** A GPU of the log. */
struct log_gpu {
	struct gw_record_device record;
	char *name, *uuid;        /**< uuid: "" when unknown */
	struct log_profile known; /**< its profile, where the log has one */
};

/** Code that was loaded. */
struct log_module {
	char *path;      /**< file it is in; "" when it was loaded from memory */
	uint32_t origin; /**< enum gw_module_origin */
};

/** A kernel of the log; its name has the same position in gw_log.names. */
struct log_kernel {
	struct gw_kernel kernel; /**< its name is the mangled one */
	uint32_t module;         /**< position in gw_log.modules; GW_INDEX_NONE: not known */
	uint32_t configs;        /**< how many configurations it has so far */
	uint64_t first_learnt;   /**< number of the first observation of it, from 1; 0: none yet */
	uint64_t code;           /**< digest of its machine code; 0: not known */
};

/** A configuration of the log. */
struct log_config {
	uint32_t kernel;  /**< position in gw_log.kernels */
	uint32_t ordinal; /**< which of its kernel's configurations, from 0 */
	uint32_t device;  /**< id of the GPU it runs on, 0: not known */
	struct gw_config config;
	uint32_t followed; /**< by the one at this position; GW_INDEX_NONE: by none, or several */
	bool once_followed;
	uint64_t first_learnt; /**< number of the first observation of it, from 1; 0: none yet */
};

/** A stream of the log. */
struct log_stream {
	uint32_t gpu;     /**< position in gw_log.gpus; GW_INDEX_NONE: not known */
	uint32_t number;  /**< CUPTI's; the log's id where that is not known */
	uint64_t context; /**< 0: not known */
};

/** A kernel node of a graph. */
struct log_node {
	uint32_t graph; /**< number of the executable graph */
	uint64_t node;  /**< number of the node in it, 0: not known */
};

/** Ids of a log to positions. */
struct log_ids {
	uint32_t count;
	bool sparse;           /**< they are not 1, 2, 3 and so on, as writers give them … */
	struct gw_index index; /**< … and have an index */
};

/** What a log has defined so far. Zero-initialised is nothing. */
struct gw_log {
	struct gw_log_status status;    /**< complete once the log is read */
	struct gw_record_header header; /**< version 0: none yet */
	char *text[GW_TEXTS];           /**< "" when unknown */
	struct log_gpu *gpus;
	struct log_module *modules;
	struct log_kernel *kernels;
	struct gw_name *names; /**< of the kernels */
	struct log_config *configs;
	struct log_stream *streams;
	uint32_t *threads; /**< thread ids of the kernel */
	struct log_node *nodes;
	struct log_stacks stacks;
	size_t gpu_count, module_count, kernel_count, config_count, stream_count, thread_count,
		node_count;
	uint64_t learnt; /**< observations so far: launches that the learner learnt from */
	bool stop;       /**< set by the callback: it is not called again, and reading ends */
	/* Ids to positions. */
	struct log_ids gpu_ids, module_ids, kernel_ids, config_ids, stream_ids, thread_ids,
		node_ids, object_ids, frame_ids;
	size_t gpu_room, module_room, kernel_room, name_room, config_room, stream_room, thread_room,
		node_room;
};

/** A record and what it is of, as positions in gw_log; GW_INDEX_NONE: not known, or of none. */
struct log_event {
	enum gw_record_kind kind;
	/** NULL for a PROFILE: it is one event, once all of its pieces are there. */
	const struct gw_log_record *record;
	uint32_t config; /**< the configuration that the record defines or is of */
	uint32_t of;     /**< of a SUCCESSOR: the configuration that it goes on from */
	/**
	 * The GPU that the record defines or is of. Of a launch or an aggregate that of its stream;
	 * where that is not known, that of its configuration, or the only one there is.
	 */
	uint32_t gpu;
	uint32_t stream, thread,
		node; /**< of a launch, thread also of a WAIT or RANGE; positions in gw_log */
	uint32_t stream_gpu; /**< of a launch, by its stream alone: what the library had at the call
			      */
	enum gw_tier tier;   /**< of a launch: how much was known of its time … */
	enum gw_source work; /**< … and of its work, when it was predicted */
	/** Of an aggregate: its measured times in ns and measured over predicted; NULL: not known.
	 */
	const struct gw_sketch *time, *ratio;
};

/** Takes an event; what @p event points to is valid during the call only. */
typedef void log_event_fn(void *arg, const struct log_event *event);

/**
 * Read the log at @p path, or the @p length bytes at @p data where that is not NULL, into @p log,
 * which is fresh, and call @p take with @p arg for each event; NULL: nothing. @p log has what the
 * event defines when @p take is called. An event of something that is in a lost part is left out,
 * but launches and aggregates, whose configuration is then not known, are not.
 *
 * False when it can't be read at all: status.error says why. Free @p log in either case.
 */
bool gw_log_events(struct gw_log *log, const char *path, const void *data, size_t length,
		   log_event_fn *take, void *arg);

void gw_log_free(struct gw_log *log);

/** Position in gw_log.gpus of the GPU with @p id; GW_INDEX_NONE when not known. */
uint32_t gw_log_gpu(const struct gw_log *log, uint32_t id);

/**
 * Configuration @p config as it was known in the end: launches with a provisional argument hash are
 * of the one configuration that followed it, for they had the same arguments.
 */
const struct gw_config *gw_log_known_as(const struct gw_log *log, uint32_t config);

/** A launch of configuration @p config; its kernel is @p log's. */
struct gw_launch gw_log_launch(const struct gw_log *log, uint32_t config);

/** The profile of @p gpu; of the only one that has any where that is not known. NULL: none. */
const struct gw_device *gw_log_device(const struct gw_log *log, uint32_t gpu);

/** Whether a launch that took @p duration, with GW_LAUNCH_* @p flags, has a valid time. */
bool gw_log_measured(uint32_t flags, uint64_t duration);

#endif
