/*
 * Tools of a calibration group: kernels, memory, timed launches, and the only way a value gets into
 * the profile. Everything a group takes is freed when it ends, and every failure is noted with its
 * reason, so a group only has to return.
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
	bool quick;     /**< quick run */
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

/** Random bits into @p bytes (a multiple of 4) at @p to: zeros compress and toggle no wires. */
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
 * Take @p count samples of the GPU seconds of one launch: each by a pair of events around @p
 * launches back-to-back launches, which a latch kernel with a timeout holds until all are queued. A
 * warm-up comes first. Returns how many it got: fewer when stopped or failed, noted.
 */
size_t gw_bench_time(struct gw_bench *b, CUfunction f, struct gw_shape s, void **args,
		     unsigned launches, double *seconds, size_t count);

/**
 * Publish the median of @p samples as @p p with its robust spread and count; refused, with the
 * reason, when the spread exceeds the gate of the parameter's unit. @p how describes the
 * measurement in one line.
 */
void gw_bench_publish(struct gw_bench *b, enum gw_param p, const double *samples, size_t n,
		      const char *how);

/** The same with value and spread computed by the group; @p spread is NaN when unknown. */
void gw_bench_publish_value(struct gw_bench *b, enum gw_param p, double value, double spread,
			    size_t n, const char *how);

/** Publish a value that is known without a measurement: @p from names the driver's call or, for
 * GW_METHOD_VENDOR, the document. */
void gw_bench_publish_reported(struct gw_bench *b, enum gw_param p, double value, enum gw_method method,
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

/** The reason for leaving out a value that a short run cannot measure within 5% of a long one. */
#define GW_QUICK_REFUSED "a quick run can't measure it within 5%: measure without --quick"

/** @p p stays unknown, and why. */
void gw_bench_refuse(struct gw_bench *b, enum gw_param p, const char *why);
/** The same for a curve. */
void gw_bench_refuse_curve(struct gw_bench *b, enum gw_curve_id c, const char *why);

/**
 * The reason why nothing was measured: a request to stop, the driver's error, missing memory or
 * kernel; @p otherwise when none of these happened. For gw_bench_refuse.
 */
const char *gw_bench_reason(const struct gw_bench *b, const char *otherwise);

/** A remark for the user about this group. */
void gw_bench_note(struct gw_bench *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Raw samples into SERIES.csv of --samples; nothing without it. @p columns is the header,
 * "name,name"; @p rows holds @p n_rows times @p n_columns numbers.
 */
void gw_bench_samples(struct gw_bench *b, const char *series, const char *columns,
		      const double *rows, size_t n_rows, size_t n_columns);

/**
 * Progress of the group, 0 to 1. Also samples the SM clock and the throttle reasons, so call it
 * between launches, right after one.
 */
void gw_bench_step(struct gw_bench *b, double done);

/** True when the group must return: a signal, its time limit, or a lost GPU. */
bool gw_bench_stopped(struct gw_bench *b);

/** The functions of groups.def; false when nothing could be measured. */
#define GROUP(name, function, full_seconds, quick_seconds, meaning) \
	bool function(struct gw_bench *b);
#include "calib/groups.def"
#undef GROUP

#endif
