/*
 * Block and grid sizes of a described kernel, ranked without running it: the intended use of the
 * wave model (Kleimenov and Popova 2021).
 */
#ifndef GW_TUNE_H
#define GW_TUNE_H

#include "predictor/models/model.h"

/** What may be changed about a launch. */
struct gw_tune_request {
	/**
	 * The kernel's loop takes any grid (grid-stride): grids of 1, 2, 4, ... blocks per SM
	 * are tried too, up to the number of threads described. Otherwise the number of threads
	 * stays what it is and the grid follows the block.
	 */
	bool any_grid;
	/**
	 * Dynamic shared memory grows with the block (bytes per thread stay). Otherwise the
	 * bytes per block stay.
	 */
	bool shared_per_thread;
};

/** One way to launch the kernel. */
struct gw_tune_choice {
	uint32_t block;   /**< threads per block, a multiple of the warp size */
	uint64_t grid;    /**< blocks */
	uint32_t shared;  /**< dynamic shared memory, bytes per block */
	double seconds;   /**< time by the wave model; finite */
	double occupancy; /**< share of an SM's warp slots that are taken, 0 to 1 */
	double waves;     /**< grid over the blocks the GPU holds at once */
	bool described;   /**< the block and grid size that the launch came with */
};

/**
 * Rank the launches of the kernel that @p launch and @p work describe, fastest first; ties go to
 * the smaller block, then to the smaller grid. The total work is assumed independent of block and
 * grid; what work.def counts per warp is scaled with the number of warps that share it. @p options
 * may be NULL.
 *
 * Returns the number of choices in @p out (at most @p max). When it returns 0, the reason is in @p
 * why, which has room for 120 bytes.
 */
size_t gw_wave_tune(const struct gw_device *device, const struct gw_launch *launch,
		    const struct gw_work *work, const struct gw_model_options *options,
		    const struct gw_tune_request *request, struct gw_tune_choice *out, size_t max,
		    char why[120]);

#endif
