/* SPDX-License-Identifier: Apache-2.0
 *
 * The log on disk. A file is a row of blocks; a block is a header and whole records.
 * The writer is preload/log.c, the reader cli/log_reader.c, the lists record.def and
 * counter.def. docs/log-format.md tells the rest.
 */
#ifndef GW_RECORD_H
#define GW_RECORD_H

#include <stddef.h>
#include <stdint.h>

enum {
	/** Version 1 had no WORK, PUBLISHED, CLOCK, SLOW, and no tier and work in LAUNCH. */
	GW_LOG_VERSION = 2,
	GW_BLOCK_MAGIC = 0x31425747, /**< "GWB1" in the file */
	GW_BLOCK_MAX = 1 << 20,      /**< most bytes of records in a block */
	GW_RECORD_MAX = 1 << 15,     /**< most bytes of one record */
};

/** Header of a block. */
struct gw_block {
	uint32_t magic;  /**< GW_BLOCK_MAGIC */
	uint32_t length; /**< bytes of records that follow, a multiple of 8, at most GW_BLOCK_MAX */
	uint32_t sequence; /**< 0, 1, 2 … within the file */
	uint32_t crc;      /**< gw_crc32 of the records */
};

/** How every record begins. */
struct gw_record {
	uint16_t kind;   /**< enum gw_record_kind */
	uint16_t length; /**< whole length in bytes, tail and padding included, a multiple of 8 */
};

enum gw_record_kind {
#define RECORD(kind, NAME, name, meaning) GW_RECORD_##NAME = (kind),
#define FIELD(type, name, unit, meaning)
#define RECORD_END(NAME, name, tail)
#include "record.def"
#undef RECORD
#undef FIELD
#undef RECORD_END
};

#define GW_FIELD_u8  uint8_t
#define GW_FIELD_u16 uint16_t
#define GW_FIELD_u32 uint32_t
#define GW_FIELD_u64 uint64_t
#define GW_FIELD_f32 float
#define RECORD(kind, NAME, name, meaning)                                                          \
	struct gw_record_##name {                                                                  \
		struct gw_record head;
#define FIELD(type, name, unit, meaning) GW_FIELD_##type name;
#define RECORD_END(NAME, name, tail)                                                               \
	}                                                                                          \
	;
#include "record.def"
#undef RECORD
#undef FIELD
#undef RECORD_END

/* No padding: the struct is the format. */
#define RECORD(kind, NAME, name, meaning) _Static_assert(sizeof(struct gw_record_##name) == 4
#define FIELD(type, name, unit, meaning) +sizeof(GW_FIELD_##type)
#define RECORD_END(NAME, name, tail) && sizeof(struct gw_record_##name) % 8 == 0, #name);
#include "record.def"
#undef RECORD
#undef FIELD
#undef RECORD_END
_Static_assert(sizeof(struct gw_record_launch) <= 64, "a launch takes at most 64 bytes");

/** One part of a WORK record; the predictor is given exactly these values. */
struct gw_record_quantity {
	uint16_t field;  /**< row of work.def */
	uint8_t source;  /**< enum gw_source */
	uint8_t reserved; /**< 0 */
	float confidence;
	double value;
};
_Static_assert(sizeof(struct gw_record_quantity) == 16, "a part of a WORK record has no padding");

/** Flags of HEADER. */
enum {
	GW_HEADER_STAND_IN = 1u << 0, /**< the driver said it is the CPU stand-in */
	GW_HEADER_INJECTED = 1u << 1, /**< loaded through CUDA_INJECTION64_PATH */
};

/** Flags of LAUNCH. */
enum {
	GW_LAUNCH_MEASURED = 1u << 0, /**< start and duration are valid */
	GW_LAUNCH_INVALID = 1u << 1,  /**< a record came, its times made no sense */
	GW_LAUNCH_EVENTS = 1u << 2,   /**< timed by an event pair: duration only, start unknown */
	GW_LAUNCH_GRAPH = 1u << 3,    /**< node of a graph launch */
	GW_LAUNCH_COOPERATIVE = 1u << 4,
	GW_LAUNCH_LATE = 1u << 5,       /**< predicted after the call, from the state at the call */
	GW_LAUNCH_MULTIMODAL = 1u << 6, /**< earlier times fell into several groups */
	GW_LAUNCH_OVERLAPPED = 1u << 7, /**< another kernel ran at the same time */
	GW_LAUNCH_NO_CALL = 1u << 8, /**< activity without a call of ours: launched by the device */
	GW_LAUNCH_LEARNT = 1u << 9,  /**< an observation of the predictor; counts for `known` */
	GW_LAUNCH_CALL_OPEN = 1u << 10, /**< called at call_ns or after it: mode count takes the time of
	                                     each eighth call of a thread, and of the first in 20 ms */
	GW_LAUNCH_COUNTED = 1u << 11, /**< by deep counters: its time is not its own, nothing is learnt from it */
};

enum gw_module_origin {
	GW_MODULE_UNKNOWN,
	GW_MODULE_DATA,    /**< cuModuleLoadData, cuModuleLoadDataEx */
	GW_MODULE_FATBIN,  /**< cuModuleLoadFatBinary */
	GW_MODULE_FILE,    /**< cuModuleLoad, cuLibraryLoadFromFile */
	GW_MODULE_LIBRARY, /**< cuLibraryLoadData */
	GW_MODULE_LINKED,  /**< the output of cuLinkComplete */
};

enum gw_stream_kind {
	GW_STREAM_CREATED,
	GW_STREAM_LEGACY,     /**< the legacy default stream */
	GW_STREAM_PER_THREAD, /**< a per-thread default stream */
};

/** Why something is missing; the text of a DEGRADED record says it in words. */
enum gw_degraded {
	GW_DEGRADED_OTHER,
	GW_DEGRADED_NO_CUPTI,    /**< libcupti not found or not usable */
	GW_DEGRADED_CUPTI_TAKEN, /**< another profiler uses it */
	GW_DEGRADED_NO_TIMES,    /**< neither activity nor events */
	GW_DEGRADED_LOG,         /**< the log could not be opened or written */
	GW_DEGRADED_LOG_FULL,    /**< GPUWATCH_LOG_MAX reached: aggregates from here */
	GW_DEGRADED_TABLE_FULL,  /**< a bounded table is full */
	GW_DEGRADED_GRAPH,       /**< a graph holds nodes that can't be listed */
	GW_DEGRADED_OPTION,      /**< an option was not understood; its default is used */
	GW_DEGRADED_FORK,        /**< forked after CUDA was in use: this child can't use CUDA */
	GW_DEGRADED_PROFILE,     /**< no device profile for this GPU, or it can't be read */
	GW_DEGRADED_CLOCK,       /**< NVML does not tell the clocks */
	GW_DEGRADED_STUDY,       /**< a kernel's code took too long to study */
	GW_DEGRADED_RANGE,       /**< GPUWATCH_COUNTERS=range was asked for: what that can do */
	GW_DEGRADED_COUNTERS,    /**< counters can't be had */
	GW_DEGRADED_CODE,        /**< a kernel's code can't be had or read */
	GW_DEGRADED_WINDOW,      /**< mode watch can't detach libcupti */
	GW_DEGRADED_CODES        /**< how many there are: append before it */
};

/** Why a launch was slow, as far as is known. */
enum gw_slow_cause {
#define SLOW_CAUSE(NAME, name, meaning) GW_SLOW_##NAME,
#include "slow.def"
#undef SLOW_CAUSE
};

/** What came of reading a configuration's code. */
enum gw_study_end {
#define STUDY_END(NAME, name, meaning) GW_STUDY_##NAME,
#include "study.def"
#undef STUDY_END
	GW_STUDY_ENDS
};

/** Index of every counter of a COUNTERS record. */
enum gw_counter {
#define COUNTER(name, meaning) GW_COUNTER_##name,
#include "counter.def"
#undef COUNTER
	GW_COUNTERS
};

/** CRC-32C (Castagnoli) of @p length bytes; pass the result of an earlier part as @p crc, 0 first. */
uint32_t gw_crc32(uint32_t crc, const void *data, size_t length);

/** The same without the CPU's instruction for it. */
uint32_t gw_crc32_by_table(uint32_t crc, const void *data, size_t length);

#endif
