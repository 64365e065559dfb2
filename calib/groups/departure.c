/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group `departure`: how requests and their transactions follow each other on the way to device
 * memory (Hong & Kim: departure delays), and requests of 32 sectors (001).
 *
 * Hong & Kim's latency of an uncoalesced request is Mem_LD + (transactions - 1) x
 * departure_del_uncoal: the slope of latency against transactions is measured as such.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "calib/bench.h"
#include "calib/regression.h"
#include "calib/stats.h"

enum {
	LINE = 128,
	REPEATS = 512, /* requests of one size */
	SIZES = 32,    /* most sizes of a series */
	ROUNDS = 4,    /* loads a warp of gw_request_burst issues at once */
	SAMPLES = 9,
};

struct departure {
	struct gw_bench *bench;
	CUdeviceptr memory, cycles;
	size_t bytes;
	unsigned next; /* the first line not yet touched */
};

/* The median time of REPEATS requests of @p kernel with @p lines each; NaN: noted. */
static double request_time(struct departure *d, CUfunction kernel, struct gw_shape shape,
                           void **args, unsigned repeats, unsigned lines)
{
	uint32_t raw[REPEATS];
	double each[REPEATS];

	if ((size_t)(d->next + repeats * lines) * LINE > d->bytes)
		d->next = 0; /* so much later that nothing of it is left in L2 */
	if (!gw_bench_run(d->bench, kernel, shape, args) ||
	    !gw_bench_read(d->bench, raw, d->cycles, repeats * sizeof(*raw)))
		return NAN;
	d->next += repeats * lines;
	for (unsigned i = 0; i < repeats; i++)
		each[i] = raw[i];
	return gw_median(each, repeats);
}

/* One warp whose lanes want 1 to 32 sectors. */
static bool transactions_of_a_request(struct departure *d)
{
	CUfunction kernel = gw_bench_kernel(d->bench, "gw_request_sectors");
	double x[SIZES], y[SIZES], rows[SIZES][2], last[SAMPLES];
	unsigned repeats = REPEATS, sectors;
	void *args[] = {&d->memory, &d->next, &sectors, &repeats, &d->cycles};
	struct gw_line line;

	if (!kernel)
		return false;
	for (sectors = 1; sectors <= SIZES; sectors++) {
		size_t i = sectors - 1;

		x[i] = sectors;
		y[i] = request_time(d, kernel, (struct gw_shape){1, 32, 0}, args, repeats, sectors);
		rows[i][0] = x[i], rows[i][1] = y[i];
		if (isnan(y[i]))
			return false;
	}
	sectors = SIZES;
	for (unsigned i = 0; i < SAMPLES; i++)
		last[i] = request_time(d, kernel, (struct gw_shape){1, 32, 0}, args, repeats,
		                       sectors);
	line = gw_line_robust(x, y, SIZES);
	gw_bench_samples(d->bench, "departure_sectors", "sectors,cycles", rows[0], SIZES, 2);
	gw_bench_curve(
	        d->bench, GW_CURVE_request_latency, x, y, NULL, SIZES,
	        "one warp, each load's lanes want so many sectors of as many lines, device memory");
	gw_bench_fit(d->bench, GW_CURVE_request_latency, line.slope, line.intercept, line.r2, 1,
	             SIZES);
	gw_bench_publish_value(d->bench, GW_PARAM_departure_del_uncoal, line.slope, NAN, SIZES,
	                       "slope of request_latency (Theil-Sen)");
	gw_bench_publish(d->bench, GW_PARAM_lat_uncoalesced, last, SAMPLES,
	                 "one warp, 32 sectors of 32 lines a load, device memory; median of loads");
	return true;
}

/* The warps of one block, each with ROUNDS coalesced loads at once. */
static bool requests_of_an_sm(struct departure *d)
{
	CUfunction kernel = gw_bench_kernel(d->bench, "gw_request_burst");
	double x[SIZES], y[SIZES], rows[SIZES][2];
	unsigned rounds = REPEATS / 4;
	void *args[] = {&d->memory, &d->next, &rounds, &d->cycles};
	struct gw_line line;

	if (!kernel)
		return false;
	for (unsigned warps = 1; warps <= SIZES; warps++) {
		size_t i = warps - 1;

		x[i] = warps * ROUNDS;
		y[i] = request_time(d, kernel, (struct gw_shape){1, warps * 32, 0}, args, rounds,
		                    warps * ROUNDS);
		rows[i][0] = x[i], rows[i][1] = y[i];
		if (isnan(y[i]))
			return false;
	}
	line = gw_line_robust(x, y, SIZES);
	gw_bench_samples(d->bench, "departure_requests", "requests,cycles", rows[0], SIZES, 2);
	gw_bench_curve(
	        d->bench, GW_CURVE_burst_latency, x, y, NULL, SIZES,
	        "one SM issues so many coalesced loads at once: first issue to last arrival");
	gw_bench_fit(d->bench, GW_CURVE_burst_latency, line.slope, line.intercept, line.r2, x[0],
	             x[SIZES - 1]);
	gw_bench_publish_value(d->bench, GW_PARAM_departure_del_coal, line.slope, NAN, SIZES,
	                       "slope of burst_latency (Theil-Sen)");
	return true;
}

/* Every SM at full occupancy, a word of each sector. */
static bool gather(struct departure *d, const char *name, enum gw_param p, const char *how)
{
	CUfunction kernel = gw_bench_kernel(d->bench, name);
	unsigned sms = (unsigned)gw_param(d->bench->known, GW_PARAM_sm_count);
	struct gw_shape shape = {2 * sms, 1024, 0};
	unsigned batch = shape.grid * shape.block * 4, lines = (unsigned)(d->bytes / LINE);
	/* As many words as the memory has sectors, whole batches. */
	unsigned words = lines * (LINE / 32) / batch * batch;
	void *args[] = {&d->memory, &lines, &words, &d->cycles};
	double rates[SAMPLES];
	size_t n;

	if (!kernel || !words)
		return false;
	n = gw_bench_time(d->bench, kernel, shape, args, 1, rates, SAMPLES);
	for (size_t i = 0; i < n; i++)
		rates[i] = 4.0 * words / rates[i];
	if (n)
		gw_bench_publish(d->bench, p, rates, n, how);
	return n > 0;
}

bool gw_group_departure(struct gw_bench *b)
{
	struct departure d = {.bench = b};
	size_t most = gw_bench_memory_free(b) / 2, want = (size_t)(b->quick ? 1 : 2) << 30;
	bool good;

	d.bytes = want < most ? want : most;
	d.bytes -= d.bytes % (1 << 20);
	d.cycles = gw_bench_memory(b, REPEATS * sizeof(uint32_t));
	d.memory = d.bytes ? gw_bench_memory(b, d.bytes) : 0;
	if (!d.cycles || !d.memory || !gw_bench_randomise(b, d.memory, d.bytes))
		return false;
	good = transactions_of_a_request(&d);
	gw_bench_step(b, 0.4);
	good = requests_of_an_sm(&d) && good;
	gw_bench_step(b, 0.7);
	good = gather(&d, "gw_gather_random", GW_PARAM_bw_uncoalesced,
	              "all SMs, each lane a word of a sector of a random line") &&
	       good;
	good = gather(&d, "gw_gather_strided", GW_PARAM_bw_uncoalesced_near,
	              "all SMs, each lane a word of its own sector, sectors in a row") &&
	       good;
	gw_bench_step(b, 1);
	return good;
}
