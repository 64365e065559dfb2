/* The cost of reading the clock, and its distribution (Sanchez Gil 2017, chapter 6). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calib/bench.h"
#include "calib/convolution.h"
#include "calib/stats.h"
#include "kernels/clock.h"

enum { ROUNDS = 512 };

/* The costs seen by @p warps warps on one SM, at most @p room; how many there are. */
static size_t observe(struct gw_bench *b, unsigned warps, unsigned rounds, double *cost)
{
	size_t n = (size_t)rounds * GW_CLOCK_BATCH * warps;
	CUfunction f = gw_bench_kernel(b, "gw_clock_cost");
	CUdeviceptr out = f ? gw_bench_memory(b, n * sizeof(int64_t)) : 0;
	int64_t *raw = out ? malloc(n * sizeof(*raw)) : NULL;
	void *args[] = {&out, &rounds};
	struct gw_shape one = {1, 32 * warps, 0};

	/* The first run also fetches the code. */
	if (!raw || !gw_bench_run(b, f, one, args) || !gw_bench_run(b, f, one, args) ||
	    !gw_bench_read(b, raw, out, n * sizeof(*raw)))
		n = 0;
	for (size_t i = 0; i < n; i++)
		cost[i] = (double)raw[i];
	free(raw);
	return n;
}

/*
 * A distribution as a curve: the probability of each cost that occurs. Where there are more than a
 * curve holds, neighbours are merged, each group at its first.
 */
static void publish_distribution(struct gw_bench *b, enum gw_curve_id curve, const double *cost,
				 size_t n, const char *how)
{
	struct gw_dist d = gw_dist_of(cost, n);
	size_t width = (d.count + GW_CURVE_POINTS - 1) / GW_CURVE_POINTS, points = 0;
	double x[GW_CURVE_POINTS], y[GW_CURVE_POINTS];

	for (size_t i = 0; i < d.count; i += width) {
		double mass = 0;

		for (size_t k = i; k < i + width && k < d.count; k++)
			mass += d.mass[k];
		if (mass <= 0)
			continue;
		x[points] = (double)(d.first + (int64_t)i);
		y[points++] = mass;
	}
	gw_bench_curve(b, curve, x, y, NULL, points, how);
	gw_dist_free(&d);
}

static bool measure(struct gw_bench *b, unsigned warps, enum gw_curve_id curve)
{
	unsigned rounds = b->quick ? ROUNDS / 8 : ROUNDS;
	double *cost = malloc((size_t)rounds * GW_CLOCK_BATCH * warps * sizeof(*cost));
	size_t n = cost ? observe(b, warps, rounds, cost) : 0;
	char how[120], series[40];

	snprintf(how, sizeof(how), "two reads in a row, %u warp%s on one SM", warps,
		 warps > 1 ? "s" : "");
	snprintf(series, sizeof(series), "clock-%u-warps", warps);
	publish_distribution(b, curve, cost, n, how);
	if (warps == 1)
		gw_bench_publish(b, GW_PARAM_lat_clock, cost, n, how);
	if (n)
		gw_bench_samples(b, series, "cycles", cost, n, 1);
	free(cost);
	return n > 0;
}

bool gw_group_clock(struct gw_bench *b)
{
	static const struct {
		unsigned warps;
		enum gw_curve_id curve;
	} loads[] = {{1, GW_CURVE_clock_cost_1},
		     {8, GW_CURVE_clock_cost_8},
		     {32, GW_CURVE_clock_cost_32}};
	const size_t count = sizeof(loads) / sizeof(*loads);
	bool any = false;

	for (size_t i = 0; i < count && !gw_bench_stopped(b); i++) {
		any |= measure(b, loads[i].warps, loads[i].curve);
		gw_bench_step(b, (double)(i + 1) / (double)count);
	}
	return any;
}
