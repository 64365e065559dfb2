/*
 * What a reader needs to make sense of the log: every record that is written once, packed and kept.
 * It is written again when part of the file was lost, or when a new file is begun. The log's writer
 * only.
 */
#ifndef GW_LOG_DICTIONARY_H
#define GW_LOG_DICTIONARY_H

#include "predictor/log/block.h"

/** Reserve its memory. */
void gw_log_dictionary_start(void);

/** Forget all; a forked child's part, too. */
void gw_log_dictionary_reset(void);

/**
 * Take what is to be kept of @p length bytes of records: of a log that is a ring of so many bytes
 * (@p ring, else 0) a quarter of that at most.
 */
void gw_log_dictionary_add(struct gw_block_model *model, const unsigned char *records,
			   uint32_t length, uint64_t ring);

/** Hand out all of it, block by block: @p size bytes, packed or not; false ends it. */
typedef bool gw_log_dictionary_fn(const unsigned char *data, uint32_t size, uint32_t raw,
				  bool packed);
bool gw_log_dictionary_each(struct gw_block_model *model, gw_log_dictionary_fn *take);

/** Bytes that all of it takes in a file at most, headers included. */
uint32_t gw_log_dictionary_bytes(void);

/**
 * The process's HEADER as that of file number @p part of its log, into the @p room bytes at @p out;
 * how many bytes it takes, 0 where it has none or not so much room.
 */
uint32_t gw_log_dictionary_header(unsigned part, unsigned char *out, size_t room);

#endif
