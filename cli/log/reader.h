/*
 * Reads a log: takes what is whole, says precisely what is missing. A log may be damaged,
 * hostile, cut off by a crash, or still being written; memory stays bounded (some 8 MiB).
 */
#ifndef GW_LOG_READER_H
#define GW_LOG_READER_H

#include "predictor/log/record.h"
#include "predictor/core/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * A record that was checked: its kind is known, its fixed part is complete and aligned, a text
 * tail ends in NUL, the numbers of COUNTERS are inside it, its id is above those before it.
 * References to other ids are NOT checked: what they name may have been in a block that is lost.
 * Valid during the call only.
 */
struct gw_log_record {
	const struct gw_record *head; /**< cast to the struct of its kind */
	const char *tail;             /**< what follows the fixed part */
	size_t tail_length;
	uint64_t offset; /**< of the record in the (decompressed) file */
	uint32_t gaps;   /**< how many times records were lost before this one */
};

/** Takes a record; false stops the reading. */
typedef bool gw_log_record_fn(void *arg, const struct gw_log_record *record);

enum { GW_LOG_NOTES = 16 }; /**< damages listed one by one; the rest is counted */

/** A stretch of the file that could not be used. */
struct gw_log_note {
	uint64_t offset; /**< first byte */
	uint64_t bytes;  /**< how many; 0 when blocks are missing between two whole ones */
	uint64_t blocks; /**< blocks missing by their sequence numbers */
	const char *why; /**< static string */
};

/** What was read and what was not. */
struct gw_log_status {
	char error[240]; /**< why nothing could be read (and the remedy); empty otherwise */
	bool compressed; /**< offsets are those after decompression */
	bool ended;      /**< there was an END record */
	bool stopped;    /**< the callback stopped the reading */
	bool header;     /**< there was a HEADER */
	uint64_t bytes, blocks, records; /**< taken */
	uint64_t unknown;        /**< records of kinds this version does not know, skipped */
	uint64_t invalid;        /**< records that break the format, skipped */
	uint64_t damaged_bytes;  /**< bytes outside whole blocks, the cut-off end included */
	uint64_t missing_blocks; /**< by the sequence numbers */
	uint64_t cut_offset, cut_bytes,
		cut_wanted; /**< the block the file ends inside: where it begins,
	     what is there, what it should have; cut_wanted 0: unknown or none */
	uint64_t claimed;   /**< records according to END; 0 when there is none */
	const char
		*read_error; /**< static: reading stopped early because of this; NULL otherwise */
	uint32_t notes;      /**< damages found; the first GW_LOG_NOTES are listed */
	struct gw_log_note note[GW_LOG_NOTES];
};

/**
 * Read the log at @p path ("-": standard input), calling @p record with @p arg for each record.
 * Fills @p status. Returns false when the file is not a log this version can read at all;
 * status->error then holds the reason.
 */
bool gw_log_read(const char *path, gw_log_record_fn *record, void *arg,
		 struct gw_log_status *status);

/** The same for @p length bytes in memory. */
bool gw_log_read_memory(const void *data, size_t length, gw_log_record_fn *record, void *arg,
			struct gw_log_status *status);

/** Whether everything the process wrote was read: closed in good order, nothing lost or invalid. */
bool gw_log_whole(const struct gw_log_status *status);

/**
 * Line @p line, from 0, of the account of what is missing, into @p out; false when there is no
 * such line. A log that was read whole has none.
 */
bool gw_log_complaint(const struct gw_log_status *status, unsigned line, char *out, size_t size);

/** The @p n-th string of the record's tail, from 0; "" when there is none. */
const char *gw_log_text(const struct gw_log_record *record, unsigned n);

/** The value of @p key in a HEADER's key=value strings; "" when there is none. */
const char *gw_log_value(const struct gw_log_record *record, const char *key);

#endif
