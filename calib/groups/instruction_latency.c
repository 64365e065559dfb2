/*
 * Latency of operations: the slope between two lengths of a chain of dependent ones, in which the
 * cost of reading the clock cancels. instruction_single.c has Sanchez Gil's own method.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calib/groups/instruction.h"
#include "calib/stats.h"
#include "kernels/shape.h"

enum { ROUNDS = 52, WARM_UP = 4, RUNS = 3, BARRIER_THREADS = 256, MEMBERS = 4 };

/* The rows that models read, as the mean of operations. */
static const struct coarse {
	enum gw_param p;
	enum gw_param of[MEMBERS];
	unsigned count;
} coarse[] = {
	{GW_PARAM_lat_fp32,
	 {GW_PARAM_lat_op_add_f32, GW_PARAM_lat_op_mul_f32, GW_PARAM_lat_op_fma_f32},
	 3},
	{GW_PARAM_lat_fp64,
	 {GW_PARAM_lat_op_add_f64, GW_PARAM_lat_op_mul_f64, GW_PARAM_lat_op_fma_f64},
	 3},
	{GW_PARAM_lat_fp16, {GW_PARAM_lat_op_fma_f16x2}, 1},
	{GW_PARAM_lat_int, {GW_PARAM_lat_op_add_s32, GW_PARAM_lat_op_logic_b32}, 2},
	{GW_PARAM_lat_imad, {GW_PARAM_lat_op_mad_s32}, 1},
	{GW_PARAM_lat_sfu,
	 {GW_PARAM_lat_op_rcp_f32, GW_PARAM_lat_op_rsqrt_f32, GW_PARAM_lat_op_sin_f32,
	  GW_PARAM_lat_op_ex2_f32},
	 4},
	{GW_PARAM_lat_div, {GW_PARAM_lat_op_div_f32}, 1},
	{GW_PARAM_lat_shared, {GW_PARAM_lat_op_load_shared}, 1},
	{GW_PARAM_lat_constant, {GW_PARAM_lat_op_load_constant}, 1},
	{GW_PARAM_lat_atomic_shared, {GW_PARAM_lat_op_atomic_shared}, 1},
	{GW_PARAM_lat_atomic_global, {GW_PARAM_lat_op_atomic_global}, 1},
	{GW_PARAM_lat_barrier, {GW_PARAM_lat_op_barrier}, 1},
	{GW_PARAM_lat_mma, {GW_PARAM_lat_op_mma_f16}, 1},
	{GW_PARAM_lat_shuffle, {GW_PARAM_lat_op_shuffle_b32}, 1},
	{GW_PARAM_lat_bits, {GW_PARAM_lat_op_popc_b32}, 1},
	{GW_PARAM_lat_local, {GW_PARAM_lat_op_load_local}, 1},
	{GW_PARAM_avg_inst_lat,
	 {GW_PARAM_lat_op_add_f32, GW_PARAM_lat_op_sub_f32, GW_PARAM_lat_op_mul_f32,
	  GW_PARAM_lat_op_mad_f32},
	 4},
};

static unsigned threads_of(const struct gw_operation *o)
{
	if (o->warpgroup)
		return GW_WGMMA_THREADS;
	return o->latency == GW_PARAM_lat_op_barrier ? BARRIER_THREADS : GW_LANES;
}

/*
 * The sums of a warpgroup go on from round to round, each beginning with an untimed short chain.
 * One round is checked: sums of fp8 products keep 13 binary digits behind the point of the largest
 * term, so that long ones stop growing.
 */
static bool right(struct gw_lab *lab, const struct gw_operation *o, CUfunction f,
		  struct gw_shape shape)
{
	unsigned chain = (1 + GW_LONG) * o->steps;

	if (o->warpgroup)
		return gw_lab_run(lab, f, shape, 1, 2) &&
		       gw_lab_right(lab, o, GW_WGMMA_THREADS * GW_WGMMA_SUMS, 1, chain + o->steps);
	return gw_lab_right(lab, o, threads_of(o), 1, chain);
}

/* Cycles of one operation, round by round after the warm-up; how many. */
static size_t slopes(struct gw_lab *lab, const struct gw_operation *o, unsigned runs,
		     double *cycles)
{
	struct gw_shape shape = {1, threads_of(o), gw_lab_shared(o, threads_of(o))};
	double apart = (double)(GW_LONG - 1) * o->steps * o->parts;
	char name[64];
	CUfunction f;
	size_t n = 0;

	snprintf(name, sizeof(name), "gw_chain_%s", o->name);
	f = gw_bench_kernel(lab->b, name);
	if (!f || !gw_lab_operands(lab, o, false))
		return 0;
	for (unsigned run = 0; run < runs; run++) {
		if (!gw_lab_run(lab, f, shape, ROUNDS, 2 * ROUNDS))
			return 0;
		for (unsigned i = WARM_UP; i < ROUNDS; i++)
			cycles[n++] =
				((double)lab->readings[2 * i + 1] - lab->readings[2 * i]) / apart;
	}
	return right(lab, o, f, shape) ? n : 0;
}

/* Description of the slope, and the result of Sanchez Gil's method where it was used. */
static void describe(char *how, size_t size, const struct gw_operation *o,
		     const struct gw_single *singles)
{
	int n = snprintf(how, size, "slope from %u to %u dependent ones in one warp%s",
			 o->steps * o->parts, GW_LONG * o->steps * o->parts,
			 o->warpgroup ? "group, each waited for" : "");

	for (unsigned i = 0; i < GW_SINGLES && n > 0 && (size_t)n < size; i++)
		if (!strcmp(singles[i].name, o->name) && isfinite(singles[i].mean))
			snprintf(how + n, size - (size_t)n,
				 "; one alone by Sanchez Gil's convolution: %.1f, deviation %.1f "
				 "(%.1f of "
				 "its "
				 "own), by medians %.1f",
				 singles[i].mean, singles[i].wide, singles[i].narrow,
				 singles[i].medians);
}

static bool chain(struct gw_lab *lab, const struct gw_operation *o, const struct gw_single *singles)
{
	double cycles[RUNS * ROUNDS];
	size_t n = slopes(lab, o, lab->b->quick ? 1 : RUNS, cycles);
	char how[192], series[64];

	if (!n) {
		gw_bench_refuse(lab->b, o->latency,
				"its kernel did not run, or its result was wrong");
		return false;
	}
	describe(how, sizeof(how), o, singles);
	gw_bench_publish(lab->b, o->latency, cycles, n, how);
	snprintf(series, sizeof(series), "latency-%s", o->name);
	gw_bench_samples(lab->b, series, "cycles", cycles, n, 1);
	return true;
}

static void publish_coarse(struct gw_bench *b)
{
	for (size_t i = 0; i < sizeof(coarse) / sizeof(*coarse); i++) {
		const struct coarse *c = &coarse[i];
		double sum = 0, spread = 0;
		uint32_t samples = 0;
		char how[192];
		int n = snprintf(how, sizeof(how), "mean of");

		for (unsigned k = 0; k < c->count; k++) {
			const struct gw_profile_value *v = &b->known->param[c->of[k]];

			sum += v->value;
			spread = fmax(spread, v->spread);
			samples += v->samples;
			if (n > 0 && (size_t)n < sizeof(how))
				n += snprintf(how + n, sizeof(how) - (size_t)n, " %s",
					      gw_param_info(c->of[k]).name);
		}
		if (isfinite(sum))
			gw_bench_publish_value(b, c->p, sum / c->count, spread, samples, how);
		else
			gw_bench_refuse(b, c->p, "an operation it is the mean of is unknown");
	}
}

bool gw_group_instruction_latency(struct gw_bench *b)
{
	struct gw_lab lab;
	struct gw_single singles[GW_SINGLES];
	unsigned count = 0, done = 0, good = 0;
	bool open = gw_lab_open(&lab, b);

	while (gw_operations[count].name)
		count++;
	if (open)
		gw_instruction_singles(&lab, singles);
	for (const struct gw_operation *o = gw_operations; open && o->name && !gw_bench_stopped(b);
	     o++) {
		good += chain(&lab, o, singles);
		gw_bench_step(b, 0.5 + 0.4 * ++done / count);
	}
	if (open && !gw_bench_stopped(b))
		gw_instruction_pipelines(&lab);
	if (good)
		publish_coarse(b);
	gw_lab_close(&lab);
	return good > 0;
}
