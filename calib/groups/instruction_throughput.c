/*
 * Rates of operations (Konstantinidis 2017, A.2 and A.4): every SM full of warps, each with several
 * chains of the operation. An SM's own clock counts its rate, from its first warp's start to its
 * last warp's end. Runs are long instead of two lengths being subtracted: warps of a short run
 * drift apart and leave the last ones alone, less so in a long run, so the slope would exceed the
 * SM's real rate.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calib/groups/instruction.h"
#include "calib/stats.h"
#include "kernels/shape.h"

enum {
	PROBE = 2,        /* iterations of the first run, whose results are checked */
	CYCLES = 1000000, /* of a run: start and end are a few thousand */
	SAMPLES = 15,
	QUICK_SAMPLES = 5,
};

/* Blocks of @p threads that fit an SM together, at most two full ones. */
static unsigned resident(struct gw_lab *lab, CUfunction f, unsigned threads, unsigned shared)
{
	int blocks = 0;

	if (lab->b->cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, (int)threads,
								    shared) != CUDA_SUCCESS)
		return 0;
	return blocks > 2 ? 2 : (unsigned)blocks;
}

/* First and last cycle of each SM's warps in a run of @p turns turns; false on an error. */
static bool cycles_of(struct gw_lab *lab, CUfunction f, struct gw_shape shape, unsigned turns,
		      struct gw_lab_sm *sm)
{
	size_t warps = (size_t)shape.grid * (shape.block / GW_LANES);

	return gw_lab_run(lab, f, shape, turns, GW_RECORD * warps) &&
	       gw_lab_by_sm(lab, warps, sm, lab->sms);
}

/* Median over the SMs of what one does in a cycle; @p rates has room for each. */
static double median_rate(const struct gw_lab *lab, const struct gw_lab_sm *sm, double per_warp,
			  double *rates)
{
	size_t n = 0;

	for (unsigned i = 0; i < lab->sms; i++)
		if (sm[i].warps && sm[i].last != sm[i].first)
			rates[n++] = sm[i].warps * per_warp / (sm[i].last - sm[i].first);
	return gw_median(rates, n);
}

/* Turns that take about CYCLES, from a run of PROBE turns. */
static unsigned turns_of(const struct gw_lab *lab, const struct gw_lab_sm *probe)
{
	uint32_t longest = 1;

	for (unsigned i = 0; i < lab->sms; i++)
		if (probe[i].last - probe[i].first > longest)
			longest = probe[i].last - probe[i].first;
	return (unsigned)((uint64_t)CYCLES * PROBE / longest) + 1;
}

size_t gw_instruction_rate(struct gw_lab *lab, CUfunction f, unsigned threads, unsigned shared,
			   double per_turn, double *rate, size_t count)
{
	struct gw_lab_sm *sm = calloc(lab->sms, sizeof(*sm));
	double *rates = calloc(lab->sms, sizeof(*rates));
	struct gw_shape shape = {resident(lab, f, threads, shared) * lab->sms, threads, shared};
	size_t n = 0;

	if (sm && rates && shape.grid && cycles_of(lab, f, shape, PROBE, sm)) {
		unsigned turns = turns_of(lab, sm);

		while (n < count && cycles_of(lab, f, shape, turns, sm))
			rate[n++] = median_rate(lab, sm, per_turn * turns, rates);
	}
	free(rates);
	free(sm);
	return n;
}

/* Publish @p samples, counted per SM and cycle, times @p each as a rate of the whole device. */
static void publish_whole(struct gw_lab *lab, enum gw_param p, const double *samples, size_t count,
			  double each, const char *how)
{
	double clock = gw_param(lab->b->known, GW_PARAM_sm_clock);
	double *whole = calloc(count ? count : 1, sizeof(*whole));

	for (size_t i = 0; whole && i < count; i++)
		whole[i] = samples[i] * each * lab->sms * clock;
	if (!isfinite(clock))
		gw_bench_refuse(lab->b, p, "the clock it refers to is not known");
	else
		gw_bench_publish(lab->b, p, whole, whole ? count : 0, how);
	free(whole);
}

/* The rows that models read: operations of a thread in one warp instruction's lane, over a warp. */
static const struct whole {
	enum gw_param p, of;
	double each;
} wholes[] = {
	{GW_PARAM_t_sp, GW_PARAM_rate_op_fma_f32, 2 * GW_LANES},
	{GW_PARAM_t_dp, GW_PARAM_rate_op_fma_f64, 2 * GW_LANES},
	{GW_PARAM_t_hp, GW_PARAM_rate_op_fma_f16x2, 4 * GW_LANES},
	{GW_PARAM_t_int, GW_PARAM_rate_op_mad_s32, 2 * GW_LANES},
	{GW_PARAM_t_add, GW_PARAM_rate_op_add_s32, GW_LANES},
	{GW_PARAM_t_sfu, GW_PARAM_rate_op_ex2_f32, GW_LANES},
	{GW_PARAM_t_atomic_global, GW_PARAM_rate_op_atomic_global, GW_LANES},
	{GW_PARAM_t_atomic_same, GW_PARAM_rate_op_atomic_global_same, GW_LANES},
	{GW_PARAM_t_atomic_shared, GW_PARAM_rate_op_atomic_shared, GW_LANES},
};

static void publish_wholes(struct gw_lab *lab, enum gw_param of, const double *samples, size_t n)
{
	char how[96];

	for (size_t i = 0; i < sizeof(wholes) / sizeof(*wholes); i++)
		if (wholes[i].of == of) {
			snprintf(how, sizeof(how), "%s, all SMs, at sm_clock",
				 gw_param_info(of).name);
			publish_whole(lab, wholes[i].p, samples, n, wholes[i].each, how);
		}
}

/* The first block's results after a short run; of addresses there is one result a thread. */
static bool right(struct gw_lab *lab, const struct gw_operation *o, CUfunction f)
{
	const struct gw_reference *r = gw_reference_of(o->name);
	bool address = r && r->format == GW_FORMAT_ADDRESS;
	struct gw_shape one = {1, GW_LAB_THREADS, gw_lab_shared(o, GW_LAB_THREADS)};
	unsigned chains = address ? 1 : o->chains;

	return gw_lab_run(lab, f, one, PROBE, GW_RECORD) &&
	       gw_lab_right(lab, o, (size_t)GW_LAB_THREADS * chains, chains, PROBE * o->turn);
}

static bool measure(struct gw_lab *lab, const struct gw_operation *o)
{
	double rate[SAMPLES];
	size_t n = 0;
	char name[64], how[96];
	CUfunction f;

	snprintf(name, sizeof(name), "gw_rate_%s", o->name);
	f = gw_bench_kernel(lab->b, name);
	if (f && gw_lab_operands(lab, o, false) && right(lab, o, f))
		n = gw_instruction_rate(lab, f, GW_LAB_THREADS, gw_lab_shared(o, GW_LAB_THREADS),
					(double)o->turn * o->chains * o->parts, rate,
					lab->b->quick ? QUICK_SAMPLES : SAMPLES);
	snprintf(how, sizeof(how),
		 "full SMs, %u chains a thread, work of a run over the SM's own cycles", o->chains);
	if (n)
		gw_bench_publish(lab->b, o->rate, rate, n, how);
	else
		gw_bench_refuse(lab->b, o->rate, "its kernel did not run, or its result was wrong");
	publish_wholes(lab, o->rate, rate, n);
	snprintf(name, sizeof(name), "rate-%s", o->name);
	gw_bench_samples(lab->b, name, "inst_per_cycle", rate, n, 1);
	return n > 0;
}

/* Kernels that mix instructions (kernels/pipes.cu). */
static void mixtures(struct gw_lab *lab)
{
	static const struct {
		const char *kernel;
		enum gw_param p;
		double per_turn, each;
		unsigned shared; /* bytes of a thread */
		const char *how;
	} rows[] = {
		{"gw_rate_issue", GW_PARAM_t_issue, 2 * GW_ISSUE_STEPS * GW_ISSUE_CHAINS, 1, 0,
		 "fp32 addition and minimum in turn, all SMs, at sm_clock"},
		{"gw_rate_swap_32", GW_PARAM_t_ldst, 4 * GW_SWAP_STEPS, GW_LANES, 8,
		 "two words swapped, no bank conflict, all SMs, at sm_clock"},
		{"gw_rate_swap_64", GW_PARAM_t_ldst_64, 4 * GW_SWAP_STEPS, GW_LANES, 16,
		 "two rows of 8 bytes swapped, all SMs, at sm_clock"},
		{"gw_rate_swap_128", GW_PARAM_t_ldst_128, 4 * GW_SWAP_STEPS, GW_LANES, 32,
		 "two rows of 16 bytes swapped, all SMs, at sm_clock"},
	};
	double rate[SAMPLES];

	if (!gw_lab_operands(lab, gw_operation_of("add_f32"), false))
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CUfunction f = gw_bench_kernel(lab->b, rows[i].kernel);
		size_t n =
			f ? gw_instruction_rate(lab, f, GW_LAB_THREADS,
						rows[i].shared * GW_LAB_THREADS, rows[i].per_turn,
						rate, lab->b->quick ? QUICK_SAMPLES : SAMPLES)
			  : 0;

		publish_whole(lab, rows[i].p, rate, n, rows[i].each, rows[i].how);
		gw_bench_samples(lab->b, rows[i].kernel + strlen("gw_"), "inst_per_cycle", rate, n,
				 1);
	}
}

bool gw_group_instruction_throughput(struct gw_bench *b)
{
	struct gw_lab lab;
	unsigned count = 0, done = 0, good = 0;
	bool open = gw_lab_open(&lab, b);

	while (gw_operations[count].name)
		count++;
	for (const struct gw_operation *o = gw_operations; open && o->name && !gw_bench_stopped(b);
	     o++) {
		/* The group tensor runs those of four warps. */
		if (!o->warpgroup)
			good += measure(&lab, o);
		gw_bench_step(b, (double)++done / count);
	}
	if (open && !gw_bench_stopped(b))
		mixtures(&lab);
	gw_lab_close(&lab);
	return good > 0;
}
