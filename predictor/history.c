/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/history.h"

#include <math.h>
#include <string.h>

/* Two groups are told apart when each holds a fifth of the times and 10% lie between them. */
static const double MODE_GAP = 1.10;
static const uint32_t MODE_SHARE = 5;

void gw_history_add(struct gw_history *h, double seconds)
{
	h->times[h->count % GW_HISTORY_WINDOW] = (float)seconds;
	h->count++;
	/* Keep the ring's position when the count would wrap. */
	if (h->count == UINT32_MAX)
		h->count = GW_HISTORY_WINDOW + UINT32_MAX % GW_HISTORY_WINDOW;
}

static void sort(float *v, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		float x = v[i];
		uint32_t j = i;

		for (; j && v[j - 1] > x; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

static double median(const float *sorted, uint32_t n)
{
	return n % 2 ? (double)sorted[n / 2]
	             : ((double)sorted[n / 2 - 1] + (double)sorted[n / 2]) / 2;
}

/* Median absolute deviation of the logarithms, scaled to a normal's standard deviation. */
static double spread(const float *sorted, uint32_t n, double middle)
{
	float d[GW_HISTORY_WINDOW];

	for (uint32_t i = 0; i < n; i++)
		d[i] = (float)fabs(log((double)sorted[i] / middle));
	sort(d, n);
	return 1.4826 * median(d, n);
}

/* Index of the first time of the upper group, 0 when there is one group only. */
static uint32_t split(const float *sorted, uint32_t n)
{
	uint32_t least = (n + MODE_SHARE - 1) / MODE_SHARE, at = 0;
	double widest = MODE_GAP;

	for (uint32_t i = least; n >= 5 && i + least <= n; i++) {
		double gap = (double)sorted[i] / (double)sorted[i - 1];

		if (gap > widest) {
			widest = gap;
			at = i;
		}
	}
	return at;
}

bool gw_history_summary(const struct gw_history *h, struct gw_history_summary *out)
{
	float sorted[GW_HISTORY_WINDOW], last;
	uint32_t n = gw_history_size(h), at, from = 0, to = n;

	if (!n)
		return false;
	memcpy(sorted, h->times, n * sizeof(*sorted));
	sort(sorted, n);
	last = h->times[(h->count - 1) % GW_HISTORY_WINDOW];
	at = split(sorted, n);
	out->multimodal = at != 0;
	if (at && last >= sorted[at])
		from = at;
	else if (at)
		to = at;
	out->low = (double)sorted[0];
	out->high = (double)sorted[n - 1];
	out->median = median(sorted + from, to - from);
	out->sigma = spread(sorted + from, to - from, out->median);
	return true;
}
