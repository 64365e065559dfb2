/*
 * A distribution in bounded memory: an exponential histogram with the buckets of Prometheus' native
 * histograms. At schema 3 each bucket is 2^(1/8) times as wide as the one before it, so that a
 * quantile is within 4.5% of the exact one. Values that span more than the buckets there are (a
 * factor of 256 at schema 3) halve the schema's resolution: pairs of buckets become one.
 */
#ifndef GW_SKETCH_H
#define GW_SKETCH_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GW_SKETCH_BUCKETS = 64,
	GW_SKETCH_SCHEMA = 3, /**< of an empty sketch */
	GW_SKETCH_SCHEMA_LEAST =
		-1, /**< 64 buckets of a factor of 4 hold every value that counts */
};

/** Values beyond these count as the nearer one of them in a bucket; `sum`, `low`, `high` are exact.
 */
#define GW_SKETCH_LEAST 1e-18
#define GW_SKETCH_MOST  1e18
enum { GW_SKETCH_INDEX_MOST = 479 }; /**< gw_sketch_index(GW_SKETCH_MOST) */

/** Zero-initialised is empty. */
struct gw_sketch {
#define SKETCH_FIELD(type, name, dims, unit, meaning) type name dims;
#include "predictor/core/sketch.def"
#undef SKETCH_FIELD
};

/** The index at schema 3 of the bucket of @p value, finite and above 0. */
int32_t gw_sketch_index(double value);

/** Upper end of bucket @p index at @p schema. */
double gw_sketch_bound(int32_t schema, int32_t index);

/** Largest relative error of a quantile at @p schema. */
double gw_sketch_error(int32_t schema);

/** Add @p value, @p times times. One that is not finite is left out. */
void gw_sketch_add(struct gw_sketch *s, double value, uint64_t times);

/** Add all that @p from holds, which is valid. The result has the coarser of the two schemas, or
 * less. */
void gw_sketch_merge(struct gw_sketch *into, const struct gw_sketch *from);

/**
 * What @p now holds more than @p before, an earlier state of it, with the extremes of @p now; all
 * of @p now where @p before is none. Both are valid; @p more may be neither.
 */
void gw_sketch_since(const struct gw_sketch *now, const struct gw_sketch *before,
		     struct gw_sketch *more);

/** The @p share-quantile (0.5: the median), 0 to 1; NaN when empty. */
double gw_sketch_quantile(const struct gw_sketch *s, double share);

/** Whether @p s, from a file, is one that gw_sketch_add() makes: its fields are in their ranges. */
bool gw_sketch_valid(const struct gw_sketch *s);

#endif
