/*
 * Tensor maps (CUtensorMap), by which a copy finds a tile of a tensor. A kernel gets them among its
 * parameters; from sm_90 on.
 */
#ifndef GW_CODE_TENSOR_MAP_H
#define GW_CODE_TENSOR_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GW_TENSOR_RANK = 5,          /**< dimensions of a tensor, at most */
	GW_TENSOR_MAP_BYTES = 64,    /**< of a map, as far as a copy reads it */
	GW_TENSOR_MAPS = 16,         /**< of a launch that are looked at */
	GW_TENSOR_ITERATIONS = 4096, /**< of loops, whose tiles are looked at one by one */
};

/** What a map describes. Dimension 0 is the innermost, whose elements lie side by side. */
struct gw_tensor_map {
	uint64_t address;                /**< of the first element */
	uint64_t dim[GW_TENSOR_RANK];    /**< elements */
	uint64_t stride[GW_TENSOR_RANK]; /**< bytes from one to the next; of dimension 0 its
					      elements' size, rounded down */
	uint32_t box[GW_TENSOR_RANK];    /**< elements that a copy reaches over */
	uint32_t every[GW_TENSOR_RANK];  /**< of these it takes each such one; at least 1 */
	uint16_t element_bits;           /**< 4 to 64 */
	uint8_t rank;                    /**< 1 to GW_TENSOR_RANK */
	bool im2col; /**< a copy takes box[0] channels of box[1] pixels, wherever these lie */
};

/**
 * Read a map from its GW_TENSOR_MAP_BYTES. The layout is that of sm_90, found by encoding maps of
 * all kinds with the driver. What CUDA adds behind these bytes is for the host; libraries that make
 * their maps themselves leave it out. False where the bytes cannot be a map.
 */
bool gw_tensor_map_read(struct gw_tensor_map *m, const uint8_t *bytes);

/** Bytes of the whole tensor, without what its strides leave out. */
double gw_tensor_bytes(const struct gw_tensor_map *m);

/** Bytes of memory in whole sectors of 32 bytes that a tile moves: of the box at @p at, the part
 * that lies in the tensor. @p at NULL: on average over tiles side by side that cover it. */
double gw_tensor_tile_bytes(const struct gw_tensor_map *m, const int32_t *at);

#endif
