/*
 * Group `dram`: bandwidth of device memory, read, written, copied and combined (Konstantinidis
 * 2017, A.3), against the size of the arrays, the number of SMs, and the bytes in flight; and its
 * latency under load.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "calib/groups/rate.h"
#include "calib/levels.h"
#include "calib/stats.h"

static const size_t MIB = 1 << 20;

enum {
	ELEMENT = 16,   /* bytes of a load */
	BLOCK = 512,    /* threads, of the kernels that run over whole arrays */
	CHECKED = 4096, /* elements checked on the host */
};

struct dram {
	struct gw_bench *bench;
	CUdeviceptr a, b, c; /* arrays */
	CUdeviceptr word;    /* sums, sinks */
	size_t bytes;        /* of each array */
	CUfunction read, write, copy, triad;
};

static bool open_dram(struct dram *d, struct gw_bench *b)
{
	size_t most = gw_bench_memory_free(b) / 6, bytes = 2048 * MIB;

	while (bytes > most)
		bytes /= 2;
	*d = (struct dram){.bench = b, .bytes = bytes};
	if (bytes < 4 * MIB) {
		gw_bench_note(b, "too little free memory for arrays beyond the caches");
		return false;
	}
	d->read = gw_bench_kernel(b, "gw_stream_read");
	d->write = gw_bench_kernel(b, "gw_stream_write");
	d->copy = gw_bench_kernel(b, "gw_stream_copy");
	d->triad = gw_bench_kernel(b, "gw_stream_triad");
	d->a = gw_bench_memory(b, bytes);
	d->b = gw_bench_memory(b, bytes);
	d->c = gw_bench_memory(b, bytes);
	d->word = gw_bench_memory(b, 64);
	return d->read && d->write && d->copy && d->triad && d->a && d->b && d->c && d->word &&
	       gw_bench_randomise(b, d->a, bytes) && gw_bench_randomise(b, d->b, bytes);
}

/** An operation on arrays of `count` elements. */
struct job {
	uint64_t count;
	unsigned seed;
	float scale;
	void *args[5];
};

enum kind { READ, WRITE, COPY, TRIAD, KINDS };

static const char *const kind_name[KINDS] = {"read", "write", "copy", "triad"};

/* The launch that does @p kind to arrays of @p bytes, its arguments in @p j. */
static struct gw_rate rate_of(struct dram *d, enum kind kind, size_t bytes, struct job *j)
{
	const CUfunction kernel[KINDS] = {d->read, d->write, d->copy, d->triad};
	/* Elements of a thread, as in kernels/stream.cu: every thread of the others has one batch.
	 */
	const unsigned batch[KINDS] = {8, 4, 8, 4}, arrays[KINDS] = {1, 1, 2, 3};
	void *args[KINDS][5] = {{&d->a, &j->count, &d->word},
				{&d->c, &j->count, &j->seed},
				{&d->c, &d->a, &j->count},
				{&d->c, &d->a, &d->b, &j->scale, &j->count}};
	struct gw_rate r = {.kernel = kernel[kind], .args = j->args};

	j->count = bytes / ELEMENT;
	memcpy(j->args, args[kind], sizeof(j->args));
	r.shape = (struct gw_shape){(unsigned)(j->count / (BLOCK * batch[kind])), BLOCK, 0};
	/* Reading ends in one atomic of every warp: few warps read all. */
	if (kind == READ && r.shape.grid > 4 * gw_rate_sms(d->bench))
		r.shape.grid = 4 * gw_rate_sms(d->bench);
	r.amount = (double)bytes * arrays[kind];
	/* Enough for a sample of about a millisecond at a few TB/s. */
	r.launches = (unsigned)(bytes < 1024 * MIB ? 1024 * MIB / bytes : 1);
	r.launches = r.launches > 64 ? 64 : r.launches;
	return r;
}

/* The sum of the first CHECKED elements, by the kernel and by the host. */
static bool read_holds(struct dram *d)
{
	uint32_t words[CHECKED * ELEMENT / 4], sum = 0, host = 0;
	struct job j = {0};
	struct gw_rate r = rate_of(d, READ, CHECKED * ELEMENT, &j);

	if (!gw_bench_write(d->bench, d->word, &sum, sizeof(sum)) ||
	    !gw_bench_run(d->bench, r.kernel, r.shape, r.args) ||
	    !gw_bench_read(d->bench, &sum, d->word, sizeof(sum)) ||
	    !gw_bench_read(d->bench, words, d->a, sizeof(words)))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		host ^= words[i];
	return sum == host;
}

/* The last elements of the arrays, before the copy they are written, after it they are copies. */
static bool copy_holds(struct dram *d)
{
	static uint32_t from[CHECKED * ELEMENT / 4], to[CHECKED * ELEMENT / 4];
	size_t last = d->bytes - sizeof(from);
	struct job j = {.seed = 1};
	struct gw_rate w = rate_of(d, WRITE, d->bytes, &j), c;
	uint32_t number = (uint32_t)(last / ELEMENT) ^ j.seed;

	if (!gw_bench_run(d->bench, w.kernel, w.shape, w.args) ||
	    !gw_bench_read(d->bench, to, d->c + last, sizeof(to)) || to[0] != number ||
	    to[3] != number * 7)
		return false;
	c = rate_of(d, COPY, d->bytes, &j);
	return gw_bench_run(d->bench, c.kernel, c.shape, c.args) &&
	       gw_bench_read(d->bench, from, d->a + last, sizeof(from)) &&
	       gw_bench_read(d->bench, to, d->c + last, sizeof(to)) &&
	       !memcmp(from, to, sizeof(to));
}

/*
 * The four at full size, and the mean of three of them. The host has just accessed the arrays while
 * the GPU waited.
 */
static void measure_rates(struct dram *d)
{
	static const enum gw_param param[KINDS] = {GW_PARAM_b_mem_read, GW_PARAM_b_mem_write,
						   GW_PARAM_b_mem_copy, GW_PARAM_b_mem_triad};
	double rates[KINDS][GW_RATE_SAMPLES], mean[GW_RATE_SAMPLES];
	size_t least = GW_RATE_SAMPLES;

	for (enum kind k = READ; k < KINDS; k++) {
		struct job j = {.seed = 2, .scale = 0.5f};
		struct gw_rate r = rate_of(d, k, d->bytes, &j);
		size_t n = gw_rate_settled(d->bench, &r, rates[k]);

		if (n)
			gw_bench_publish(
				d->bench, param[k], rates[k], n,
				"arrays far beyond L2, 16-byte accesses, events around a launch, "
				"once rates had settled");
		gw_bench_samples(d->bench, kind_name[k], "bytes_per_second", rates[k], n, 1);
		if (k < TRIAD && n < least)
			least = n;
	}
	for (size_t i = 0; i < least; i++)
		mean[i] = (rates[READ][i] + rates[WRITE][i] + rates[COPY][i]) / 3;
	if (least)
		gw_bench_publish(d->bench, GW_PARAM_b_mem, mean, least,
				 "mean of read, write and copy (Konstantinidis 2017)");
}

static void measure_sizes(struct dram *d)
{
	static const enum gw_curve_id curve[KINDS] = {GW_CURVE_dram_read_bw, GW_CURVE_dram_write_bw,
						      GW_CURVE_dram_copy_bw,
						      GW_CURVE_dram_triad_bw};
	double x[GW_CURVE_POINTS], y[GW_CURVE_POINTS];

	for (enum kind k = READ; k < KINDS; k++) {
		size_t n = 0;

		for (size_t bytes = MIB; bytes <= d->bytes && n < GW_CURVE_POINTS;
		     bytes *= d->bench->quick ? 4 : 2) {
			struct job j = {.seed = 3, .scale = 0.5f};
			struct gw_rate r = rate_of(d, k, bytes, &j);

			x[n] = (double)bytes;
			y[n] = gw_rate_of(d->bench, &r);
			if (isnan(y[n++]))
				return;
		}
		gw_bench_curve(d->bench, curve[k], x, y, NULL, n,
			       "launches back to back, one array's size against all bytes moved; "
			       "below L2's size L2 serves part of it");
	}
}

/* Shared memory that leaves an SM room for one block only. */
static unsigned one_an_sm(const struct dram *d)
{
	double most = gw_param(d->bench->known, GW_PARAM_shared_per_block);

	return isnan(most) ? 0 : (unsigned)(most * 0.75);
}

/* Bandwidth of a kernel of `loads` loads in flight a thread, @p grid blocks, one an SM. */
static double in_flight_rate(struct dram *d, unsigned grid, unsigned threads, unsigned loads)
{
	char name[32] = "gw_in_flight_0";
	uint64_t count = d->bytes / 4 / ELEMENT;
	void *args[] = {&d->a, &count, &d->word};
	struct gw_rate r = {.args = args, .launches = 1};
	uint64_t batch = (uint64_t)grid * threads * loads;

	name[strlen(name) - 1] = (char)('0' + loads);
	r.kernel = gw_bench_kernel(d->bench, name);
	r.shape = (struct gw_shape){grid, threads, one_an_sm(d)};
	count -= count % batch; /* whole batches */
	r.amount = (double)count * ELEMENT;
	return gw_rate_of(d->bench, &r);
}

/* Bandwidth against the bytes that each SM has in flight. */
static void measure_in_flight(struct dram *d)
{
	static const struct {
		unsigned threads, loads;
	} asked[] = {{32, 1},   {64, 1},  {96, 1},   {128, 1}, {192, 1}, {256, 1},
		     {384, 1},  {512, 1}, {768, 1},  {512, 2}, {640, 2}, {768, 2},
		     {1024, 2}, {768, 4}, {1024, 4}, {768, 8}, {1024, 8}};
	double x[GW_CURVE_POINTS], y[GW_CURVE_POINTS];
	size_t n = 0, count = sizeof(asked) / sizeof(*asked);

	for (size_t i = 0; i < count; i += d->bench->quick ? 2 : 1) {
		x[n] = (double)asked[i].threads * asked[i].loads * ELEMENT;
		y[n] = in_flight_rate(d, gw_rate_sms(d->bench), asked[i].threads, asked[i].loads);
		if (isnan(y[n++]))
			return;
	}
	gw_curve_rising(y, n);
	gw_bench_curve(
		d->bench, GW_CURVE_dram_bw_in_flight, x, y, NULL, n,
		"one block an SM, each thread's next loads wait for its last ones; threads x "
		"loads x 16 bytes against bytes over time");
}

static void measure_sms(struct dram *d)
{
	unsigned sms = gw_rate_sms(d->bench), steps = d->bench->quick ? 4 : 16;
	double x[GW_CURVE_POINTS], y[GW_CURVE_POINTS];
	size_t n = 0;

	for (unsigned i = 0; i <= steps; i++) {
		unsigned grid = i ? i * sms / steps : 1;

		if (n && grid <= x[n - 1])
			continue;
		x[n] = grid;
		y[n] = in_flight_rate(d, grid, 1024, 8);
		if (isnan(y[n++]))
			return;
	}
	gw_bench_curve(d->bench, GW_CURVE_dram_bw_sms, x, y, NULL, n,
		       "so many SMs, one block of 1024 threads each, 128 KiB in flight an SM");
}

bool gw_group_dram(struct gw_bench *b)
{
	struct dram d;

	if (!open_dram(&d, b))
		return false;
	if (!read_holds(&d) || !copy_holds(&d)) {
		gw_bench_note(b, "a kernel did not move what it should: no bandwidth is published");
		return false;
	}
	measure_rates(&d);
	gw_bench_step(b, 0.3);
	measure_sizes(&d);
	gw_bench_step(b, 0.6);
	measure_in_flight(&d);
	gw_bench_step(b, 0.8);
	measure_sms(&d);
	gw_bench_step(b, 1);
	return !gw_bench_stopped(b);
}
