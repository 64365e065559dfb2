/*
 * Group `cache`: bandwidth of the memories near the SMs: L2 against footprint, L1, shared memory by
 * width, constant memory, texture (Konstantinidis 2017, appendix B).
 */
#include <math.h>
#include <stdint.h>

#include "calib/groups/rate.h"

static const size_t MIB = 1 << 20;

enum {
	ELEMENT = 16, /* bytes of a load */
	THREADS = 1024,
	PASSES =
		512, /* duration of the loops near an SM: far longer than a launch takes to start */
	BATCH = 8,   /* loads of a thread at once, as kernels/cache.cu */
};

struct cache {
	struct gw_bench *bench;
	CUdeviceptr memory, spans, sink;
	size_t bytes;
	unsigned sms;
};

static bool open_cache(struct cache *c, struct gw_bench *b)
{
	size_t want = 3 * (size_t)gw_param(b->known, GW_PARAM_l2_size), most;

	most = gw_bench_memory_free(b) / 2;
	*c = (struct cache){.bench = b, .sms = gw_rate_sms(b), .bytes = want < most ? want : most};
	c->bytes -= c->bytes % MIB;
	c->memory = c->bytes ? gw_bench_memory(b, c->bytes) : 0;
	c->spans = gw_bench_memory(b, c->sms * sizeof(uint64_t));
	c->sink = gw_bench_memory(b, sizeof(uint32_t));
	return c->memory && c->spans && c->sink && gw_bench_randomise(b, c->memory, c->bytes);
}

/* Bandwidth of the L2 kernel @p name over @p footprint bytes. */
static double l2_rate(struct cache *c, CUfunction kernel, bool reads, size_t footprint)
{
	unsigned count = (unsigned)(footprint / ELEMENT), passes;
	void *read_args[] = {&c->memory, &count, &passes, &c->sink};
	void *write_args[] = {&c->memory, &count, &passes};
	struct gw_rate r = {kernel, {2 * c->sms, THREADS, 0}, reads ? read_args : write_args, 0, 1};
	double pass = (double)r.shape.grid * THREADS * BATCH * ELEMENT;

	passes = (unsigned)(4e9 / pass) + 1; /* about a millisecond at a few TB/s */
	r.amount = pass * passes;
	return gw_rate_of(c->bench, &r);
}

/* About @p f bytes, a multiple of what a block reads at a time. */
static double whole_blocks(double f)
{
	return f - fmod(f, THREADS * ELEMENT);
}

/* L2 against footprint, and its value where the footprint is a sixth of it. */
static void measure_l2(struct cache *c, bool reads)
{
	CUfunction kernel = gw_bench_kernel(c->bench, reads ? "gw_l2_read" : "gw_l2_write");
	double x[GW_CURVE_POINTS], y[GW_CURVE_POINTS];
	double l2 = gw_param(c->bench->known, GW_PARAM_l2_size);
	size_t n = 0;

	for (double f = l2 / 16; kernel && f <= (double)c->bytes && n < GW_CURVE_POINTS;
	     f *= c->bench->quick ? sqrt(2) : pow(2, 0.25)) {
		x[n] = whole_blocks(f);
		y[n] = l2_rate(c, kernel, reads, (size_t)x[n]);
		if (isnan(y[n]) || gw_bench_stopped(c->bench))
			return;
		n++;
	}
	if (!n)
		return;
	gw_bench_curve(c->bench, reads ? GW_CURVE_l2_read_bw : GW_CURVE_l2_write_bw, x, y, NULL, n,
		       "all SMs, 16-byte accesses past L1, every SM all of the footprint");
	for (unsigned i = 0; i < GW_RATE_SAMPLES; i++)
		y[i] = l2_rate(c, kernel, reads, (size_t)whole_blocks(l2 / 6));
	gw_bench_publish(c->bench, reads ? GW_PARAM_b_l2_read : GW_PARAM_b_l2_write, y,
			 GW_RATE_SAMPLES,
			 "all SMs, 16-byte accesses past L1, a footprint of a sixth of L2");
}

static void measure_l1(struct cache *c)
{
	unsigned threads = 256, passes = PASSES; /* 8 elements each: 32 KiB */
	void *args[] = {&c->memory, &passes, &c->spans, &c->sink};
	struct gw_rate r = {gw_bench_kernel(c->bench, "gw_l1_read"),
			    {c->sms, threads, 0},
			    args,
			    (double)threads * BATCH * ELEMENT * passes,
			    1};

	gw_rate_publish_cycles(
		c->bench, &r, c->spans, GW_PARAM_b_l1,
		"each SM 32 KiB of its own by 16-byte loads, ld.ca; cycles of the SM");
}

static void measure_shared(struct cache *c)
{
	static const struct {
		const char *kernel;
		unsigned bytes;
		enum gw_param param;
	} widths[] = {{"gw_shared_32", 4, GW_PARAM_b_shared},
		      {"gw_shared_64", 8, GW_PARAM_b_shared_64},
		      {"gw_shared_128", 16, GW_PARAM_b_shared_128}};
	unsigned passes = PASSES;
	void *args[] = {&passes, &c->spans, &c->sink};

	for (unsigned i = 0; i < 3; i++) {
		/* 32 KiB at every width, more than one load of every warp in flight. */
		unsigned threads = 512, loads = BATCH * passes;
		struct gw_rate r = {gw_bench_kernel(c->bench, widths[i].kernel),
				    {c->sms, threads, threads * BATCH * widths[i].bytes},
				    args,
				    (double)threads * loads * widths[i].bytes,
				    1};

		gw_rate_publish_cycles(
			c->bench, &r, c->spans, widths[i].param,
			"every SM, consecutive threads side by side, loads only; cycles of the SM");
	}
}

static void measure_constant(struct cache *c)
{
	static const enum gw_param param[] = {GW_PARAM_b_constant, GW_PARAM_b_constant_serialised};

	for (unsigned spread = 0; spread < 2; spread++) {
		unsigned passes = spread ? PASSES / 8 : PASSES;
		void *args[] = {&passes, &spread, &c->spans, &c->sink};
		struct gw_rate r = {gw_bench_kernel(c->bench, "gw_constant"),
				    {c->sms, THREADS, 0},
				    args,
				    4.0 * THREADS * BATCH * passes,
				    1};

		gw_rate_publish_cycles(
			c->bench, &r, c->spans, param[spread],
			spread ? "4 KiB of constants, each lane another word; bytes the threads get"
			       : "4 KiB of constants, one word a warp; bytes the threads get");
	}
}

/* A texture of 32-bit elements over the group's memory; 0: noted. */
static CUtexObject texture_over(struct cache *c)
{
	CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR};
	CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_READ_AS_INTEGER};
	CUtexObject texture = 0;
	CUresult result = CUDA_ERROR_NOT_SUPPORTED;

	resource.res.linear.devPtr = c->memory;
	resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
	resource.res.linear.numChannels = 1;
	resource.res.linear.sizeInBytes = c->bytes;
	if (c->bench->cu->cuTexObjectCreate && c->bench->cu->cuTexObjectDestroy)
		result = c->bench->cu->cuTexObjectCreate(&texture, &resource, &how, NULL);
	if (result != CUDA_SUCCESS) {
		gw_bench_note(c->bench, "no texture: %s", gw_cuda_error(c->bench->cu, result));
		return 0;
	}
	return texture;
}

/* 32 KiB that each SM keeps near, and half of L2, all of which each of them reads. */
static void measure_texture(struct cache *c)
{
	static const enum gw_param param[] = {GW_PARAM_b_texture, GW_PARAM_b_texture_l2};
	static const char *const how[] = {
		"tex1Dfetch of 32-bit elements, 32 KiB an SM",
		"tex1Dfetch of 32-bit elements, every SM all of half of L2"};
	const unsigned turn = THREADS * BATCH;
	CUtexObject texture = texture_over(c);
	unsigned half =
		(unsigned)(gw_param(c->bench->known, GW_PARAM_l2_size) / 2 / 4) / turn * turn;

	for (unsigned far = 0; texture && half && far < 2; far++) {
		unsigned count = far ? half : turn, apart = far ? half / c->sms : turn;
		unsigned passes = far ? 1 : PASSES / 4;
		void *args[] = {&texture, &count, &apart, &half, &passes, &c->spans, &c->sink};
		struct gw_rate r = {gw_bench_kernel(c->bench, "gw_texture"),
				    {c->sms, THREADS, 0},
				    args,
				    4.0 * count * passes,
				    1};

		gw_rate_publish_cycles(c->bench, &r, c->spans, param[far], how[far]);
	}
	if (texture)
		c->bench->cu->cuTexObjectDestroy(texture);
}

bool gw_group_cache(struct gw_bench *b)
{
	struct cache c;

	if (!open_cache(&c, b))
		return false;
	measure_l2(&c, true);
	gw_bench_step(b, 0.4);
	measure_l2(&c, false);
	gw_bench_step(b, 0.8);
	measure_l1(&c);
	measure_shared(&c);
	measure_constant(&c);
	measure_texture(&c);
	gw_bench_step(b, 1);
	return !gw_bench_stopped(b);
}
