/*
 * The two compressions of fatbin entries. LZ4's block format takes one page of code, so it is
 * read here, with no library to find; zstd's does not, so libzstd is linked: statically and
 * hidden, because the preloaded library may need nothing but libc and libm. Its workspace (some
 * 160 KiB) is given back after each use.
 */
#ifndef GW_CODE_COMPRESS_H
#define GW_CODE_COMPRESS_H

#include "predictor/core/arena.h"
#include "predictor/code/binary/bytes.h"

/** How an entry of a fatbin is stored. */
enum gw_compression { GW_COMPRESSION_NONE, GW_COMPRESSION_LZ4, GW_COMPRESSION_ZSTD };

/** "none", "lz4", "zstd". */
const char *gw_compression_name(enum gw_compression compression);

/** Unpack an LZ4 block of exactly @p size bytes into @p out. NULL, or what is wrong with it. */
const char *gw_lz4_unpack(struct gw_bytes packed, uint8_t *out, size_t size);

/**
 * Unpack @p packed, @p size bytes when unpacked, into @p arena and @p out. NULL, or what is wrong
 * (a static text): the packed bytes, their length, or the arena's limit.
 */
const char *gw_unpack(enum gw_compression compression, struct gw_bytes packed, uint64_t size,
		      struct gw_arena *arena, struct gw_bytes *out);

/*
 * The way back: a cubin as an entry of a fatbin, in LZ4's block format, which gw_images_open()
 * reads. Piece by piece, so that a caller with other duties is never kept long.
 */
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
