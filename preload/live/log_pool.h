/*
 * Where records stay until they are in the file: blocks of memory that pass from the worker, which
 * fills them, to the log's writer and back. The layout is one that another process may map.
 */
#ifndef GW_LOG_POOL_H
#define GW_LOG_POOL_H

#include <stdatomic.h>
#include <stdint.h>

enum { GW_LOG_BLOCKS = 4, GW_LOG_BLOCK = 256 << 10 };

enum gw_log_block_state {
	GW_LOG_EMPTY,
	GW_LOG_FILLING, /**< the worker appends; `length` bytes are whole records */
	GW_LOG_FULL,    /**< nobody changes it until it is in the file, or lost and counted */
};

/** What the writer does with a block. */
enum gw_log_block_use {
	GW_LOG_APPEND,   /**< behind what the file has */
	GW_LOG_REMEMBER, /**< there is no room: only what a new file would need is kept */
	GW_LOG_COPY,     /**< one of the two copies at the end of the file */
};

struct gw_log_block {
	_Atomic uint32_t state;  /**< enum gw_log_block_state */
	_Atomic uint32_t length; /**< bytes of whole records */
	_Atomic uint64_t
		sequence; /**< 1, 2, 3 … within the process; the block's number in the file */
	uint32_t use;     /**< enum gw_log_block_use */
	uint32_t epoch;   /**< gw_log_writer_epoch() when it was begun */
	_Alignas(64) unsigned char data[GW_LOG_BLOCK];
};

struct gw_log_pool {
	struct gw_log_block block[GW_LOG_BLOCKS];
};

#endif
