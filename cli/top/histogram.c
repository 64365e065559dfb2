/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/histogram.h"

/* Bucket, by its place, in which the value of rank @p rank of those above 0 is. */
static int bucket_of(const struct gw_sketch *s, double rank)
{
	double seen = 0;

	for (int i = 0; i < GW_SKETCH_BUCKETS; i++) {
		seen += (double)s->bucket[i];
		if (seen >= rank && s->bucket[i])
			return i;
	}
	return -1;
}

static double in_all(const struct gw_sketch *s)
{
	double all = 0;

	for (int i = 0; i < GW_SKETCH_BUCKETS; i++)
		all += (double)s->bucket[i];
	return all;
}

size_t top_bars(const struct gw_sketch *s, size_t most, struct top_bar *bars)
{
	const double all = in_all(s);
	const int first = bucket_of(s, 0.005 * all), last = bucket_of(s, 0.995 * all);
	int width;
	size_t count;

	if (!(all > 0) || first < 0 || last < first || !most)
		return 0;
	most = most < TOP_BARS_MOST ? most : TOP_BARS_MOST;
	width = (last - first + (int)most) / (int)most;
	count = (size_t)((last - first) / width + 1);
	for (size_t i = 0; i < count; i++) {
		const int from = first + (int)i * width;

		bars[i] = (struct top_bar){gw_sketch_bound(s->schema, s->first + from - 1),
		                           gw_sketch_bound(s->schema, s->first + from + width - 1),
		                           0};
	}
	for (int i = 0; i < GW_SKETCH_BUCKETS; i++) {
		const int at = i < first ? 0 : i > last ? (int)count - 1 : (i - first) / width;

		bars[at].share += (double)s->bucket[i] / all;
	}
	return count;
}
