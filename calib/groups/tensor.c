/*
 * Tensor operations of whole warpgroups: what an SM completes in a cycle, and what the device
 * sustains over tens of milliseconds on random factors, when its power limit lowers the clock:
 * models need the latter. Without warpgroup operations mma.sync is used.
 */
#include <math.h>
#include <stdio.h>

#include "calib/groups/instruction.h"
#include "calib/stats.h"
#include "kernels/shape.h"

enum {
	THREADS = 2 * GW_WGMMA_THREADS, /* two warpgroups: one computes while the other waits */
	PROBE = 2,
	SAMPLES = 11,
	QUICK_SAMPLES = 5,
	LAUNCHES = 8,
	WARM_UP = 10, /* samples before those that count; at most SAMPLES */
};
static const double launch_seconds = 2.5e-3; /* of one launch of the sustained run */

/* The rows of sustained rates: a warpgroup operation, else mma.sync; and what one instruction
 * computes, 2 m n k operations. */
static const struct sustained {
	enum gw_param p;
	const char *wide, *narrow; /* NULL: there is none */
	double wide_work, narrow_work;
} sustained[] = {
	{GW_PARAM_t_tensor_fp16, "wgmma_bf16", "mma_bf16", 2 * 64 * 256 * 16, 2 * 16 * 8 * 16},
	{GW_PARAM_t_tensor_tf32, "wgmma_tf32", "mma_tf32", 2 * 64 * 256 * 8, 2 * 16 * 8 * 8},
	{GW_PARAM_t_tensor_fp8, "wgmma_e4m3", NULL, 2 * 64 * 256 * 32, 0},
	{GW_PARAM_t_tensor_int8, "wgmma_s8", "mma_s8", 2 * 64 * 256 * 32, 2 * 16 * 8 * 32},
	{GW_PARAM_t_tensor_fp64, NULL, "mma_f64", 0, 2 * 16 * 8 * 8},
};

static CUfunction kernel_of(struct gw_lab *lab, const struct gw_operation *o)
{
	char name[64];

	snprintf(name, sizeof(name), "gw_rate_%s", o->name);
	return gw_bench_kernel(lab->b, name);
}

/* Rate of a warpgroup operation: four warps do one. */
static void rate_of(struct gw_lab *lab, const struct gw_operation *o)
{
	unsigned shared = gw_lab_shared(o, THREADS);
	CUfunction f = kernel_of(lab, o);
	double rate[SAMPLES];
	size_t n = 0;
	char series[64];

	if (f && gw_lab_operands(lab, o, false) &&
	    gw_lab_run(lab, f, (struct gw_shape){1, THREADS, shared}, PROBE, GW_RECORD) &&
	    gw_lab_right(lab, o, GW_WGMMA_THREADS * GW_WGMMA_SUMS, 1, PROBE * o->turn) &&
	    gw_lab_operands(lab, o, true))
		n = gw_instruction_rate(lab, f, THREADS, shared, o->turn / 4.0, rate,
					lab->b->quick ? QUICK_SAMPLES : SAMPLES);
	if (!n) {
		gw_bench_refuse(lab->b, o->rate, "its kernel did not run, or its result was wrong");
		return;
	}
	gw_bench_publish(
		lab->b, o->rate, rate, n,
		"two warpgroups an SM, random factors, work of a run over the SM's own cycles");
	snprintf(series, sizeof(series), "rate-%s", o->name);
	gw_bench_samples(lab->b, series, "inst_per_cycle", rate, n, 1);
}

/* Seconds of launches back to back of @p turns turns; how many samples. */
static size_t run_long(struct gw_lab *lab, CUfunction f, struct gw_shape shape, unsigned turns,
		       double *seconds)
{
	struct gw_hidden hidden = {.rounds = turns};
	struct gw_operands operands = {lab->in, lab->out, lab->cycles, lab->hidden};
	void *args[] = {&operands};

	/* The first 200 ms are faster than the power limit allows later. */
	if (!gw_bench_write(lab->b, lab->hidden, &hidden, sizeof(hidden)) ||
	    !gw_bench_time(lab->b, f, shape, args, LAUNCHES, seconds, WARM_UP))
		return 0;
	return gw_bench_time(lab->b, f, shape, args, LAUNCHES, seconds,
			     lab->b->quick ? QUICK_SAMPLES : SAMPLES);
}

/* One row: @p o at length on random factors. */
static void sustain(struct gw_lab *lab, enum gw_param p, const struct gw_operation *o, double work)
{
	double per_cycle = gw_param(lab->b->known, o->rate),
	       clock = gw_param(lab->b->known, GW_PARAM_sm_clock);
	unsigned threads = o->warpgroup ? THREADS : GW_LAB_THREADS,
		 groups = threads / (o->warpgroup ? GW_WGMMA_THREADS : GW_LANES);
	struct gw_shape shape = {lab->sms, threads, gw_lab_shared(o, threads)};
	double in_turn = (double)groups * o->turn * o->chains, seconds[SAMPLES], rate[SAMPLES];
	CUfunction f = kernel_of(lab, o);
	char how[192];
	size_t n = 0;

	if (f && per_cycle > 0 && clock > 0 && gw_lab_operands(lab, o, true)) {
		double turns = ceil(launch_seconds * clock * per_cycle / in_turn);

		n = run_long(lab, f, shape, (unsigned)turns, seconds);
		for (size_t i = 0; i < n; i++)
			rate[i] = turns * in_turn * work * lab->sms / seconds[i];
	}
	snprintf(how, sizeof(how),
		 "%s, random factors, sustained for %.0f ms; %.4g by cycles at sm_clock", o->name,
		 1e3 * launch_seconds * LAUNCHES * (double)n, per_cycle * work * lab->sms * clock);
	gw_bench_publish(lab->b, p, rate, n, how);
	snprintf(how, sizeof(how), "sustained-%s", o->name);
	gw_bench_samples(lab->b, how, "op_per_s", rate, n, 1);
}

bool gw_group_tensor(struct gw_bench *b)
{
	struct gw_lab lab;
	const unsigned count = sizeof(sustained) / sizeof(*sustained);
	bool open = gw_lab_open(&lab, b);

	for (const struct gw_operation *o = gw_operations; open && o->name && !gw_bench_stopped(b);
	     o++)
		if (o->warpgroup)
			rate_of(&lab, o);
	for (unsigned i = 0; open && i < count && !gw_bench_stopped(b); i++) {
		const struct sustained *s = &sustained[i];
		const struct gw_operation *o = s->wide ? gw_operation_of(s->wide) : NULL;
		bool wide = o && gw_param(b->known, o->rate) > 0;

		if (!wide)
			o = s->narrow ? gw_operation_of(s->narrow) : NULL;
		if (o)
			sustain(&lab, s->p, o, wide ? s->wide_work : s->narrow_work);
		else
			gw_bench_refuse(b, s->p, "this device has no such operation");
		gw_bench_step(b, (i + 1.0) / count);
	}
	gw_lab_close(&lab);
	return open;
}
