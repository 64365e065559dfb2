/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a calibration group measures with: kernels, memory, timed launches, and the one way a
 * value gets into the profile. Everything a group takes here is given back when it ends, and
 * whatever fails is noted with its reason, so that a group need only stop.
 */
#ifndef GW_CALIB_BENCH_H
#define GW_CALIB_BENCH_H

#include "calib/cuda.h"
#include "predictor/core/device.h"

struct gw_bench_state;
struct gw_nvml;

/** The bench a group is handed. */
struct gw_bench {
	const struct gw_cuda *cu;   /**< driver functions */
	const struct gw_nvml *nvml; /**< NVML's view of the device (nvml.h) */
	CUdevice device;
	CUcontext context; /**< current on the calling thread */
	CUstream stream;   /**< everything here runs in it */
	const struct gw_device
	        *known; /**< published so far; group `direct` comes first; NaN: unknown */
	bool quick;     /**< the short run was asked for */
	struct gw_bench_state *state; /**< the bench's own */
};

/** Extent of a launch: one dimension, and dynamic shared memory in bytes. */
struct gw_shape {
	unsigned grid, block, shared;
};

/** The embedded kernel @p name; NULL, noted, when no module that fits this device has it. */
CUfunction gw_bench_kernel(struct gw_bench *b, const char *name);

/** @p bytes of zeroed device memory until the group ends; 0, noted, when there is not enough. */
CUdeviceptr gw_bench_memory(struct gw_bench *b, size_t bytes);

/** The most bytes gw_bench_memory gives in one piece with a margin left for others. */
size_t gw_bench_memory_free(struct gw_bench *b);

/** Random bits into @p bytes (a multiple of 4) at @p to: zeros compress and switch no wires. */
bool gw_bench_randomise(struct gw_bench *b, CUdeviceptr to, size_t bytes);

/** Copy from or to device memory, waiting for what runs; false, noted, on an error. */
bool gw_bench_read(struct gw_bench *b, void *host, CUdeviceptr from, size_t bytes);
bool gw_bench_write(struct gw_bench *b, CUdeviceptr to, const void *host, size_t bytes);

/**
 * Launch @p f and wait, for a bounded time; false, noted, on an error. Shared memory beyond
 * 48 KiB is opted in here.
 */
bool gw_bench_run(struct gw_bench *b, CUfunction f, struct gw_shape s, void **args);

/** The two halves of gw_bench_run, for groups that queue more than one launch. */
bool gw_bench_launch(struct gw_bench *b, CUfunction f, struct gw_shape s, void **args);
bool gw_bench_wait(struct gw_bench *b);

/**
 * For driver calls a group makes itself: true when @p result is CUDA_SUCCESS. Too little memory, a
 * bad value and what is not supported are noted with @p call; any other error ends the calibration.
 */
bool gw_bench_good(struct gw_bench *b, CUresult result, const char *call);

/**
 * Take @p count samples of the GPU seconds of one launch: each by a pair of events around
 * @p launches launches back to back, which a latch kernel with a timeout holds until all are
 * queued. A warm-up comes first. Returns how many it got: fewer when stopped or failed, noted.
 */
size_t gw_bench_time(struct gw_bench *b, CUfunction f, struct gw_shape s, void **args,
                     unsigned launches, double *seconds, size_t count);

/**
 * Publish the median of @p samples as @p p with its robust spread and count; refused, with the
 * reason, where the spread is too wide for the parameter's unit. @p how says how it was measured,
 * in one line.
 */
void gw_bench_publish(struct gw_bench *b, enum gw_param p, const double *samples, size_t n,
                      const char *how);

/** The same with value and spread worked out by the group; @p spread is NaN when not known. */
void gw_bench_publish_value(struct gw_bench *b, enum gw_param p, double value, double spread,
                            size_t n, const char *how);

/** Publish a value that is known without a measurement: @p from names the driver's call or, for
 * GW_METHOD_VENDOR, the document. */
void gw_bench_publish_told(struct gw_bench *b, enum gw_param p, double value, enum gw_method method,
                           const char *from);

/**
 * Publish a function: @p n points (1 to GW_CURVE_POINTS), x strictly rising, @p spread of each y
 * or NULL.
 */
void gw_bench_curve(struct gw_bench *b, enum gw_curve_id c, const double *x, const double *y,
                    const double *spread, size_t n, const char *how);

/** The line fitted to a published curve, R², and the x it holds for. */
void gw_bench_fit(struct gw_bench *b, enum gw_curve_id c, double slope, double intercept, double r2,
                  double x_low, double x_high);

/** Why a value that a short run can't tell within 5% of a long one is left out of it. */
#define GW_QUICK_REFUSED "a quick run can't tell it within 5%: measure without --quick"

/** @p p stays unknown, and why. */
void gw_bench_refuse(struct gw_bench *b, enum gw_param p, const char *why);
/** The same for a curve. */
void gw_bench_refuse_curve(struct gw_bench *b, enum gw_curve_id c, const char *why);

/**
 * Why nothing was measured: the wish to stop, the driver's error, memory or a kernel that was not
 * to be had; @p otherwise when nothing of the kind happened. For gw_bench_refuse.
 */
const char *gw_bench_reason(const struct gw_bench *b, const char *otherwise);

/** Something the user should know of this group. */
void gw_bench_note(struct gw_bench *b, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/**
 * Raw samples into SERIES.csv of --samples; nothing without it. @p columns is the header,
 * "name,name"; @p rows holds @p n_rows times @p n_columns numbers.
 */
void gw_bench_samples(struct gw_bench *b, const char *series, const char *columns,
                      const double *rows, size_t n_rows, size_t n_columns);

/**
 * Progress of the group, 0 to 1. Also looks at the SM clock and the throttle reasons, so call it
 * between launches, right after one.
 */
void gw_bench_step(struct gw_bench *b, double done);

/** True when the group should leave: a signal, its time limit, or a lost GPU. */
bool gw_bench_stopped(struct gw_bench *b);

/** The functions of groups.def; false when nothing could be measured. */
#define GROUP(name, function, full_seconds, quick_seconds, meaning)                                \
	bool function(struct gw_bench *b);
#include "calib/groups.def"
#undef GROUP

#endif
