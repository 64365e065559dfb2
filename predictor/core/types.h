/*
 * The glossary: what every room of gpuwatch means by launch, kernel, work,
 * device and prediction. Pure C11, no CUDA header.
 *
 * Conventions. Times in the models are seconds (double), times on a clock are
 * nanoseconds of CLOCK_REALTIME (uint64_t, 0 = unknown). An unknown quantity is
 * NaN together with the reason, never zero and never a guess. Strings handed to
 * a function stay the caller's; strings returned stay the callee's.
 */
#ifndef GW_TYPES_H
#define GW_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Extent of a grid, block or cluster, in blocks or threads; a dimension is at least 1. */
struct gw_dim3 {
	uint32_t x, y, z;
};

/** Number of elements in an extent. */
static inline uint64_t gw_dim3_count(struct gw_dim3 d)
{
	return (uint64_t)d.x * d.y * d.z;
}

/** The cluster that @p packed is, ten bits a dimension (struct gw_event, struct gw_live_event); 0:
 * none, which is one of a block. */
static inline struct gw_dim3 gw_cluster_of(uint32_t packed)
{
	if (!packed)
		return (struct gw_dim3){1, 1, 1};
	return (struct gw_dim3){packed & 1023, packed >> 10 & 1023, packed >> 20 & 1023};
}

/** A configuration: what, beside the kernel, decides a launch's time and is known before it runs.
 */
struct gw_config {
	struct gw_dim3 grid;     /**< blocks */
	struct gw_dim3 block;    /**< threads per block */
	struct gw_dim3 cluster;  /**< blocks per cluster; {1,1,1} where the launch has none */
	uint32_t dynamic_shared; /**< dynamic shared memory, bytes per block */
	/** Hash of the scalar arguments that the kernel's control depends on, and of strides
	 * (predictor/code/digest.h); 0: not known, or there are none. */
	uint32_t digest;
};

/** A kernel as the driver knows it; UINT32_MAX in a number means unknown. */
struct gw_kernel {
	const char *name;        /**< mangled symbol name, never NULL */
	uint32_t registers;      /**< registers per thread */
	uint32_t static_shared;  /**< static shared memory, bytes per block */
	uint32_t local;          /**< local memory, bytes per thread */
	uint32_t constant;       /**< user constant memory, bytes */
	uint32_t max_threads;    /**< most threads a block may have */
	uint32_t binary_version; /**< 10 * major + minor of the machine code */
};

/** A launch to be predicted: the kernel, its configuration, and what surrounds it. */
struct gw_launch {
	const struct gw_kernel *kernel; /**< owned by the caller, never NULL */
	struct gw_config config;
	bool from_graph; /**< a node of a graph rather than a stream launch */
};

/** Where a number of struct gw_work came from, worst first. */
enum gw_source {
#define SOURCE(NAME, name, meaning) GW_SOURCE_##NAME,
#include "predictor/core/basis.def"
};

/** Confidence from which on static work is as exact as counters; below, it is a range or a guess.
 */
#define GW_CONFIDENCE_SETTLED 0.6F
/** Confidence from which on a sampled count is as good as one that was counted. */
#define GW_CONFIDENCE_COUNTED 0.9F

/** One part of a launch's work. */
struct gw_quantity {
	double value; /**< in the unit of its row in work.def; NaN when source is NONE */
	enum gw_source source;
	float confidence; /**< 0 to 1: how far the value may be trusted; 0 when source is NONE */
};

/** Index of every row of work.def. */
enum gw_work_field {
#define WORK(name, unit, meaning) GW_WORK_##name,
#include "predictor/core/work.def"
#undef WORK
	GW_WORK_FIELDS
};

/** The work of one launch of a kernel at one configuration (rows: work.def). */
struct gw_work {
	struct gw_quantity q[GW_WORK_FIELDS];
};

/** Which resource decides a launch's time. */
enum gw_bound {
	GW_BOUND_UNKNOWN,
	GW_BOUND_MEMORY,
	GW_BOUND_COMPUTE,
	GW_BOUND_LATENCY,
	GW_BOUND_LAUNCH,
};

/** How much was known of a launch when it was predicted. */
enum gw_tier {
#define TIER(NAME, name, meaning) GW_TIER_##NAME,
#include "predictor/core/basis.def"
};

/** A prediction of one launch's GPU time, made before its measurement exists. */
struct gw_prediction {
	double seconds; /**< expected GPU time; NaN when unknown */
	/** Interval meant to hold the time with 90% probability; NaN when unknown. Where seconds is
	 * unknown because memory contents decide how much is done, low alone is known: the launch
	 * takes at least this. */
	double low, high;
	enum gw_tier tier;
	enum gw_source work; /**< best source of what is known of the launch's work */
	enum gw_bound bound; /**< by the estimate from that work; unknown without one */
	uint64_t known;      /**< number of the last observation that could be used */
	bool multimodal;     /**< earlier times of this configuration fall into several groups */
	bool published;      /**< made when observation `known` was published, not on request */
	const char *reason;  /**< why seconds is NaN; static string, NULL otherwise */
};

/** Short lower-case name of an enumerator, for output; never NULL. */
const char *gw_bound_name(enum gw_bound bound);
const char *gw_tier_name(enum gw_tier tier);
const char *gw_source_name(enum gw_source source);

/** A row of a list of fields: static texts, both NULL where there is no such row. */
struct gw_field_info {
	const char *name, *unit;
};
/** The row whose name is at @p text, NULL: none, and whose unit is behind it. So a list keeps its
 * texts in place: a table of pointers to them is relocated in every process. */
struct gw_field_info gw_field_at(const char *text);

/** Unit of a work field; NULL: there is no such field. */
const char *gw_work_unit(unsigned field);
/** Row of a work field, and what it means, for people; apart, because the preloaded library has no
 * use for them. */
struct gw_field_info gw_work_info(unsigned field);
const char *gw_work_meaning(unsigned field);

/** A work of which nothing is known. */
void gw_work_clear(struct gw_work *work);

/** Standard deviations of a normal distribution within which nine in ten values lie. */
#define GW_NINE_IN_TEN 1.645

/** Standard deviation of the logarithm of time that memory contents decide, where the work is what
 * is likely of it; 0: they decide nothing of it, or it is a lower limit. */
double gw_work_spread(const struct gw_work *work);

/** Where memory contents decide how much of @p work there is, and none of it was counted: time that
 * the launch takes at least, s; else 0. Such work is a lower limit, and nothing is predicted from
 * it. */
double gw_work_least(const struct gw_work *work);

/** The row that says how much @p field is at most; GW_WORK_FIELDS where there is none. */
enum gw_work_field gw_work_upper_bound(enum gw_work_field field);

/** Forget in @p work amounts of more than twice what they are known to be at most: both were
 * sampled, at different times, and one sample went astray. */
void gw_work_drop_refuted(struct gw_work *work);

/** Forget in @p work what says only how much something is at most; true where that leaves nothing.
 */
bool gw_work_drop_most(struct gw_work *work);

#endif
