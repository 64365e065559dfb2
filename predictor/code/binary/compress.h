/* SPDX-License-Identifier: Apache-2.0 */
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

#endif
