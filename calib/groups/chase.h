/* Pointer chases of kernels/chase.cu: memory with a chain in it, followed from a chosen SM. */
#ifndef GW_CALIB_GROUPS_CHASE_H
#define GW_CALIB_GROUPS_CHASE_H

#include "calib/bench.h"

enum {
	GW_LINE = 128,            /**< bytes of a cache line */
	GW_PAGE = 2 << 20,        /**< bytes of the pages that cuMemAlloc maps */
	GW_CHASE_LOADS = 1 << 12, /**< most loads timed one by one: their times fit shared memory */
};

/** A chain laid out in device memory. */
struct gw_chase {
	struct gw_bench *bench;
	CUdeviceptr memory, claim, result, cycles;
	size_t bytes; /**< of memory */
	/*
	 * The kernels: mean of many loads through L1 or L2, each load on its own, and the same
	 * without the load.
	 */
	CUfunction build, ca, cg, each_ca, each_cg, each_none;
	CUdeviceptr next; /**< where the chain goes on */
	unsigned links;   /**< of the chain */
};

/** One following of the chain. */
struct gw_chase_run {
	CUfunction kernel; /**< one of the chase's */
	size_t warm;       /**< bytes from the start of memory brought into L2 before */
	unsigned skip;     /**< links followed untimed */
	unsigned loads;    /**< links timed, a multiple of 16 */
	unsigned sm;       /**< SM it runs on */
};

/** Memory of @p bytes, less where there is less, and the kernels. False: noted. */
bool gw_chase_open(struct gw_chase *c, struct gw_bench *b, size_t bytes);

/** Lay a chain over the first @p footprint bytes, a link in every @p stride. */
bool gw_chase_lay(struct gw_chase *c, size_t footprint, size_t stride);

/** Cycles per load of a run of `ca` or `cg`; NaN where it failed, noted. */
double gw_chase_mean(struct gw_chase *c, const struct gw_chase_run *run);

/**
 * Cycles of each load of a run of a kernel that times them one by one (at most GW_CHASE_LOADS), the
 * cost of the clock included, to @p cycles. False: noted.
 */
bool gw_chase_each(struct gw_chase *c, const struct gw_chase_run *run, double *cycles);

#endif
