/*
 * The log on disk. A file is a row of blocks; a block is a header and whole records.
 * The writer is preload/live/log.c, the reader cli/log/reader.c, the lists record.def and
 * counter.def. The rest: gpuwatch-log(5).
 */
#ifndef GW_RECORD_H
#define GW_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "predictor/core/types.h"

enum {
	/**
	 * Version 1 had no WORK, PUBLISHED, CLOCK, SLOW, and no tier and work in LAUNCH. Versions 1
	 * and 2 have blocks GWB1 only, later ones may have both. Since version 4 a WORK names the rows
	 * that changed.
	 */
	GW_LOG_VERSION = 4,
	GW_BLOCK_MAGIC = 0x31425747,  /**< "GWB1" in the file */
	GW_PACKED_MAGIC = 0x32425747, /**< "GWB2" in the file */
	GW_BLOCK_MAX = 1 << 20,       /**< most bytes of records in a block */
	GW_RECORD_MAX = 1 << 15,      /**< most bytes of one record */
};

/** Header of a block. */
struct gw_block {
	uint32_t magic;  /**< GW_BLOCK_MAGIC */
	uint32_t length; /**< bytes of records that follow, a multiple of 8, at most GW_BLOCK_MAX */
	uint32_t sequence; /**< 0, 1, 2 … within the file */
	uint32_t crc;      /**< gw_crc32 of the records */
};

/**
 * Header of a block since version 3. The records are packed (predictor/log/block.h), or stand as
 * they are where that takes no less.
 */
struct gw_packed_block {
	uint32_t magic;    /**< GW_PACKED_MAGIC */
	uint32_t crc;      /**< gw_crc32 of what follows it: the rest of the header, and the data */
	uint32_t length;   /**< bytes of data that follow */
	uint32_t sequence; /**< 0, 1, 2 … within the file; of copies: their own */
	uint32_t raw;      /**< bytes of the records, a multiple of 8, at most GW_BLOCK_MAX */
	uint32_t flags;    /**< GW_BLOCK_PACKED and so on (value.def) */
	uint32_t room;     /**< of a copy: bytes from its header to what follows it; else 0 */
	uint32_t number;   /**< of the block in the process's memory that these records were in */
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
#include "predictor/log/record.def"
#undef RECORD
#undef FIELD
#undef RECORD_END
};

#define GW_FIELD_u8  uint8_t
#define GW_FIELD_u16 uint16_t
#define GW_FIELD_u32 uint32_t
#define GW_FIELD_u64 uint64_t
#define GW_FIELD_f32 float
#define RECORD(kind, NAME, name, meaning) \
	struct gw_record_##name { \
		struct gw_record head;
#define FIELD(type, name, unit, meaning) GW_FIELD_##type name;
#define RECORD_END(NAME, name, tail) \
	} \
	;
#include "predictor/log/record.def"
#undef RECORD
#undef FIELD
#undef RECORD_END

/* No padding: the struct is the format. */
#define RECORD(kind, NAME, name, meaning) _Static_assert(sizeof(struct gw_record_##name) == 4
#define FIELD(type, name, unit, meaning) +sizeof(GW_FIELD_##type)
#define RECORD_END(NAME, name, tail) && sizeof(struct gw_record_##name) % 8 == 0, #name);
#include "predictor/log/record.def"
#undef RECORD
#undef FIELD
#undef RECORD_END
_Static_assert(sizeof(struct gw_record_launch) <= 64, "a launch takes at most 64 bytes");

/** One part of a WORK record; the predictor is given exactly these values. */
struct gw_record_quantity {
	uint16_t field;   /**< row of work.def */
	uint8_t source;   /**< enum gw_source */
	uint8_t reserved; /**< 0 */
	float confidence;
	double value;
};
_Static_assert(sizeof(struct gw_record_quantity) == 16, "a part of a WORK record has no padding");

/** Flags: GW_HEADER_STAND_IN, GW_LAUNCH_MEASURED and so on (value.def). */
enum {
#define FLAG(RECORD, NAME, bit, meaning) GW_##RECORD##_##NAME = 1u << (bit),
#include "predictor/log/value.def"
};

/** Which call loaded a module. */
enum gw_module_origin {
#define ORIGIN(NAME, meaning) GW_MODULE_##NAME,
#include "predictor/log/value.def"
};

enum gw_stream_kind {
#define STREAM_KIND(NAME, meaning) GW_STREAM_##NAME,
#include "predictor/log/value.def"
};

/** From where to where a copy goes. */
enum gw_direction {
#define DIRECTION(NAME, name, meaning) GW_DIRECTION_##NAME,
#include "predictor/log/value.def"
	GW_DIRECTIONS /**< how many there are */
};

/** The driver's call in which a thread waits. */
enum gw_wait_call {
#define WAIT_CALL(NAME, name, meaning) GW_WAIT_##NAME,
#include "predictor/log/value.def"
	GW_WAIT_CALLS /**< how many there are */
};
/** What a collective of NCCL does. */
enum gw_collective {
#define COLLECTIVE(NAME, name, meaning) GW_COLLECTIVE_##NAME,
#include "predictor/log/value.def"
	GW_COLLECTIVES /**< how many there are */
};

/** What the elements of a collective are. */
enum gw_datatype {
#define DATATYPE(NAME, name, meaning) GW_DATATYPE_##NAME,
#include "predictor/log/value.def"
	GW_DATATYPES /**< how many there are */
};

/** Where the native frames of a STACK end. */
enum gw_stack_end {
#define STACK_END(NAME, meaning) GW_STACK_END_##NAME,
#include "predictor/log/value.def"
	GW_STACK_ENDS /**< how many there are */
};

/** What gpuwatch does in a process; `choices` of the option `mode` has the same order. */
enum gw_mode {
#define MODE(NAME, name, meaning) GW_MODE_##NAME,
#include "predictor/log/value.def"
	GW_MODES /**< how many there are */
};

/** The name of @p mode as GPUWATCH_MODE has it; NULL: it is none. */
const char *gw_mode_name(uint32_t mode);

/** Why something is missing; the text of a DEGRADED record says it in words. */
enum gw_degraded {
#define DEGRADED(NAME, meaning) GW_DEGRADED_##NAME,
#include "predictor/log/value.def"
	GW_DEGRADED_CODES /**< how many there are */
};

/** Why a launch was slow, as far as is known. */
enum gw_slow_cause {
#define SLOW_CAUSE(NAME, name, meaning) GW_SLOW_##NAME,
#include "predictor/log/slow.def"
#undef SLOW_CAUSE
};

/** What came of reading a configuration's code. */
enum gw_analysis_end {
#define ANALYSIS_END(NAME, name, meaning) GW_ANALYSIS_##NAME,
#include "predictor/log/analysis_end.def"
#undef ANALYSIS_END
	GW_ANALYSIS_ENDS
};

/** Index of every counter of a COUNTERS record. */
enum gw_counter {
#define COUNTER(name, meaning) GW_COUNTER_##name,
#include "predictor/log/counter.def"
#undef COUNTER
	GW_COUNTERS
};

/**
 * A kernel from its record, and back; @p module is its module's id, 0 unknown. @p name,
 * which the record's tail holds, stays the caller's.
 */
struct gw_record_kernel gw_record_of_kernel(uint32_t id, uint32_t module,
					    const struct gw_kernel *kernel);
struct gw_kernel gw_recorded_kernel(const struct gw_record_kernel *record, const char *name);

/** A configuration of kernel number @p kernel, and back; @p device is its GPU's id, 0 unknown. */
struct gw_record_config gw_record_of_config(uint32_t id, uint32_t kernel, uint32_t device,
					    const struct gw_config *config);
struct gw_config gw_recorded_config(const struct gw_record_config *record);

/** CRC-32C (Castagnoli) of @p length bytes; pass the result of an earlier part as @p crc, 0 first.
 */
uint32_t gw_crc32(uint32_t crc, const void *data, size_t length);

/** The same without the CPU's instruction for it. */
uint32_t gw_crc32_by_table(uint32_t crc, const void *data, size_t length);

#endif
