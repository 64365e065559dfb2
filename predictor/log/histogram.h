/*
 * The buckets of a sketch (predictor/core/sketch.h) as an AGGREGATE has them: the index of the
 * first bucket that is not empty (16 bits, signed), the schema (8 bits, signed), how many buckets
 * follow (8 bits), and of each how many values it has, 7 bits a byte, the lowest first, all but the
 * last with the bit above.
 */
#ifndef GW_HISTOGRAM_H
#define GW_HISTOGRAM_H

#include "predictor/core/sketch.h"

#include <stddef.h>

enum { GW_HISTOGRAM_MOST = 4 + GW_SKETCH_BUCKETS * 10 }; /**< bytes of one */

/** Write the buckets of @p s to @p out, which has room for GW_HISTOGRAM_MOST; how many bytes. */
size_t gw_histogram_pack(const struct gw_sketch *s, unsigned char *out);

/**
 * Read one out of @p size bytes at @p in: schema, buckets and count of @p s, the rest of which is
 * 0. How many bytes it took; 0 where it is none that gw_histogram_pack() makes, and @p s is empty.
 */
size_t gw_histogram_unpack(const unsigned char *in, size_t size, struct gw_sketch *s);

#endif
