/*
 * Group `departure`: how requests and their transactions follow each other on the way to device
 * memory (Hong & Kim: departure delays), and requests of 32 sectors (Kleimenov and Popova 2021).
 *
 * Hong & Kim's latency of an uncoalesced request is Mem_LD + (transactions - 1) x
 * departure_del_uncoal: the slope of latency against transactions is measured as such.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "calib/bench.h"
#include "calib/levels.h"
#include "calib/stats.h"

/* Share of the requests used: the slowest of a hundred hit a refresh or worse. */
static const double KEPT = 0.99;

enum {
	LINE = 128,
	REPEATS = 1024, /* requests of one size */
	SIZES = 32,     /* most sizes of a series */
	LOADS = 4,      /* that a warp of gw_request_burst issues at once */
	BURSTS = 256,   /* of one size */
	SAMPLES = 9,
};

struct departure {
	struct gw_bench *bench;
	CUdeviceptr memory, results;
	size_t bytes;
	unsigned next; /* the first line not yet touched */
};

/* Untouched lines; from the start again when all were used: L2 has evicted those by then. */
static bool fresh_lines(struct departure *d, size_t lines)
{
	if ((d->next + lines) * LINE > d->bytes)
		d->next = 0;
	return lines * LINE <= d->bytes;
}

/* The mean time of REPEATS requests for @p sectors sectors each; NaN: noted. */
static double request_time(struct departure *d, CUfunction kernel, unsigned sectors)
{
	unsigned repeats = REPEATS;
	unsigned lines = (unsigned)(d->bytes / LINE);
	void *args[] = {&d->memory, &lines, &d->next, &sectors, &repeats, &d->results};
	uint32_t raw[REPEATS];
	double each[REPEATS];

	if (!fresh_lines(d, REPEATS * sectors) ||
	    !gw_bench_run(d->bench, kernel, (struct gw_shape){1, 32, 0}, args) ||
	    !gw_bench_read(d->bench, raw, d->results, sizeof(raw)))
		return NAN;
	d->next += REPEATS * sectors;
	for (unsigned i = 0; i < REPEATS; i++)
		each[i] = raw[i];
	return gw_mean_within(each, REPEATS, 0, KEPT);
}

/* One warp whose lanes request 1 to 32 sectors. */
static bool transactions_of_a_request(struct departure *d)
{
	CUfunction kernel = gw_bench_kernel(d->bench, "gw_request_sectors");
	double x[SIZES], y[SIZES], rows[SIZES][2], last[SAMPLES];
	struct gw_line line;

	if (!kernel)
		return false;
	for (unsigned sectors = 1; sectors <= SIZES; sectors++) {
		size_t i = sectors - 1;

		x[i] = sectors;
		y[i] = request_time(d, kernel, sectors);
		rows[i][0] = x[i], rows[i][1] = y[i];
		if (isnan(y[i]))
			return false;
	}
	for (unsigned i = 0; i < SAMPLES; i++)
		last[i] = request_time(d, kernel, SIZES);
	line = gw_line_fit(x, y, SIZES);
	gw_bench_samples(d->bench, "departure_sectors", "sectors,cycles", rows[0], SIZES, 2);
	gw_bench_curve(
		d->bench, GW_CURVE_request_latency, x, y, NULL, SIZES,
		"one warp, each load's lanes want so many sectors of as many lines, device memory");
	gw_bench_fit(d->bench, GW_CURVE_request_latency, line.slope, line.intercept, line.r2, 1,
		     SIZES);
	gw_bench_publish_value(d->bench, GW_PARAM_departure_del_uncoal, line.slope,
			       line.slope_error, SIZES, "slope of request_latency (least squares)");
	gw_bench_publish(d->bench, GW_PARAM_lat_uncoalesced, last, SAMPLES,
			 "one warp, 32 sectors of 32 lines a load, device memory; mean of loads");
	return true;
}

/* As kernels/departure.cu. */
struct burst {
	uint64_t begin, end;
};

/* First issue to last arrival of the @p warps of one round. */
static double burst_time(const struct burst *bursts, unsigned warps)
{
	uint64_t begin = bursts[0].begin, end = bursts[0].end;

	for (unsigned i = 1; i < warps; i++) {
		begin = bursts[i].begin < begin ? bursts[i].begin : begin;
		end = bursts[i].end > end ? bursts[i].end : end;
	}
	return (double)(end - begin);
}

/* Mean time of BURSTS bursts of @p warps; NaN: noted. */
static double bursts_time(struct departure *d, CUfunction kernel, unsigned warps)
{
	unsigned rounds = BURSTS;
	void *args[] = {&d->memory, &d->next, &rounds, &d->results};
	static struct burst raw[BURSTS * SIZES];
	double each[BURSTS];

	if (!fresh_lines(d, BURSTS * warps * LOADS) ||
	    !gw_bench_run(d->bench, kernel, (struct gw_shape){1, warps * 32, 0}, args) ||
	    !gw_bench_read(d->bench, raw, d->results, BURSTS * warps * sizeof(*raw)))
		return NAN;
	d->next += BURSTS * warps * LOADS;
	for (unsigned i = 0; i < BURSTS; i++)
		each[i] = burst_time(raw + (size_t)i * warps, warps);
	return gw_mean_within(each, BURSTS, 0, KEPT);
}

/* The warps of one block, each with LOADS coalesced loads at once. */
static bool requests_of_an_sm(struct departure *d)
{
	CUfunction kernel = gw_bench_kernel(d->bench, "gw_request_burst");
	double x[SIZES], y[SIZES], rows[SIZES][2];
	struct gw_line line;

	if (!kernel)
		return false;
	for (unsigned warps = 1; warps <= SIZES; warps++) {
		size_t i = warps - 1;

		x[i] = warps * LOADS;
		y[i] = bursts_time(d, kernel, warps);
		rows[i][0] = x[i], rows[i][1] = y[i];
		if (isnan(y[i]))
			return false;
	}
	line = gw_line_fit(x, y, SIZES);
	gw_bench_samples(d->bench, "departure_requests", "requests,cycles", rows[0], SIZES, 2);
	gw_bench_curve(
		d->bench, GW_CURVE_burst_latency, x, y, NULL, SIZES,
		"one SM issues so many coalesced loads at once: first issue to last arrival");
	gw_bench_fit(d->bench, GW_CURVE_burst_latency, line.slope, line.intercept, line.r2, x[0],
		     x[SIZES - 1]);
	gw_bench_publish_value(d->bench, GW_PARAM_departure_del_coal, line.slope, line.slope_error,
			       SIZES, "slope of burst_latency (least squares)");
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
	void *args[] = {&d->memory, &lines, &words, &d->results};
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
	size_t most = gw_bench_memory_free(b) / 2, want = (size_t)4 << 30;
	bool good;

	d.bytes = want < most ? want : most;
	d.bytes -= d.bytes % (1 << 20);
	d.results = gw_bench_memory(b, BURSTS * SIZES * sizeof(struct burst));
	d.memory = d.bytes ? gw_bench_memory(b, d.bytes) : 0;
	if (!d.results || !d.memory || !gw_bench_randomise(b, d.memory, d.bytes))
		return false;
	good = transactions_of_a_request(&d);
	gw_bench_step(b, 0.4);
	/* The random order of the first series touched lines everywhere: evict them from L2. */
	good = gw_bench_randomise(b, d.memory, d.bytes) && requests_of_an_sm(&d) && good;
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
