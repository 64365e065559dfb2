/*
 * The experimental roofline (Konstantinidis 2017, 3.2 and A.1): elements are read from device
 * memory and go through more and more multiply-adds.
 */
#include <stdio.h>

#include "calib/bench.h"
#include "calib/stats.h"

enum {
	THREADS = 256,
	GRANULARITY = 8, /* elements of a thread at a time (kernels/mixbench.cu) */
	TILES = 4,       /* of each block, one after the other */
	SAMPLES = 11,
	QUICK_SAMPLES = 5,
};
/* Many times what an L2 keeps from one pass to the next. */
static const size_t whole_bytes = (size_t)2 << 30, quick_bytes = (size_t)1 << 30;

/* Multiply-adds per element; each is two operations, of packed halves four. */
static const unsigned lengths[] = {0,  1,  2,  3,  4,  6,   8,   12,  16,
				   24, 32, 48, 64, 96, 128, 192, 256, 512};
enum { LENGTHS = sizeof(lengths) / sizeof(*lengths) };

static const struct kind {
	const char *name;
	size_t bytes; /* of an element */
	double each;  /* operations of one multiply-add of an element */
	enum gw_curve_id rate, bandwidth;
} kinds[] = {
	{"fp32", 4, 2, GW_CURVE_mixbench_fp32, GW_CURVE_mixbench_fp32_bw},
	{"fp64", 8, 2, GW_CURVE_mixbench_fp64, GW_CURVE_mixbench_fp64_bw},
	{"fp16", 4, 4, GW_CURVE_mixbench_fp16, GW_CURVE_mixbench_fp16_bw},
	{"int", 4, 2, GW_CURVE_mixbench_int, GW_CURVE_mixbench_int_bw},
};
enum { KINDS = sizeof(kinds) / sizeof(*kinds) };

/* The kernel of a length, and how many turns of its loop that takes. */
static CUfunction kernel_of(struct gw_bench *b, const struct kind *k, unsigned length,
			    uint32_t *repeats)
{
	unsigned unrolled = !length || length % 4 ? 1 : length % 16 ? 4 : 16;
	char name[32];

	snprintf(name, sizeof(name), "gw_mix_%s_%u", k->name, unrolled);
	*repeats = length / unrolled;
	return gw_bench_kernel(b, name);
}

/* Seconds of one pass over @p bytes; how many samples. */
static size_t pass(struct gw_bench *b, const struct kind *k, unsigned length, CUdeviceptr data,
		   size_t bytes, double *seconds)
{
	size_t tile = (size_t)THREADS * GRANULARITY * k->bytes;
	struct gw_shape shape = {(unsigned)(bytes / tile / TILES), THREADS, 0};
	uint64_t tiles = TILES, seed = 0; /* a seed of zero is one of every type */
	uint32_t repeats;
	CUfunction f = kernel_of(b, k, length, &repeats);
	void *args[] = {&data, &seed, &tiles, &repeats};

	return f ? gw_bench_time(b, f, shape, args, 2, seconds, b->quick ? QUICK_SAMPLES : SAMPLES)
		 : 0;
}

/* One point: intensity, operations and bytes per second, and their spreads. */
static bool point(struct gw_bench *b, const struct kind *k, unsigned length, CUdeviceptr data,
		  size_t bytes, double row[5])
{
	double seconds[SAMPLES];
	size_t n = pass(b, k, length, data, bytes, seconds);
	/* The sum at the end is one more operation of half the elements. */
	double work = k->each * (length + 0.5), t = gw_median(seconds, n);

	if (!n)
		return false;
	row[0] = work / (double)k->bytes;
	row[1] = work * (double)(bytes / k->bytes) / t;
	row[2] = (double)bytes / t;
	row[3] = row[1] * gw_spread(seconds, n) / t;
	row[4] = row[2] * gw_spread(seconds, n) / t;
	return true;
}

static bool sweep(struct gw_bench *b, unsigned kind, CUdeviceptr data, size_t bytes)
{
	static const char how[] =
		"each element read once, then multiply-adds; Konstantinidis's mixbench";
	const struct kind *k = &kinds[kind];
	double rows[LENGTHS][5], column[5][LENGTHS];
	char series[32];
	size_t n = 0;

	while (n < LENGTHS && !gw_bench_stopped(b) &&
	       point(b, k, lengths[n], data, bytes, rows[n])) {
		n++;
		gw_bench_step(b, (kind + (double)n / LENGTHS) / KINDS);
	}
	for (size_t i = 0; i < n; i++)
		for (unsigned c = 0; c < 5; c++)
			column[c][i] = rows[i][c];
	gw_bench_curve(b, k->rate, column[0], column[1], column[3], n, how);
	gw_bench_curve(b, k->bandwidth, column[0], column[2], column[4], n, how);
	snprintf(series, sizeof(series), "mixbench-%s", k->name);
	gw_bench_samples(b, series, "intensity,op_per_s,byte_per_s,op_spread,byte_spread", rows[0],
			 n, 5);
	return n > 0;
}

bool gw_group_mixbench(struct gw_bench *b)
{
	size_t bytes = b->quick ? quick_bytes : whole_bytes;
	CUdeviceptr data = gw_bench_memory(b, bytes);
	bool any = false;

	if (!data || !gw_bench_randomise(b, data, bytes))
		return false;
	for (unsigned i = 0; i < KINDS && !gw_bench_stopped(b); i++)
		any |= sweep(b, i, data, bytes);
	return any;
}
