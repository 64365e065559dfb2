/* Rates of kernels: shared by the bandwidth groups. */
#ifndef GW_CALIB_GROUPS_RATE_H
#define GW_CALIB_GROUPS_RATE_H

#include "calib/bench.h"

enum { GW_RATE_SAMPLES = 9 }; /**< of a rate */

/** A kernel and what one launch of it moves. */
struct gw_rate {
	CUfunction kernel;
	struct gw_shape shape;
	void **args;
	double amount;     /**< of what the rate counts, in one launch */
	unsigned launches; /**< back to back in one sample */
};

/** Up to GW_RATE_SAMPLES rates per second, to @p rates; returns how many. */
size_t gw_rate_samples(struct gw_bench *b, const struct gw_rate *r, double *rates);

/**
 * The same once settled: until the middle of a batch differs from that of the one before, and its
 * end from its start, by at most 1%; the last of twelve batches where they never do. On the H200
 * device memory is read a seventh slower in the first 4 ms after a pause.
 */
size_t gw_rate_settled(struct gw_bench *b, const struct gw_rate *r, double *rates);

/** Their median; NaN without any. */
double gw_rate_of(struct gw_bench *b, const struct gw_rate *r);

/**
 * Run a kernel whose blocks report their cycles, one block of the grid an SM, to @p spans, and
 * publish @p amount per block and cycle, times SMs and sm_clock, as @p p.
 */
bool gw_rate_publish_cycles(struct gw_bench *b, const struct gw_rate *r, CUdeviceptr spans,
			    enum gw_param p, const char *how);

/** SMs of the device. */
unsigned gw_rate_sms(const struct gw_bench *b);

#endif
