/* The blocks of a log, of every version, as its reader takes them. */
#ifndef GW_CLI_LOG_BLOCK_H
#define GW_CLI_LOG_BLOCK_H

#include "predictor/log/block.h"

/** What the header of a block says. */
struct log_block {
	uint32_t head;   /**< bytes of the header itself */
	uint32_t length; /**< bytes on disk that follow it */
	uint32_t raw;    /**< bytes of its records */
	uint32_t space; /**< of a copy: bytes from its header to what follows; else head + length */
	uint32_t sequence, flags, crc;
	struct gw_packed_block packed; /**< since version 3; magic is 0 before */
};

enum {
	LOG_BLOCK_HEAD_LEAST = sizeof(struct gw_block),
	LOG_BLOCK_HEAD_MOST = sizeof(struct gw_packed_block)
};

/** The header in the @p size bytes at @p at; false where none that can be right begins there. */
bool log_block_parse(const unsigned char *at, size_t size, struct log_block *block);

/** Where in the @p size bytes at @p from a block may begin; NULL when nowhere. */
const unsigned char *log_block_find(const unsigned char *from, size_t size);

/**
 * Check the @p block whose @p data follow its header, and take its records to @p raw, which has
 * GW_BLOCK_MAX bytes. NULL, or what is wrong with it.
 */
const char *log_block_open(const struct log_block *block, const unsigned char *data,
			   struct gw_block_model *model, unsigned char *raw);

#endif
