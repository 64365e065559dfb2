#include "predictor/learner/history.h"

#include <math.h>
#include <string.h>

/* Two groups are separate when each holds a fifth of the times and they are 10% apart. */
static const double MODE_GAP = 1.10;
static const uint32_t MODE_SHARE = 5;

enum {
	SHORTEST = 6, /* fewest times that establish a new level */
	LENGTHS = 4   /* stretches examined: 6, 12, 24, all */
};
static const double DECILES = 2.563; /* standard deviations between the first and the last decile of
					a normal distribution */
static const double ALIKE = 0.25;    /* a time within this share of the median agrees with it */
static const double AGREE = 2;       /* standard errors by which medians of one level may differ */
static const double MEDIAN = 1.2533; /* standard error of a median relative to that of a mean */
static const double NORMAL = 1.4826; /* standard deviations per median absolute deviation */
static const double LOOSE = 0.1;     /* spread of times without a level, in log time */
static const double FOLLOWED = 256;  /* times that a level is of, at most */

/*
 * Where the time after @p count others is kept among those drawn: the place of a random one, so
 * that each time so far is among them with the same probability; mostly none.
 */
static uint32_t drawn_place(uint32_t count)
{
	uint64_t mixed = ((uint64_t)count + 1) * 0x9e3779b97f4a7c15U;

	mixed ^= mixed >> 32;
	return count < GW_RANGE_TIMES ? count
				      : (uint32_t)((mixed & UINT32_MAX) * (count + 1) >> 32);
}

void gw_history_add(struct gw_history *h, double seconds)
{
	uint32_t place = drawn_place(h->count);

	if (place < GW_RANGE_TIMES)
		h->drawn[place] = (float)seconds;
	h->times[h->count % GW_HISTORY_WINDOW] = (float)seconds;
	h->count++;
	/* Keep the ring's position when the count would wrap. */
	if (h->count == UINT32_MAX)
		h->count = GW_HISTORY_WINDOW + UINT32_MAX % GW_HISTORY_WINDOW;
}

/* Insert @p x into the sorted @p v, which has room for one more than its @p n. */
static inline void insert(float *v, uint32_t n, float x)
{
	for (; n && v[n - 1] > x; n--)
		v[n] = v[n - 1];
	v[n] = x;
}

void gw_sort(float *v, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		insert(v, i, v[i]);
}

double gw_sorted_median(const float *sorted, uint32_t n)
{
	return n % 2 ? (double)sorted[n / 2]
		     : ((double)sorted[n / 2 - 1] + (double)sorted[n / 2]) / 2;
}

double gw_sorted_densest(const float *sorted, uint32_t n, uint32_t most)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i + most <= n; i++)
		if (sorted[i + most - 1] - sorted[i] < sorted[best + most - 1] - sorted[best])
			best = i;
	return gw_sorted_median(sorted + best, most);
}

/*
 * Median absolute deviation of the logarithms, scaled to a normal's standard deviation. The
 * deviations on either side of the middle are sorted already, so they are merged up to half.
 */
static double spread(const float *sorted, uint32_t n, double middle)
{
	uint32_t below = 0, above;
	double last = 0, before = 0;

	while (below < n && (double)sorted[below] <= middle)
		below++;
	above = below;
	for (uint32_t i = 0; i <= n / 2; i++) {
		double down = below ? middle / (double)sorted[below - 1] : HUGE_VAL;
		double up = above < n ? (double)sorted[above] / middle : HUGE_VAL;

		before = last;
		last = down < up ? down : up;
		below -= down < up;
		above += !(down < up);
	}
	return NORMAL * (n % 2 ? log(last) : (log(last) + log(before)) / 2);
}

/* Index of the first time of the upper group, 0 when there is one group only. */
static uint32_t split(const float *sorted, uint32_t n)
{
	uint32_t least = (n + MODE_SHARE - 1) / MODE_SHARE, at = 0;
	double widest = MODE_GAP;

	for (uint32_t i = least; n >= 5 && i + least <= n; i++) {
		/* Skip the division for neighbours too close to matter: it is slow. */
		if ((double)sorted[i] > widest * (double)sorted[i - 1]) {
			widest = (double)sorted[i] / (double)sorted[i - 1];
			at = i;
		}
	}
	return at;
}

/* The smallest value that at least half of the @p n values do not exceed; reorders them. */
static float middle_of(float *v, uint32_t n)
{
	uint32_t low = 0, high = n - 1, wanted = (n - 1) / 2;

	while (low < high) {
		float pivot = v[(low + high) / 2];
		uint32_t i = low, k = high;

		for (;;) {
			while (v[i] < pivot)
				i++;
			while (v[k] > pivot)
				k--;
			if (i >= k)
				break;
			float x = v[i];

			v[i++] = v[k];
			v[k--] = x;
		}
		if (wanted <= k)
			high = k;
		else
			low = k + 1;
	}
	return v[wanted];
}

/* Standard deviation from differences of neighbours in time: drifts and steps do not enter it. */
static double neighbour_spread(const float *newest, uint32_t n)
{
	float d[GW_HISTORY_WINDOW];

	for (uint32_t i = 0; i + 1 < n; i++)
		d[i] = fabsf(newest[i] - newest[i + 1]);
	return NORMAL / M_SQRT2 * (double)middle_of(d, n - 1);
}

/** The newest times, sorted: the first 6, 12, 24, all. */
struct stretches {
	uint32_t count, length[LENGTHS];
	float sorted[LENGTHS][GW_HISTORY_WINDOW];
};

static void sort_stretches(const float *newest, uint32_t n, struct stretches *s)
{
	uint32_t done = 0;

	s->count = 0;
	for (uint32_t next = SHORTEST; done < n; next *= 2) {
		float *v = s->sorted[s->count];

		if (s->count)
			memcpy(v, s->sorted[s->count - 1], done * sizeof(*v));
		for (; done < n && done < next; done++)
			insert(v, done, newest[done]);
		s->length[s->count++] = done;
	}
}
_Static_assert(SHORTEST << (LENGTHS - 1) >= GW_HISTORY_WINDOW, "the last stretch is all");

/*
 * How many of the newest times belong to one level. A kernel's times drift and step with clocks and
 * neighbours, and times before a step say nothing about later ones. The longest stretch whose
 * median agrees with those of all shorter ones (intersection of confidence intervals); @p deviation
 * is of a single time, in seconds.
 */
static uint32_t level(const struct stretches *s, double deviation)
{
	double low = -HUGE_VAL, high = HUGE_VAL;

	for (uint32_t i = 0; i < s->count; i++) {
		double room = AGREE * MEDIAN * deviation / sqrt(s->length[i]);
		double middle = gw_sorted_median(s->sorted[i], s->length[i]);

		low = fmax(low, middle - room);
		high = fmin(high, middle + room);
		if (low > high)
			return i - 1;
	}
	return s->count - 1;
}

/*
 * Of two groups: how many of the newest times belong to the newest one's group, if that is a level
 * of its own; 0 when the groups alternate.
 */
static uint32_t since_step(const float *newest, uint32_t n, float border)
{
	bool upper = newest[0] >= border;
	uint32_t run = 0, turns = 0;

	while (run < n && (newest[run] >= border) == upper)
		run++;
	for (uint32_t i = 1; i < n; i++)
		turns += (newest[i] >= border) != (newest[i - 1] >= border);
	return turns == 1 && run >= SHORTEST ? run : 0;
}

static void newest_first(const struct gw_history *h, uint32_t n, float *out)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = h->times[(h->count - 1 - i) % GW_HISTORY_WINDOW];
}

/* Times of one group: @p newest, and sorted in stretches. */
static void of_level(const float *newest, const struct stretches *s, struct gw_history_summary *out)
{
	uint32_t i = s->count - 1, n = s->length[i];
	double deviation = 0;

	if (n >= 2 * SHORTEST) {
		deviation = neighbour_spread(newest, n);
		i = level(s, deviation);
	}
	out->median = gw_sorted_median(s->sorted[i], s->length[i]);
	out->sigma = fmax(spread(s->sorted[i], s->length[i], out->median), deviation / out->median);
	n = s->length[i];
	/* Delays make some times longer, seldom one shorter. */
	if (out->sigma < LOOSE && n >= SHORTEST)
		out->median = gw_sorted_densest(s->sorted[i], n, n * 3 / 5 + 1);
}

/* Of two alternating groups: the one of the latest time. */
static void of_group(const float *group, uint32_t n, struct gw_history_summary *out)
{
	out->median = gw_sorted_median(group, n);
	out->sigma = spread(group, n, out->median);
}

bool gw_history_range(const struct gw_history *h, double *low, double *high)
{
	if (h->count < GW_RANGE_TIMES)
		return false;
	gw_coverage_range(h->drawn, GW_RANGE_TIMES, low, high);
	return true;
}

bool gw_history_summary(const struct gw_history *h, struct gw_history_summary *out)
{
	float newest[GW_HISTORY_WINDOW];
	uint32_t n = gw_history_size(h), at, run, outer = n / GW_HISTORY_WINDOW;
	struct stretches s;
	const float *sorted;

	if (!n)
		return false;
	newest_first(h, n, newest);
	sort_stretches(newest, n, &s);
	sorted = s.sorted[s.count - 1];
	at = split(sorted, n);
	run = at ? since_step(newest, n, sorted[at]) : n;
	out->low = (double)sorted[outer];
	out->high = (double)sorted[n - 1 - outer];
	out->multimodal = !run;
	if (!run && newest[0] >= sorted[at]) {
		of_group(sorted + at, n - at, out);
	} else if (!run) {
		of_group(sorted, at, out);
	} else {
		if (run < n)
			sort_stretches(newest, run, &s);
		of_level(newest, &s, out);
	}
	return true;
}

void gw_history_follow(struct gw_history *h, struct gw_history_summary *s)
{
	double more = h->count - h->levelled, off = s->median - (double)h->level;
	double all = fmin(h->count, FOLLOWED) - GW_HISTORY_WINDOW + 1;

	if (all > 1 && s->sigma < LOOSE && !s->multimodal && fabs(off) < s->sigma * s->median)
		s->median = (double)h->level + off * fmin(1, more / all);
	h->level = (float)s->median;
	h->levelled = h->count;
}

bool gw_history_agrees(const struct gw_history *h, double *scatter)
{
	uint32_t n = gw_history_size(h), off = 0;
	float sorted[GW_HISTORY_WINDOW];
	double middle;

	*scatter = 0;
	if (!n)
		return false;
	memcpy(sorted, h->times, sizeof(sorted));
	gw_sort(sorted, n);
	middle = gw_sorted_median(sorted, n);
	*scatter = log((double)sorted[n - 1 - n / 10] / (double)sorted[n / 10]) / DECILES;
	for (uint32_t i = 0; i < n; i++)
		off += fabs((double)sorted[i] / middle - 1) > ALIKE;
	return off <= (n + 4) / 8;
}
