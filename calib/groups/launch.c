/*
 * Group `launch`: the cost of an empty kernel (Kleimenov and Popova 2021) against its grid for each
 * block size, one regression each; and the time between two kernels, by stream and by graph.
 *
 * Models predict the time from the start to the end of a kernel. Back-to-back launches take that
 * and the gap to the next one; measure_periods separates the two.
 */
#include <math.h>
#include <stdlib.h>

#include "calib/bench.h"
#include "calib/levels.h"
#include "calib/stats.h"

enum {
	SAMPLES = 7,
	BATCH = 200,     /* launches back to back, for the time of one */
	MOST_WARPS = 32, /* of a block */
	MOST_GRIDS = 10,
	FEW = 100, /* nodes of a graph, and */
	MANY = 600 /* more: starting either costs the same */
};

/* A chain of @p nodes, ready to launch. */
static CUresult chain(struct gw_bench *b, CUfunction f, size_t nodes, CUgraph *graph,
		      CUgraphExec *exec)
{
	CUDA_KERNEL_NODE_PARAMS node = {.func = f,
					.gridDimX = 1,
					.gridDimY = 1,
					.gridDimZ = 1,
					.blockDimX = 32,
					.blockDimY = 1,
					.blockDimZ = 1};
	CUgraphNode last = NULL;
	CUresult r = b->cu->cuGraphCreate(graph, 0);

	for (size_t i = 0; i < nodes && !r; i++) {
		CUgraphNode before = last;

		r = b->cu->cuGraphAddKernelNode_v2(&last, *graph, i ? &before : NULL, i ? 1 : 0,
						   &node);
	}
	return r ? r : b->cu->cuGraphInstantiateWithFlags(exec, *graph, 0);
}

/* Seconds of one launch of @p exec, between two events. */
static CUresult run_graph(struct gw_bench *b, CUgraphExec exec, CUevent begin, CUevent end,
			  double *seconds)
{
	float ms = 0;
	CUresult r = b->cu->cuEventRecord(begin, b->stream);

	r = r ? r : b->cu->cuGraphLaunch(exec, b->stream);
	r = r ? r : b->cu->cuEventRecord(end, b->stream);
	r = r ? r : b->cu->cuEventSynchronize(end);
	r = r ? r : b->cu->cuEventElapsedTime(&ms, begin, end);
	*seconds = ms / 1e3;
	return r;
}

static bool has_graphs(const struct gw_cuda *cu)
{
	return cu->cuGraphCreate && cu->cuGraphAddKernelNode_v2 &&
	       cu->cuGraphInstantiateWithFlags && cu->cuGraphLaunch && cu->cuGraphExecDestroy &&
	       cu->cuGraphDestroy;
}

/*
 * Seconds that one more node adds to a graph of kernel nodes of @f (one warp, no arguments), each
 * depending on the one before: up to @count samples. Returns how many; 0 noted, or where
 * the driver has no graphs.
 */
static size_t graph_periods(struct gw_bench *b, CUfunction f, double *seconds, size_t count)
{
	const struct gw_cuda *cu = b->cu;
	CUgraph graph[2] = {NULL, NULL};
	CUgraphExec exec[2] = {NULL, NULL};
	CUevent begin = NULL, end = NULL;
	double few = NAN, many = NAN;
	size_t n = 0;
	CUresult r;

	if (!has_graphs(cu))
		return 0;
	r = cu->cuEventCreate(&begin, CU_EVENT_DEFAULT);
	r = r ? r : cu->cuEventCreate(&end, CU_EVENT_DEFAULT);
	r = r ? r : chain(b, f, FEW, &graph[0], &exec[0]);
	r = r ? r : chain(b, f, MANY, &graph[1], &exec[1]);
	/* The first launch of a graph uploads it: it is the warm-up. */
	for (size_t i = 0; i <= count && !r; i++) {
		r = run_graph(b, exec[0], begin, end, &few);
		r = r ? r : run_graph(b, exec[1], begin, end, &many);
		if (i && !r)
			seconds[n++] = (many - few) / (MANY - FEW);
	}
	if (r)
		gw_bench_note(b, "graph: %s", gw_cuda_error(cu, r));
	for (int i = 0; i < 2; i++) {
		if (exec[i])
			cu->cuGraphExecDestroy(exec[i]);
		if (graph[i])
			cu->cuGraphDestroy(graph[i]);
	}
	if (begin)
		cu->cuEventDestroy_v2(begin);
	if (end)
		cu->cuEventDestroy_v2(end);
	return n;
}

struct launch {
	struct gw_bench *bench;
	CUfunction empty, index; /* gw_empty, gw_index */
	double period, duration; /* of an empty kernel of one warp: back to back, alone; s */
};

/* Median seconds of a launch of @p kernel, in a sample of some hundred microseconds. */
static double period_of(struct launch *l, CUfunction kernel, unsigned grid, unsigned warps)
{
	double seconds[SAMPLES], each = 1e-6 + grid * (0.6e-9 + 0.03e-9 * warps);
	unsigned launches = (unsigned)fmax(1, fmin(BATCH, 400e-6 / each)), count = 0;
	CUdeviceptr nowhere = 0;
	void *args[] = {&count, &nowhere};
	size_t n;

	count = grid * warps * 32; /* gw_index: no thread is beyond it */
	n = gw_bench_time(l->bench, kernel, (struct gw_shape){grid, warps * 32, 0}, args, launches,
			  seconds, SAMPLES);
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

/* Kleimenov and Popova's regression for blocks of @p warps; NaN in it: noted. Rows of samples go to
 * @p rows. */
static struct gw_line regression_of(struct launch *l, unsigned warps, double (*rows)[3], size_t *n)
{
	double x[MOST_GRIDS], y[MOST_GRIDS];
	unsigned grids[MOST_GRIDS];
	size_t count = grids_of(l, grids);

	for (size_t i = 0; i < count; i++) {
		x[i] = grids[i];
		y[i] = period_of(l, l->empty, grids[i], warps) - (l->period - l->duration);
		rows[*n][0] = warps, rows[*n][1] = x[i], rows[*n][2] = y[i];
		++*n;
	}
	return gw_line_fit_relative(x, y, count);
}

/*
 * Cost of each warp, where that exceeds its block's: of a kernel whose threads compute their
 * element, as all do. An empty one ends before the next warp starts.
 */
static void measure_warps(struct launch *l)
{
	static const double warps[] = {1, 8, 16, 20, 24, 28, 32};
	enum { COUNT = sizeof(warps) / sizeof(*warps) };
	const unsigned few = 1 << 15, many = 1 << 18;
	double slope[COUNT], rows[COUNT][2];
	struct gw_launch_rates rates;

	for (size_t i = 0; i < COUNT; i++) {
		unsigned w = (unsigned)warps[i];

		slope[i] = (period_of(l, l->index, many, w) - period_of(l, l->index, few, w)) /
			   (many - few);
		rows[i][0] = warps[i], rows[i][1] = slope[i];
		if (isnan(slope[i]))
			return;
	}
	gw_bench_samples(l->bench, "launch_warps", "warps,seconds_per_block", rows[0], COUNT, 2);
	rates = gw_launch_rates_of(warps, slope, COUNT);
	gw_bench_publish_value(
		l->bench, GW_PARAM_launch_per_block, rates.per_block, NAN, COUNT,
		"slope of the time of a kernel that looks at its index, 2^15 to 2^18 "
		"blocks of one warp");
	if (rates.warps)
		gw_bench_publish_value(
			l->bench, GW_PARAM_launch_per_warp, rates.per_warp, NAN, COUNT,
			"the same over warps a block, median where a block takes 1.5 "
			"times one of a warp");
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
		gw_bench_step(l->bench, 0.2 + 0.8 * w / MOST_WARPS);
	}
	gw_bench_samples(l->bench, "launch", "warps,blocks,seconds", rows[0], raw, 3);
	gw_bench_curve(l->bench, GW_CURVE_launch_x1, warps, x1, NULL, n,
		       "empty kernel, 1 to 2^20 blocks: least squares of relative residuals");
	gw_bench_curve(l->bench, GW_CURVE_launch_x2, warps, x2, NULL, n, "as launch_x1");
	gw_bench_curve(l->bench, GW_CURVE_launch_r2, warps, r2, NULL, n, "as launch_x1");
}

/*
 * Empty kernels of one warp, as a chain of graph nodes and back to back by stream. A dependent node
 * starts when the one before has ended: without a profiler its period is the closest available
 * value for the time of a kernel alone.
 */
static bool measure_periods(struct launch *l)
{
	double stream[SAMPLES], graph[SAMPLES];
	size_t nodes = graph_periods(l->bench, l->empty, graph, SAMPLES);
	size_t n = gw_bench_time(l->bench, l->empty, (struct gw_shape){1, 32, 0}, NULL, BATCH,
				 stream, SAMPLES);

	l->period = gw_median(stream, n);
	l->duration = gw_median(graph, nodes);
	gw_bench_samples(l->bench, "launch_period_stream", "seconds", stream, n, 1);
	gw_bench_samples(l->bench, "launch_period_graph", "seconds", graph, nodes, 1);
	if (l->bench->quick) /* processes differ by a tenth: 5% cannot be guaranteed */
		gw_bench_refuse(l->bench, GW_PARAM_launch_period_stream, GW_QUICK_REFUSED);
	else if (n)
		gw_bench_publish(
			l->bench, GW_PARAM_launch_period_stream, stream, n,
			"empty kernels of one warp back to back, all queued before the first runs");
	if (!n || !nodes) {
		gw_bench_refuse(l->bench, GW_PARAM_launch_floor, "no graph could be run");
		return false;
	}
	gw_bench_publish(l->bench, GW_PARAM_launch_period_graph, graph, nodes,
			 "chain of empty kernel nodes, 600 of them less 100");
	gw_bench_publish(l->bench, GW_PARAM_launch_floor, graph, nodes,
			 "launch_period_graph, whose gap can't be separated from the kernel: an "
			 "upper bound");
	gw_bench_refuse(
		l->bench, GW_PARAM_launch_gap_graph,
		"it can't be separated from the time of the kernel without a profiler; the two "
		"together are launch_period_graph");
	for (size_t i = 0; i < n; i++)
		stream[i] -= l->duration;
	if (l->bench->quick)
		gw_bench_refuse(l->bench, GW_PARAM_launch_gap_stream, GW_QUICK_REFUSED);
	else
		gw_bench_publish(l->bench, GW_PARAM_launch_gap_stream, stream, n,
				 "launch_period_stream less launch_floor");
	return true;
}

bool gw_group_launch(struct gw_bench *b)
{
	struct launch l = {.bench = b,
			   .empty = gw_bench_kernel(b, "gw_empty"),
			   .index = gw_bench_kernel(b, "gw_index")};

	if (!l.empty || !l.index || !measure_periods(&l))
		return false;
	gw_bench_step(b, 0.1);
	measure_warps(&l);
	gw_bench_step(b, 0.2);
	measure_regressions(&l);
	return !gw_bench_stopped(b);
}
