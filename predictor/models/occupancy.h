/*
 * Blocks and warps of a launch that an SM holds at once, the limit that decides, and the waves of
 * the grid. Compute capability 2.0 to 12.1.
 */
#ifndef GW_OCCUPANCY_H
#define GW_OCCUPANCY_H

#include "predictor/core/device.h"
#include "predictor/core/types.h"

/** What can limit the number of resident blocks, in the order a tie is decided. */
enum gw_occupancy_limit {
	GW_OCCUPANCY_WARPS,     /**< warp slots (threads) of the SM */
	GW_OCCUPANCY_BLOCKS,    /**< block slots of the SM */
	GW_OCCUPANCY_REGISTERS, /**< register file */
	GW_OCCUPANCY_SHARED,    /**< shared memory */
	GW_OCCUPANCY_LIMITS
};

/** Residency of a launch. */
struct gw_occupancy {
	uint32_t blocks_per_sm;              /**< resident blocks per SM, at least 1 */
	uint32_t warps_per_block;            /**< warps of a block, the last one rounded up */
	uint32_t warps_per_sm;               /**< resident warps per SM */
	uint32_t limit[GW_OCCUPANCY_LIMITS]; /**< blocks that each limit would allow; UINT32_MAX:
						any */
	enum gw_occupancy_limit limited_by;  /**< the one that decides */
	double fraction;                     /**< resident warps over the SM's warp slots, 0 to 1 */
	uint64_t resident_blocks; /**< blocks the GPU holds at once; whole clusters only */
	uint64_t full_waves;      /**< times the GPU is filled completely */
	uint64_t last_blocks;     /**< blocks left for the last wave; 0 when it is full too */
	double waves;             /**< grid over resident_blocks */
	double last_fill;         /**< fill of the last wave, above 0 to 1 */
};

/**
 * Compute the residency of @p launch. Limits come from the device profile; those it lacks, and the
 * allocation units, from the vendor's table of the compute capability. Returns NULL, or a static
 * sentence with the reason for no answer (an unknown input, or a launch that the GPU would refuse);
 * @p out is then unspecified.
 *
 * With clusters the result is an upper bound: the profile does not know how SMs are grouped into
 * GPCs, which a cluster may not cross.
 */
const char *gw_occupancy_of(const struct gw_device *device, const struct gw_launch *launch,
			    struct gw_occupancy *out);

/** Short lower-case name of a limit, never NULL. */
const char *gw_occupancy_limit_name(enum gw_occupancy_limit limit);

#endif
