#include "cli/top/histogram.h"

#include "cli/top/model.h"

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

const struct gw_live_config *top_row_config(const struct top_row *r, size_t at)
{
	const struct top_process *p = r->process;

	return p->brief[at].whole && p->row[p->brief[at].row] == r ? &p->config[at] : NULL;
}

void top_row_sketches(const struct top_row *r, struct gw_sketch *time, struct gw_sketch *ratio)
{
	const struct top_process *p = r->process;

	*time = *ratio = (struct gw_sketch){0};
	for (size_t i = 0; i < p->configs; i++) {
		const struct gw_live_config *c = top_row_config(r, i);

		if (c) {
			gw_sketch_merge(time, &c->time);
			gw_sketch_merge(ratio, &c->ratio);
		}
	}
}
