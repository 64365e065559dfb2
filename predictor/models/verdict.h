/* The bound of a launch, with the numbers that decide it and their confidence. */
#ifndef GW_VERDICT_H
#define GW_VERDICT_H

#include "predictor/models/model.h"

enum { GW_EVIDENCE_MAX = 8 };

/** One number behind a verdict. */
struct gw_evidence {
	const char *what; /**< static string */
	double value;
	const char *unit; /**< static string */
};

/** Why a launch is latency-bound. */
enum gw_latency_cause {
	GW_LATENCY_NONE,        /**< it is not, or the residency is unknown */
	GW_LATENCY_PARALLELISM, /**< the grid does not fill the GPU once */
	GW_LATENCY_OCCUPANCY,   /**< an SM holds less than half of the warps it could */
	GW_LATENCY_DEPENDENCES, /**< warps are there, but each waits for its own results */
};

struct gw_verdict {
	enum gw_bound bound;
	const char *resource; /**< name in the estimate: dram, l2, fp64, ...; NULL when unknown */
	enum gw_latency_cause cause; /**< for GW_BOUND_LATENCY */
	double confidence;           /**< 0 to 1; 0 when unknown */
	const char *unknown;         /**< why the bound is unknown; NULL otherwise */
	unsigned evidence_count;
	struct gw_evidence evidence[GW_EVIDENCE_MAX];
};

/**
 * Judge a launch by an estimate of the model `bounds` for it.
 *
 * Unknown when the estimate is, or when issue or device memory could not be computed: an unmeasured
 * resource cannot be excluded. Confidence is the product of the confidence of the deciding amount,
 * the lead of the largest resource (its time over the sum of the two largest: 1 alone, 0.5 in a
 * tie), and the share of resources known.
 */
void gw_verdict_of(const struct gw_device *device, const struct gw_launch *launch,
		   const struct gw_work *work, const struct gw_estimate *bounds,
		   struct gw_verdict *out);

/**
 * Judge a launch that was measured to take @p seconds, by the share of each peak of the GPU that it
 * reached.
 *
 * Bound by the memory level or pipe nearest to its peak, where that is 60% or more; by its launch
 * where starting an empty grid takes 60% of the time; else by latency. Unknown when issue or device
 * memory could not be computed: an unmeasured resource cannot be excluded. Confidence is the
 * product of the confidence of the deciding amount, the share of resources known, and the distance
 * from the line of 60%.
 */
void gw_verdict_measured(const struct gw_device *device, const struct gw_launch *launch,
			 const struct gw_work *work, double seconds, struct gw_verdict *out);

/** Short lower-case name of a cause, empty for none; never NULL. */
const char *gw_latency_cause_name(enum gw_latency_cause cause);

/** The verdict as a phrase, as in "memory-bound (dram)"; writes at most @p size bytes. */
void gw_verdict_text(const struct gw_verdict *verdict, char *text, size_t size);

#endif
