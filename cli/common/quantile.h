/*
 * Medians in bounded memory. Up to GW_QUANTILE_EXACT values are kept and quantiles are exact;
 * beyond that they are counted in logarithmic buckets whose middle is within 0.5% of every
 * value in them. So are all but short lists once GW_QUANTILE_TOTAL values are kept in all.
 */
#ifndef GW_QUANTILE_H
#define GW_QUANTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GW_QUANTILE_EXACT = 65536,    /**< values kept one by one; 512 KiB */
	GW_QUANTILE_TOTAL = 16 << 20, /**< the same over all quantiles of the process; 128 MiB */
};

/** Zero-initialised is empty. Free with gw_quantile_free. */
struct gw_quantile {
	uint64_t count;
	double *values; /* NULL once the buckets are in use */
	size_t room;
	uint64_t *buckets;
	double low, high; /* of all values: what a bucket's middle must not leave */
	bool sorted;
};

/** Add a value; negative ones count as 0, NaN is left out. */
void gw_quantile_add(struct gw_quantile *q, double value);

/** Add a value @p times times; medians are no longer exact then. */
void gw_quantile_add_times(struct gw_quantile *q, double value, uint64_t times);

/** The @p share-quantile (0.5: the median, the mean of the two middle ones); NaN when empty. */
double gw_quantile(struct gw_quantile *q, double share);

/** Whether quantiles are exact. */
bool gw_quantile_exact(const struct gw_quantile *q);

void gw_quantile_free(struct gw_quantile *q);

#endif
