/*
 * Group `dram_load`: latency of device memory under load. One SM chases pointers, the others read,
 * with more and more bytes in flight.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "calib/groups/chase.h"
#include "calib/groups/rate.h"
#include "calib/levels.h"
#include "calib/stats.h"

enum {
	LOADS = 2048,           /* of the chase */
	SETTLE = 40000,         /* cycles the others get before it begins */
	MOST_BATCHES = 1 << 16, /* of each thread: a bound, not a length */
	REPEATS = 3,
	CHAIN_BYTES = 64 << 20, /* of the chain: few pages, and flushed by what the others read */
};

/* As kernels/stream.cu. */
struct result {
	uint64_t begin, end, bytes, cycles, next;
};

struct load {
	struct gw_bench *bench;
	struct gw_chase chase;
	CUfunction kernel;
	CUdeviceptr from, done, results, sink;
	size_t bytes; /* of from */
	unsigned sms;
	struct result *result; /* of each block */
};

static bool open_load(struct load *l, struct gw_bench *b)
{
	size_t want = (size_t)1 << 30, most = gw_bench_memory_free(b) / 4;

	*l = (struct load){.bench = b, .sms = gw_rate_sms(b), .bytes = want < most ? want : most};
	l->bytes -= l->bytes % (1 << 20);
	l->kernel = gw_bench_kernel(b, "gw_loaded_chase");
	l->result = calloc(l->sms, sizeof(*l->result));
	if (!l->kernel || !l->result || !l->bytes || !gw_chase_open(&l->chase, b, CHAIN_BYTES) ||
	    !gw_chase_lay(&l->chase, l->chase.bytes, GW_LINE))
		return false;
	l->from = gw_bench_memory(b, l->bytes);
	l->done = gw_bench_memory(b, sizeof(uint32_t));
	l->sink = gw_bench_memory(b, sizeof(uint32_t));
	l->results = gw_bench_memory(b, l->sms * sizeof(*l->result));
	return l->from && l->done && l->sink && l->results &&
	       gw_bench_randomise(b, l->from, l->bytes);
}

/* One launch: cycles a load of the chase, and the bytes per second that the others read. */
static bool chase_under(struct load *l, unsigned threads, unsigned pause, double *cycles,
			double *drawn)
{
	uint64_t count = l->bytes / 16;
	unsigned most = MOST_BATCHES, loads = LOADS, settle = SETTLE;
	unsigned blocks = threads ? l->sms : 1;
	unsigned shared = (unsigned)(0.75 * gw_param(l->bench->known, GW_PARAM_shared_per_block));
	void *args[] = {&l->from, &count,  &pause,   &most,       &l->chase.next,
			&loads,   &settle, &l->done, &l->results, &l->sink};
	static const uint32_t no;

	for (unsigned i = 0; i < l->sms; i++)
		l->result[i] = (struct result){0};
	if (blocks > 1) /* whole rounds of the readers */
		count -= count % ((uint64_t)4 * (blocks - 1) * threads);
	if (!gw_bench_write(l->bench, l->done, &no, sizeof(no)) ||
	    !gw_bench_write(l->bench, l->results, l->result, l->sms * sizeof(*l->result)) ||
	    !gw_bench_run(l->bench, l->kernel,
			  (struct gw_shape){blocks, threads ? threads : 32, shared}, args) ||
	    !gw_bench_read(l->bench, l->result, l->results, l->sms * sizeof(*l->result)) ||
	    !l->result[0].cycles)
		return false;
	l->chase.next = l->result[0].next; /* what was followed is in L2 now */
	*cycles = (double)l->result[0].cycles / LOADS;
	*drawn = LOADS * 32.0 / (double)(l->result[0].end - l->result[0].begin) * 1e9;
	for (unsigned i = 1; i < blocks; i++)
		*drawn += (double)l->result[i].bytes /
			  (double)(l->result[i].end - l->result[i].begin) * 1e9;
	return true;
}

/* Threads of each reading block, 64 bytes in flight each, and cycles between their batches. */
static const struct level {
	unsigned threads, pause;
} levels[] = {{0, 0},   {32, 4000}, {32, 1500}, {32, 0},  {64, 0},  {96, 0},  {128, 0}, {192, 0},
	      {256, 0}, {320, 0},   {384, 0},   {448, 0}, {512, 0}, {640, 0}, {768, 0}, {1024, 0}};

bool gw_group_dram_load(struct gw_bench *b)
{
	enum { LEVELS = sizeof(levels) / sizeof(*levels) };
	double x[LEVELS], y[LEVELS], rows[LEVELS * REPEATS][4];
	struct load l;
	size_t n = 0, raw = 0;
	bool good = open_load(&l, b);

	for (size_t i = 0; good && i < LEVELS; i += b->quick ? 2 : 1) {
		double cycles[REPEATS], drawn[REPEATS];

		for (unsigned r = 0; good && r < REPEATS; r++) {
			double *row = rows[raw++];

			good = chase_under(&l, levels[i].threads, levels[i].pause, &cycles[r],
					   &drawn[r]);
			row[0] = levels[i].threads, row[1] = levels[i].pause;
			row[2] = drawn[r], row[3] = cycles[r];
		}
		x[n] = good ? gw_median(drawn, REPEATS) : NAN;
		y[n++] = good ? gw_median(cycles, REPEATS) : NAN;
		gw_bench_step(b, (double)(i + 1) / LEVELS);
		good = good && !gw_bench_stopped(b);
	}
	if (good) {
		gw_bench_samples(b, "load", "threads,pause,bytes_per_second,cycles", rows[0], raw,
				 4);
		n = gw_curve_tidy(x, y, n, 0.01);
		gw_curve_rising(y, n);
		gw_bench_curve(b, GW_CURVE_dram_latency_at_load, x, y, NULL, n,
			       "one SM chases pointers through 64 MiB, the others read 1 GiB with "
			       "more and more bytes in flight");
	}
	free(l.result);
	return good;
}
