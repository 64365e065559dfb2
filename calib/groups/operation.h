/* The operations of predictor/core/operation.def as the groups run them: kernels, operands,
 * readings. */
#ifndef GW_CALIB_OPERATION_H
#define GW_CALIB_OPERATION_H

#include "calib/bench.h"
#include "calib/groups/reference.h"

/** An operation and the shape of its kernels (kernels/code.def, kernels/wgmma.def). */
struct gw_operation {
	const char *name;
	enum gw_param latency, rate;
	size_t bytes;    /**< of its type */
	unsigned steps;  /**< in the short chain */
	unsigned parts;  /**< operations in a step */
	unsigned chains; /**< of a thread of its rate kernel */
	unsigned turn;   /**< steps of one chain in a turn of the rate kernel's loop */
	bool warpgroup;  /**< an operation of four warps, with tiles in shared memory */
};

/** All of them, in the order of the lists, ended by a row without a name. */
extern const struct gw_operation gw_operations[];

/** The operation called @p name; NULL when there is none. */
const struct gw_operation *gw_operation_of(const char *name);

/** Buffers of the operations' kernels. */
struct gw_lab {
	struct gw_bench *b;
	CUdeviceptr in, out, cycles, hidden;
	uint32_t *readings; /**< read back, GW_LAB_READINGS of them */
	void *results;      /**< read back, GW_LAB_RESULTS bytes */
	unsigned sms;
};

enum {
	GW_LAB_READINGS = 1 << 19,
	GW_LAB_RESULTS = 1 << 17,
	GW_LAB_THREADS = 1024, /**< of a block that fills an SM's schedulers */
	GW_LAB_OUT_BYTES = 64, /**< most that a thread of these kernels leaves */
};

/** Allocate a lab's contents; false, noted, on failure. Close it in any case. */
bool gw_lab_open(struct gw_lab *lab, struct gw_bench *b);
void gw_lab_close(struct gw_lab *lab);

/** Write the operands of @p operation into the kernels' input; random factors on request. */
bool gw_lab_operands(struct gw_lab *lab, const struct gw_operation *operation, bool random);

/**
 * Run @p f with @p rounds repetitions inside, and read @p count readings back. False, noted, on
 * an error.
 */
bool gw_lab_run(struct gw_lab *lab, CUfunction f, struct gw_shape shape, unsigned rounds,
		size_t count);

/**
 * Are the first @p count results right after @p steps steps of each of a thread's @p chains?
 * False, noted, when one is not.
 */
bool gw_lab_right(struct gw_lab *lab, const struct gw_operation *operation, size_t count,
		  unsigned chains, unsigned steps);

/** Dynamic shared memory a kernel of @p operation takes with @p threads in a block. */
unsigned gw_lab_shared(const struct gw_operation *operation, unsigned threads);

/** Work of every SM: warps, and cycles from its first reading to its last. */
struct gw_lab_sm {
	unsigned warps;
	uint32_t first, last;
};

/** Gather the records of @p warps warps by SM; false where one names no SM of this device. */
bool gw_lab_by_sm(const struct gw_lab *lab, size_t warps, struct gw_lab_sm *sm, unsigned sms);

#endif
