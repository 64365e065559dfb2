/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs a cubin as an entry of a fatbin, compressed in LZ4's block format: what gw_images_open()
 * reads. Piece by piece, so that a caller with other duties is never kept long. Machine code
 * shrinks to a half or a tenth.
 */
#ifndef GW_CODE_PACK_H
#define GW_CODE_PACK_H

#include "predictor/code/binary/bytes.h"

enum {
	GW_PACK_HEAD = 80,     /**< bytes before what is packed */
	GW_PACK_PLACES = 4096, /**< places in the input that are remembered */
};

/** A cubin being packed. */
struct gw_pack {
	struct gw_bytes in;
	uint8_t *out; /**< of `room` bytes, of which `made` are made */
	size_t room, made;
	size_t at, anchor; /**< in the input: how far it was read, and packed */
	uint32_t place[GW_PACK_PLACES];
};

/** How far it has come. */
enum gw_pack_end { GW_PACK_MORE, GW_PACK_DONE, GW_PACK_NO_ROOM };

/** Begin to pack @p in, less than 4 GiB, into the @p room bytes at @p out. */
void gw_pack_begin(struct gw_pack *p, struct gw_bytes in, uint8_t *out, size_t room);

/** Go on for some @p bytes of the input. Once it is done p->made bytes are a whole container; it
 *  has no room where the cubin does not shrink to what was given. */
enum gw_pack_end gw_pack_go_on(struct gw_pack *p, size_t bytes);

#endif
