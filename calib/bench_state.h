/* State of the bench, shared by its files and calibrate.c, not by groups. */
#ifndef GW_CALIB_BENCH_STATE_H
#define GW_CALIB_BENCH_STATE_H

#include "calib/bench.h"
#include "calib/nvml/nvml.h"
#include "predictor/profile/profile.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	GW_BENCH_MODULES = 64,  /**< most modules that are loaded */
	GW_BENCH_BUFFERS = 256, /**< most pieces of memory a group may hold */
	GW_BENCH_CLOCKS = 1024, /**< most clock samples kept per group */
};

/** Listener of a calibration; see calibrate.h. */
struct gw_calibration_listener;

struct gw_bench_state {
	struct gw_nvml nvml;
	struct gw_profile *profile; /**< what is published goes here */
	const struct gw_calibration_listener *listener;
	const volatile int *stop; /**< the user's request to stop; NULL: none */
	const char *samples;      /**< folder for raw samples; NULL: none are written */

	/* The group that runs */
	const char *group;
	double started, limit; /**< seconds of the monotonic clock */
	double full_limit;     /**< when the whole has to end */
	unsigned published, refused;
	const char *stopped;            /**< why the group must return; NULL: it need not */
	char failure[GW_PROFILE_TEXT];  /**< the driver error that ends the calibration; "": none */
	char reason[GW_PROFILE_TEXT];   /**< what failed last in the group; "": nothing */
	bool lost;                      /**< the GPU no longer answers: no further calls */
	double done_before, share, all; /**< seconds of groups that ended, of this one, of all */
	double clocks[GW_BENCH_CLOCKS];
	size_t clock_count;
	uint64_t throttle;
	double looked; /**< when the clock was last sampled */

	CUmodule modules[GW_BENCH_MODULES];
	size_t module_count;
	CUdeviceptr buffers[GW_BENCH_BUFFERS];
	size_t buffer_count;

	/* The latch and the busy kernel (kernels/support.cu) */
	CUfunction latch, busy, randomise;
	uint32_t seed;  /**< of the next random contents */
	uint32_t *gate; /**< host memory the GPU sees: [0] the gate, [1] whether it was opened in
			   time */
	CUdeviceptr gate_device, cycles;
	CUevent before, after;
};

/** Seconds of the monotonic clock. */
double gw_bench_now(void);

/** Load the modules and create what the bench itself needs; false with the reason in @p error. */
bool gw_bench_open(struct gw_bench *b, char *error, size_t size);
void gw_bench_close(struct gw_bench *b);

/** Begin and end a group: its clock record, limits and memory. */
void gw_bench_begin(struct gw_bench *b, const char *group, double seconds);
void gw_bench_end(struct gw_bench *b);

/** Run every SM for @p seconds and return its clock in Hz; NaN on failure. */
double gw_bench_load(struct gw_bench *b, double seconds);

/* Raw samples: one CSV file a series, in the folder --samples names. */

/**
 * Write FOLDER/SERIES.csv: the line @p columns, then @p n_rows lines of @p n_columns numbers, each
 * with the fewest digits that read back to it. Returns false with why in @p error.
 */
bool gw_samples_write(const char *folder, const char *series, const char *columns,
		      const double *rows, size_t n_rows, size_t n_columns, char *error,
		      size_t size);

#endif
