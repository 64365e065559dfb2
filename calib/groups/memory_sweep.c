/*
 * Group `memory_sweep`: the memory method of Sanchez Gil 2017 (5.3, 5.4, 6.1 to 6.4). Blocks and
 * threads are swept; every load is timed; the clock's cost, measured by the same kernel without the
 * load, is removed by convolution; the distributions separate the levels.
 *
 * The thesis asks a profiler which tests were served by L2 alone (figures 25 to 28). Calibration
 * has none: each test runs twice, after L2 was flushed and when all of its data have just been
 * written, so that the second is served by L2 by construction, from both partitions where there are
 * two, and its distribution gives the boundary.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "calib/bench.h"
#include "calib/convolution.h"
#include "calib/levels.h"
#include "calib/stats.h"

enum {
	LOADS = 3, /* each thread's, as kernels/sweep.cu */
	MOST_TESTS = 96,
	MOST_REPEATS = 20,
	NEAR = 4096,               /* bytes beside the data */
	READ_BYTES = 512 * 8 * 16, /* what a block of gw_stream_read reads at a time */
};

/* One test: the launch and its results, in cycles. */
struct test {
	unsigned blocks, threads;  /* in all, a block */
	double least_l2, boundary; /* least and greatest latency of L2 */
	double l2, dram, share;    /* means of L2, and of device memory; mass beyond the boundary */
	double first_dram;         /* least of the first load when cold */
	double l1;                 /* of the interval around the mode of local loads */
};

struct sweep {
	struct gw_bench *bench;
	CUfunction global, local, none, read;
	CUdeviceptr data, near, cycles, sums, flush; /* near: beside data, in its pages */
	size_t flush_bytes, most_threads;
	unsigned sm_count, repeats;
	double least_boundary; /* of L2 with few requests from all SMs: tests of few lines miss its
				  far side */
	uint32_t *raw;         /* readings of one launch */
	double *readings;      /* of all repeats */
	struct test test[MOST_TESTS];
	size_t tests;
};

/* The tests: blocks from one to two an SM, 128 to 1024 threads each (Sanchez Gil 2017 sweeps every
 * number of blocks; a GPU of its day had 15 SMs). */
static void plan(struct sweep *s)
{
	unsigned sms = s->sm_count, step = s->bench->quick ? 256 : 128;
	unsigned blocks[] = {1,       2,           4,   8,           16,     sms / 4,
			     sms / 2, 3 * sms / 4, sms, 3 * sms / 2, 2 * sms};
	size_t count = sizeof(blocks) / sizeof(*blocks);

	for (size_t i = 0; i < count; i += s->bench->quick ? 2 : 1)
		for (unsigned threads = step; threads <= 1024; threads += step)
			if (blocks[i] && s->tests < MOST_TESTS)
				s->test[s->tests++] =
					(struct test){.blocks = blocks[i], .threads = threads};
}

static bool open_sweep(struct sweep *s, struct gw_bench *b)
{
	size_t readings;

	s->bench = b;
	s->sm_count = (unsigned)gw_param(b->known, GW_PARAM_sm_count);
	s->repeats = b->quick ? 4 : MOST_REPEATS;
	s->most_threads = (size_t)s->sm_count * 2 * 1024;
	readings = s->most_threads / 32 * LOADS;
	s->flush_bytes = 4 * (size_t)gw_param(b->known, GW_PARAM_l2_size);
	s->flush_bytes -= s->flush_bytes % READ_BYTES;
	s->global = gw_bench_kernel(b, "gw_sweep_global");
	s->local = gw_bench_kernel(b, "gw_sweep_local");
	s->none = gw_bench_kernel(b, "gw_sweep_none");
	s->read = gw_bench_kernel(b, "gw_stream_read");
	if (!s->global || !s->local || !s->none || !s->read)
		return false;
	s->data = gw_bench_memory(b, s->most_threads * sizeof(uint32_t) + NEAR);
	s->near = s->data + s->most_threads * sizeof(uint32_t);
	s->sums = gw_bench_memory(b, s->most_threads * sizeof(uint32_t));
	s->cycles = gw_bench_memory(b, readings * sizeof(uint32_t));
	s->flush = gw_bench_memory(b, s->flush_bytes);
	s->raw = malloc(s->most_threads * 2 * sizeof(*s->raw));
	s->readings = malloc(readings * s->repeats * sizeof(*s->readings));
	return s->data && s->sums && s->cycles && s->flush && s->raw && s->readings &&
	       gw_bench_randomise(b, s->data, s->most_threads * sizeof(uint32_t));
}

/*
 * Run @p kernel for @p t once, its readings to @p to: LOADS of each warp. Only the first where
 * @p only_first. Returns how many, 0: noted.
 */
static size_t launch(struct sweep *s, const struct test *t, CUfunction kernel, bool only_first,
		     double *to)
{
	unsigned index = 0;
	void *args[] = {&s->data, &s->near, &index, &s->cycles, &s->sums};
	size_t warps = (size_t)t->blocks * t->threads / 32, n = 0;
	unsigned shared = t->threads / 32 * LOADS * (unsigned)sizeof(uint32_t);

	if (!gw_bench_run(s->bench, kernel, (struct gw_shape){t->blocks, t->threads, shared},
			  args) ||
	    !gw_bench_read(s->bench, s->raw, s->cycles, warps * LOADS * sizeof(*s->raw)))
		return 0;
	for (size_t i = 0; i < warps * LOADS; i += only_first ? LOADS : 1)
		to[n++] = s->raw[i];
	return n;
}

/* Write the data, so that L2 has it; where @p cold, then fill L2 with something else, by reading:
 * lines that were written would have to be written back while the test waits. */
static bool prepare(struct sweep *s, bool cold)
{
	uint64_t count = s->flush_bytes / 16;
	void *args[] = {&s->flush, &count, &s->sums};

	return gw_bench_randomise(s->bench, s->data, s->most_threads * sizeof(uint32_t)) &&
	       (!cold ||
		gw_bench_run(s->bench, s->read, (struct gw_shape){2 * s->sm_count, 512, 0}, args));
}

/* The distribution of all repeats of a test; empty: noted. */
static struct gw_dist measure(struct sweep *s, const struct test *t, CUfunction kernel, bool cold,
			      bool only_first)
{
	size_t n = 0;

	for (unsigned r = 0; r < s->repeats; r++) {
		size_t got;

		if (!prepare(s, cold))
			return (struct gw_dist){0};
		got = launch(s, t, kernel, only_first, s->readings + n);
		if (!got)
			return (struct gw_dist){0};
		n += got;
	}
	return gw_dist_of(s->readings, n);
}

/* Z - Y: the distribution of a test without the clock's, both measured by @p t. */
static struct gw_dist latency(struct sweep *s, const struct test *t, CUfunction kernel, bool cold,
			      bool only_first, const struct gw_dist *clock)
{
	struct gw_dist z = measure(s, t, kernel, cold, only_first);
	struct gw_dist x = gw_dist_difference(&z, clock);

	gw_dist_free(&z);
	return x;
}

/* True where each thread got three times its word (Sanchez Gil 2017 checks the sum of the loads).
 */
static bool sums_hold(struct sweep *s, const struct test *t)
{
	size_t threads = (size_t)t->blocks * t->threads, bytes = threads * sizeof(uint32_t);
	uint32_t *words = s->raw, *sums = s->raw + s->most_threads;

	if (!gw_bench_read(s->bench, words, s->data, bytes) ||
	    !gw_bench_read(s->bench, sums, s->sums, bytes))
		return false;
	for (size_t i = 0; i < threads; i++)
		if (sums[i] != LOADS * words[i]) {
			gw_bench_note(s->bench, "a thread loaded %u where %u lies", sums[i],
				      words[i]);
			return false;
		}
	return true;
}

/* Whether L2 and device memory don't overlap in a test, as Sanchez Gil 2017 assumes (6.2.1, 6.3.1):
 * elsewhere the boundary shows which loads are slow, not who served them. */
static bool is_separated(const struct test *t)
{
	return t->first_dram > t->boundary;
}

/* Global memory: L2 by the test that L2 serves, then both sides of the boundary. */
static bool test_global(struct sweep *s, struct test *t, const struct gw_dist *clock)
{
	struct gw_dist warm = latency(s, t, s->global, false, false, clock);
	struct gw_dist cold = latency(s, t, s->global, true, false, clock);
	struct gw_dist first = latency(s, t, s->global, true, true, clock);
	bool good = warm.count && cold.count && first.count && sums_hold(s, t);

	if (good) {
		struct gw_dist_part part;

		t->least_l2 = gw_dist_quantile(&warm, 0.01);
		t->boundary = fmax(gw_dist_quantile(&warm, 0.99), s->least_boundary);
		t->first_dram = gw_dist_quantile(&first, 0.01);
		/* The first load of a line that L2 does not have is device memory's, however slow
		 * L2 is under the same load: no boundary cuts its distribution. */
		t->dram = gw_dist_mean(&first);
		part = gw_dist_between(&cold, t->boundary + 1, INFINITY);
		t->share = is_separated(t) ? part.mass : NAN;
		t->l2 = gw_dist_mean(&warm);
	}
	gw_dist_free(&warm);
	gw_dist_free(&cold);
	gw_dist_free(&first);
	return good;
}

/* Local memory: the interval around the mode, below where this test's L2 begins. */
static bool test_local(struct sweep *s, struct test *t, const struct gw_dist *clock)
{
	struct gw_dist local = latency(s, t, s->local, false, false, clock);
	bool good = local.count > 0;

	if (good)
		t->l1 = gw_dist_around_mode(&local, t->least_l2 - 1).mean;
	gw_dist_free(&local);
	return good;
}

/*
 * The clock's cost, by one warp. Sanchez Gil 2017 measures it with as many threads as the loads;
 * but when all warps of an SM only read the clock they wait for each other, up to ten times longer
 * than the reading takes, which warps that wait for memory do not: subtracting that would make
 * latencies of L1 negative.
 */
static struct gw_dist clock_cost(struct sweep *s)
{
	const struct test one = {.blocks = 1, .threads = 32};

	return measure(s, &one, s->none, false, false);
}

/* By a warp on each SM, so that both sides of L2 are read from both sides, idle. */
static bool find_least_boundary(struct sweep *s, const struct gw_dist *clock)
{
	const struct test light = {.blocks = s->sm_count, .threads = 32};
	struct gw_dist warm = latency(s, &light, s->global, false, true, clock);

	s->least_boundary = gw_dist_quantile(&warm, 0.99);
	gw_dist_free(&warm);
	return !isnan(s->least_boundary);
}

/* A test's value for a curve against threads, NaN to leave it out. */
typedef double (*gw_column)(const struct sweep *s, const struct test *t);

static double l2_of(const struct sweep *s, const struct test *t)
{
	(void)s;
	return t->l2;
}

static double dram_of(const struct sweep *s, const struct test *t)
{
	(void)s;
	return t->dram;
}

static double share_of(const struct sweep *s, const struct test *t)
{
	(void)s;
	return t->share;
}

/* Publish @p column against active threads; tests of about as many threads are one point. */
static size_t publish_curve(struct sweep *s, enum gw_curve_id id, gw_column column, const char *how,
			    double *x, double *y)
{
	size_t n = 0, kept = SIZE_MAX;

	for (size_t i = 0; i < s->tests; i++) {
		y[n] = column(s, &s->test[i]);
		x[n] = (double)s->test[i].blocks * s->test[i].threads;
		n += isnan(y[n]) ? 0 : 1;
	}
	if (!n) {
		gw_bench_refuse_curve(s->bench, id, "no test determined it");
		return 0;
	}
	for (double merge = 0; kept > GW_CURVE_POINTS; merge += 0.01)
		kept = n = gw_curve_tidy(x, y, n, merge);
	gw_bench_curve(s->bench, id, x, y, NULL, n, how);
	return n;
}

static void publish_dram(struct sweep *s)
{
	double x[MOST_TESTS], y[MOST_TESTS];
	struct gw_line line;
	size_t n = publish_curve(
		s, GW_CURVE_dram_latency_threads, dram_of,
		"method of Sanchez Gil 2017: mean of the first loads of lines that L2 does not "
		"have, by active threads",
		x, y);

	if (n < 3)
		return;
	line = gw_line_fit(x, y, n);
	gw_bench_fit(s->bench, GW_CURVE_dram_latency_threads, line.slope, line.intercept, line.r2,
		     x[0], x[n - 1]);
}

static void publish_boundary(struct sweep *s)
{
	double boundary[MOST_TESTS];
	size_t n = 0;

	for (size_t i = 0; i < s->tests; i++)
		if (is_separated(&s->test[i]))
			boundary[n++] = s->test[i].boundary;
	if (!n)
		gw_bench_refuse(s->bench, GW_PARAM_lat_l2_dram_boundary,
				"in every test latencies of L2 and of device memory overlap");
	else
		gw_bench_publish_value(s->bench, GW_PARAM_lat_l2_dram_boundary,
				       gw_median(boundary, n), gw_spread(boundary, n), n,
				       "method of Sanchez Gil 2017: 99% of what L2 serves is "
				       "faster; median of the "
				       "tests whose levels don't overlap");
}

/*
 * L1 belongs to an SM: against the threads of one, median of the grids (Sanchez Gil's context), @p
 * blocks a SM.
 */
static void publish_l1(struct sweep *s, enum gw_curve_id id, unsigned blocks, const char *how)
{
	double x[MOST_TESTS], y[MOST_TESTS], same[MOST_TESTS];
	struct gw_line line;
	size_t n = 0;

	for (unsigned threads = 32; threads <= 1024; threads += 32) {
		size_t count = 0;

		for (size_t i = 0; i < s->tests; i++) {
			const struct test *t = &s->test[i];

			if (t->threads == threads &&
			    (t->blocks + s->sm_count - 1) / s->sm_count == blocks && !isnan(t->l1))
				same[count++] = t->l1;
		}
		if (count)
			x[n] = (double)threads * blocks, y[n++] = gw_median(same, count);
	}
	gw_bench_curve(s->bench, id, x, y, NULL, n, how);
	line = gw_line_fit(x, y, n);
	if (!isnan(line.slope))
		gw_bench_fit(s->bench, id, line.slope, line.intercept, line.r2, x[0], x[n - 1]);
}

static void publish(struct sweep *s)
{
	double x[MOST_TESTS], y[MOST_TESTS], rows[MOST_TESTS][8];

	for (size_t i = 0; i < s->tests; i++) {
		const struct test *t = &s->test[i];
		double row[] = {t->blocks, t->threads, t->boundary,   t->l2,
				t->dram,   t->share,   t->first_dram, t->l1};

		for (size_t j = 0; j < 8; j++)
			rows[i][j] = row[j];
	}
	gw_bench_samples(s->bench, "sweep", "blocks,threads,boundary,l2,dram,share,first_dram,l1",
			 rows[0], s->tests, 8);
	publish_dram(s);
	publish_boundary(s);
	publish_curve(s, GW_CURVE_l2_latency_threads, l2_of,
		      "method of Sanchez Gil 2017: mean latency of the test that L2 serves, by "
		      "active threads",
		      x, y);
	publish_curve(s, GW_CURVE_dram_share_threads, share_of,
		      "method of Sanchez Gil 2017: share of three loads of a word that takes "
		      "longer than L2 does; tests whose levels don't overlap",
		      x, y);
	publish_l1(s, GW_CURVE_l1_latency_threads, 1,
		   "method of Sanchez Gil 2017: local memory, interval around the mode, one block "
		   "an SM");
	publish_l1(s, GW_CURVE_l1_latency_threads_two, 2,
		   "method of Sanchez Gil 2017: local memory, interval around the mode, two blocks "
		   "an SM");
}

bool gw_group_memory_sweep(struct gw_bench *b)
{
	struct sweep *s = calloc(1, sizeof(*s));
	struct gw_dist clock = {0};
	bool good;

	if (!s)
		return false;
	good = open_sweep(s, b);
	if (good) {
		plan(s);
		clock = clock_cost(s);
		good = clock.count && find_least_boundary(s, &clock);
	}
	for (size_t i = 0; good && i < s->tests && !gw_bench_stopped(b); i++) {
		good = test_global(s, &s->test[i], &clock) && test_local(s, &s->test[i], &clock);
		gw_bench_step(b, (double)(i + 1) / (double)s->tests);
	}
	good = good && !gw_bench_stopped(b);
	if (good)
		publish(s);
	gw_dist_free(&clock);
	free(s->raw);
	free(s->readings);
	free(s);
	return good;
}
