/* A sketch as a few bars. */
#ifndef GW_TOP_HISTOGRAM_H
#define GW_TOP_HISTOGRAM_H

#include "predictor/core/sketch.h"

#include <stddef.h>

enum { TOP_BARS_MOST = GW_SKETCH_BUCKETS };

struct top_bar {
	double low;   /**< values above it; of the first bar also all below */
	double high;  /**< and up to it; of the last bar also all above */
	double share; /**< of the values, 0 to 1 */
};

/**
 * At most @p most bars of neighbouring buckets, all of as many, into @p bars [TOP_BARS_MOST]. They
 * span 99% of the values: what is beyond is in the first and the last one. Returns how many; 0 for
 * an empty sketch.
 */
size_t top_bars(const struct gw_sketch *sketch, size_t most, struct top_bar *bars);

#endif
