/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group `launch`: what it takes to run nothing (001): an empty kernel against its grid for each
 * block size, one regression each; and the time between two kernels, by stream and by graph.
 *
 * What models predict is the time from the start to the end of a kernel. Launches back to back
 * take that and the gap to the next one, so two ways are needed to tell the two apart: see
 * empty_seconds.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "calib/groups/graph.h"
#include "calib/levels.h"
#include "calib/regression.h"
#include "calib/stats.h"

enum {
	SAMPLES = 7,
	BATCH = 200,     /* launches back to back, for the time of one */
	MOST_WARPS = 32, /* of a block */
	MOST_GRIDS = 10,
	HOLD_BLOCKS = 1 << 19, /* of the launch that keeps the stream busy while events queue up */
};

struct launch {
	struct gw_bench *bench;
	CUfunction empty;
	double period, duration; /* of an empty kernel of one block: back to back, alone; s */
};

static double period_of(struct launch *l, unsigned grid, unsigned warps, unsigned launches)
{
	double seconds[SAMPLES];
	size_t n = gw_bench_time(l->bench, l->empty, (struct gw_shape){grid, warps * 32, 0}, NULL,
	                         launches, seconds, SAMPLES);

	return gw_median(seconds, n);
}

/* Grids of a regression; few for the short run. */
static size_t grids_of(const struct launch *l, unsigned *grids)
{
	size_t n = 0;

	for (unsigned grid = 1; grid <= 1 << 20 && n < MOST_GRIDS; grid *= grid == 1         ? 256
	                                                                   : l->bench->quick ? 8
	                                                                                     : 4)
		grids[n++] = grid;
	return n;
}

/* 001's regression for blocks of @p warps; NaN in it: noted. Rows of samples go to @p rows. */
static struct gw_line regression_of(struct launch *l, unsigned warps, double (*rows)[3], size_t *n)
{
	double x[MOST_GRIDS], y[MOST_GRIDS];
	unsigned grids[MOST_GRIDS];
	size_t count = grids_of(l, grids);

	for (size_t i = 0; i < count; i++) {
		/* A sample of some hundred microseconds; one launch where that alone is as long. */
		double each = 2e-6 + grids[i] * (0.6e-9 + 0.165e-9 * warps);
		unsigned launches = (unsigned)fmax(1, fmin(BATCH, 400e-6 / each));

		x[i] = grids[i];
		y[i] = period_of(l, grids[i], warps, launches) - (l->period - l->duration);
		rows[*n][0] = warps, rows[*n][1] = x[i], rows[*n][2] = y[i];
		++*n;
	}
	return gw_line_fit_relative(x, y, count);
}

static void publish_rates(struct launch *l, const double *warps, const double *slope, size_t n)
{
	struct gw_launch_rates rates = gw_launch_rates_of(warps, slope, n);

	if (isnan(rates.per_block))
		return;
	gw_bench_publish_value(l->bench, GW_PARAM_launch_per_block, rates.per_block, NAN, n,
	                       "launch_x1 at blocks of one warp");
	if (rates.warps)
		gw_bench_publish_value(l->bench, GW_PARAM_launch_per_warp, rates.per_warp, NAN, n,
		                       "launch_x1 over warps a block, median where a block takes "
		                       "1.5 times one of a warp");
	else
		gw_bench_refuse(l->bench, GW_PARAM_launch_per_warp,
		                "a block takes as long however many warps it has");
}

static void measure_regressions(struct launch *l)
{
	double warps[MOST_WARPS], x1[MOST_WARPS], x2[MOST_WARPS], r2[MOST_WARPS];
	double rows[MOST_WARPS * MOST_GRIDS][3];
	size_t n = 0, raw = 0;

	for (unsigned w = 1; w <= MOST_WARPS; w += l->bench->quick && w > 3 ? 4 : 1) {
		struct gw_line line = regression_of(l, w, rows, &raw);

		if (isnan(line.slope) || gw_bench_stopped(l->bench))
			return;
		warps[n] = w, x1[n] = line.slope, x2[n] = line.intercept, r2[n++] = line.r2;
		gw_bench_step(l->bench, 0.3 + 0.7 * w / MOST_WARPS);
	}
	gw_bench_samples(l->bench, "launch", "warps,blocks,seconds", rows[0], raw, 3);
	gw_bench_curve(l->bench, GW_CURVE_launch_x1, warps, x1, NULL, n,
	               "empty kernel, 1 to 2^20 blocks: least squares of relative residuals");
	gw_bench_curve(l->bench, GW_CURVE_launch_x2, warps, x2, NULL, n, "as launch_x1");
	gw_bench_curve(l->bench, GW_CURVE_launch_r2, warps, r2, NULL, n, "as launch_x1");
	publish_rates(l, warps, x1, n);
}

/*
 * Seconds between two events with @p launches of the empty kernel between them, all queued while a
 * large grid keeps the stream busy. NaN: noted.
 */
static double between_events(struct launch *l, CUevent begin, CUevent end, unsigned launches)
{
	const struct gw_cuda *cu = l->bench->cu;
	CUstream s = l->bench->stream;
	float ms;
	CUresult r = cu->cuLaunchKernel(l->empty, HOLD_BLOCKS, 1, 1, 1024, 1, 1, 0, s, NULL, NULL);

	r = r ? r : cu->cuEventRecord(begin, s);
	for (unsigned i = 0; i < launches && !r; i++)
		r = cu->cuLaunchKernel(l->empty, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL);
	r = r ? r : cu->cuEventRecord(end, s);
	r = r ? r : cu->cuEventSynchronize(end);
	r = r ? r : cu->cuEventElapsedTime(&ms, begin, end);
	if (r) {
		gw_bench_note(l->bench, "empty kernel: %s", gw_cuda_error(cu, r));
		return NAN;
	}
	return ms / 1e3;
}

/*
 * Seconds of an empty kernel of one block: what it adds between two events that follow each other.
 * The event behind a kernel waits for its end, as the next kernel of a stream does.
 */
static bool measure_floor(struct launch *l)
{
	const struct gw_cuda *cu = l->bench->cu;
	CUevent begin = NULL, end = NULL;
	double samples[4 * SAMPLES], none[4 * SAMPLES];
	enum { COUNT = sizeof(samples) / sizeof(*samples) };
	bool good = !cu->cuEventCreate(&begin, CU_EVENT_DEFAULT) &&
	            !cu->cuEventCreate(&end, CU_EVENT_DEFAULT);

	for (size_t i = 0; good && i < COUNT; i++) {
		none[i] = between_events(l, begin, end, 0);
		samples[i] = between_events(l, begin, end, 1);
		good = !isnan(none[i]) && !isnan(samples[i]);
	}
	if (good) {
		gw_bench_samples(l->bench, "launch_events_none", "seconds", none, COUNT, 1);
		gw_bench_samples(l->bench, "launch_events_one", "seconds", samples, COUNT, 1);
		for (size_t i = 0; i < COUNT; i++)
			samples[i] -= gw_median(none, COUNT);
		gw_bench_publish(
		        l->bench, GW_PARAM_launch_floor, samples, COUNT,
		        "empty kernel of one warp between two events, less the same without it");
		l->duration = gw_median(samples, COUNT);
	}
	if (begin)
		cu->cuEventDestroy_v2(begin);
	if (end)
		cu->cuEventDestroy_v2(end);
	return good;
}

/* What is left of the time of launches back to back, by stream and by graph. */
static void measure_gaps(struct launch *l)
{
	double stream[SAMPLES], graph[SAMPLES];
	size_t n = gw_bench_time(l->bench, l->empty, (struct gw_shape){1, 32, 0}, NULL, BATCH,
	                         stream, SAMPLES);

	l->period = gw_median(stream, n);
	gw_bench_samples(l->bench, "launch_period_stream", "seconds", stream, n, 1);
	for (size_t i = 0; i < n; i++)
		stream[i] -= l->duration;
	if (n)
		gw_bench_publish(l->bench, GW_PARAM_launch_gap_stream, stream, n,
		                 "empty kernels back to back, time of one less launch_floor");
	n = gw_graph_periods(l->bench, l->empty, graph, SAMPLES);
	gw_bench_samples(l->bench, "launch_period_graph", "seconds", graph, n, 1);
	for (size_t i = 0; i < n; i++)
		graph[i] -= l->duration;
	if (n)
		gw_bench_publish(l->bench, GW_PARAM_launch_gap_graph, graph, n,
		                 "chain of empty kernel nodes, time of one less launch_floor");
	else
		gw_bench_refuse(l->bench, GW_PARAM_launch_gap_graph, "no graph could be run");
}

bool gw_group_launch(struct gw_bench *b)
{
	struct launch l = {.bench = b, .empty = gw_bench_kernel(b, "gw_empty")};

	if (!l.empty || !measure_floor(&l))
		return false;
	gw_bench_step(b, 0.1);
	measure_gaps(&l);
	gw_bench_step(b, 0.3);
	if (!isnan(l.period))
		measure_regressions(&l);
	return !gw_bench_stopped(b);
}
