/* The records of a block as they go to disk: packed, and back to the very bytes. */
#ifndef GW_BLOCK_H
#define GW_BLOCK_H

#include "predictor/log/record.h"

#include <stdbool.h>

/** What packing and unpacking need: some 260 KiB, nothing of which lives from block to block. */
struct gw_block_model;

/** How big it is. */
size_t gw_block_model_size(void);

/**
 * Pack @p length bytes of whole records, at most GW_BLOCK_MAX, into @p out; the bytes it took, 0
 * where they are more than @p room. @p raw is left as it is.
 */
size_t gw_block_pack(struct gw_block_model *model, unsigned char *raw, uint32_t length,
		     unsigned char *out, size_t room);

/**
 * Unpack @p length bytes of records out of the @p size bytes at @p in; false where they are not
 * what gw_block_pack() makes. @p raw is written within @p length, whatever @p in holds.
 */
bool gw_block_unpack(struct gw_block_model *model, const unsigned char *in, size_t size,
		     unsigned char *raw, uint32_t length);

/** The checksum of a GWB2 block: of its header from behind the checksum, and of its @p data. */
uint32_t gw_block_checksum(const struct gw_packed_block *head, const void *data);

#endif
