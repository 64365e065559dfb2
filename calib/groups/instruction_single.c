/*
 * Sanchez Gil's method for instructions: operations between two readings of the clock, and the same
 * kernel without them, as distributions. Convolution with the reflected distribution of the clock's
 * cost removes it (eqs. 6.1 to 6.3).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calib/convolution.h"
#include "calib/groups/instruction.h"
#include "calib/stats.h"
#include "kernels/shape.h"

enum {
	ROUNDS = 12, /* in a point of the sweep; Sanchez Gil 2017 repeats 50 times over fewer warps */
	ALONE_ROUNDS = 516,
	WARM_UP = 4,
	STEP = 32, /* threads from block size to block size */
	COLUMNS = 7,
};

static const char *const five[GW_SINGLES] = {"add_f32", "sub_f32", "mul_f32", "div_f32", "mad_f32"};

/* Readings of a kernel, and their distribution. */
struct observed {
	double *samples;
	size_t count;
	struct gw_dist dist;
};

static void forget(struct observed *o)
{
	free(o->samples);
	gw_dist_free(&o->dist);
}

/* Readings of @p kernel by every warp of @p shape after the warm-up; empty when it failed. */
static struct observed observe(struct gw_lab *lab, const char *kernel, struct gw_shape shape,
			       unsigned rounds)
{
	size_t warps = (size_t)shape.grid * (shape.block / GW_LANES);
	CUfunction f = gw_bench_kernel(lab->b, kernel);
	struct observed o = {.samples = malloc(rounds * warps * sizeof(double))};

	if (f && o.samples && gw_lab_run(lab, f, shape, rounds, rounds * warps)) {
		o.count = (rounds - WARM_UP) * warps;
		for (size_t i = 0; i < o.count; i++)
			o.samples[i] = lab->readings[WARM_UP * warps + i];
	}
	o.dist = gw_dist_of(o.samples, o.count);
	return o;
}

/* The operation's part in Z = X + Y. */
static struct gw_single part(const char *name, const struct observed *z, const struct observed *y)
{
	struct gw_dist x = gw_dist_difference(&z->dist, &y->dist);
	struct gw_single s = {name, gw_dist_mean(&x), gw_dist_deviation(&x),
			      gw_dist_narrow(&z->dist, &y->dist),
			      gw_median(z->samples, z->count) - gw_median(y->samples, y->count)};

	gw_dist_free(&x);
	return s;
}

/* One operation with the clock's cost @p y of the same launch taken out. */
static struct gw_single one(struct gw_lab *lab, const char *name, struct gw_shape shape,
			    unsigned rounds, const struct observed *y)
{
	struct gw_single s = {name, NAN, NAN, NAN, NAN};
	char kernel[64];
	struct observed z;

	snprintf(kernel, sizeof(kernel), "gw_batch_%s_1", name);
	if (!gw_lab_operands(lab, gw_operation_of(name), false))
		return s;
	z = observe(lab, kernel, shape, rounds);
	if (z.count && y->count &&
	    gw_lab_right(lab, gw_operation_of(name), (size_t)shape.block, 1, 1))
		s = part(name, &z, y);
	forget(&z);
	return s;
}

/* Figs. 35 to 39: every operation at one launch shape, as rows of samples. */
static void point(struct gw_lab *lab, struct gw_shape shape, double *rows, size_t *n)
{
	struct observed y;

	if (!gw_lab_operands(lab, gw_operation_of(five[0]), false))
		return;
	y = observe(lab, "gw_clock_f32", shape, ROUNDS);
	for (unsigned i = 0; i < GW_SINGLES; i++) {
		struct gw_single s = one(lab, five[i], shape, ROUNDS, &y);
		const double row[COLUMNS] = {i,      shape.grid, shape.block, s.mean,
					     s.wide, s.narrow,   s.medians};

		if (isfinite(s.mean))
			memcpy(rows + COLUMNS * (*n)++, row, sizeof(row));
	}
	forget(&y);
}

/* One block, a block on each SM, two on each, as Sanchez Gil 2017 does; of its 32 block sizes a quick run takes
 * four. */
static void sweep(struct gw_lab *lab)
{
	const unsigned grids[] = {1, lab->sms, 2 * lab->sms};
	unsigned step = lab->b->quick ? GW_LAB_THREADS / 4 : STEP, done = 0;
	unsigned sizes = GW_LAB_THREADS / step, points = 3 * sizes;
	double *rows = malloc(points * GW_SINGLES * COLUMNS * sizeof(*rows));
	size_t n = 0;

	for (unsigned g = 0; rows && g < 3; g++)
		for (unsigned size = 1; size <= sizes && !gw_bench_stopped(lab->b); size++) {
			point(lab, (struct gw_shape){grids[g], size * step, 0}, rows, &n);
			gw_bench_step(lab->b, 0.5 * ++done / points);
		}
	if (n)
		gw_bench_samples(lab->b, "single-sweep",
				 "operation,blocks,threads,mean,deviation,own_deviation,medians",
				 rows, n, COLUMNS);
	free(rows);
}

void gw_instruction_singles(struct gw_lab *lab, struct gw_single out[GW_SINGLES])
{
	const struct gw_shape alone = {1, GW_LANES, 0};
	struct observed y = {.count = 0};

	if (gw_lab_operands(lab, gw_operation_of(five[0]), false))
		y = observe(lab, "gw_clock_f32", alone, ALONE_ROUNDS);
	gw_bench_samples(lab->b, "single-clock", "cycles", y.samples, y.count, 1);
	for (unsigned i = 0; i < GW_SINGLES; i++)
		out[i] = one(lab, five[i], alone, ALONE_ROUNDS, &y);
	forget(&y);
	sweep(lab);
}

/* 1 to 8 independent operations of one kind by one warp. */
static void pipeline(struct gw_lab *lab, const char *name, const char *clock,
		     enum gw_curve_id curve)
{
	const struct gw_shape alone = {1, GW_LANES, 0};
	double x[GW_BATCH_MAX], cycles[GW_BATCH_MAX], spread[GW_BATCH_MAX];
	struct observed y;
	char kernel[64];
	size_t n = 0;

	if (!gw_lab_operands(lab, gw_operation_of(name), false))
		return;
	y = observe(lab, clock, alone, ALONE_ROUNDS);
	for (unsigned k = 1; k <= GW_BATCH_MAX && y.count; k++) {
		struct observed z;

		snprintf(kernel, sizeof(kernel), "gw_batch_%s_%u", name, k);
		z = observe(lab, kernel, alone, ALONE_ROUNDS);
		if (z.count &&
		    gw_lab_right(lab, gw_operation_of(name), (size_t)GW_LANES * k, k, 1)) {
			struct gw_single s = part(name, &z, &y);

			x[n] = k;
			cycles[n] = s.mean;
			spread[n++] = s.narrow;
		}
		forget(&z);
	}
	forget(&y);
	if (n == GW_BATCH_MAX)
		gw_bench_curve(
			lab->b, curve, x, cycles, spread, n,
			"independent ones between two clock reads, the clock's cost convolved out");
	else
		gw_bench_refuse_curve(lab->b, curve,
				      "a kernel did not run, or its result was wrong");
}

void gw_instruction_pipelines(struct gw_lab *lab)
{
#define PIPELINED(name, type, meaning) \
	pipeline(lab, #name, "gw_clock_" #type, GW_CURVE_pipeline_##name);
#include "kernels/pipelined.def"
#undef PIPELINED
	gw_bench_step(lab->b, 1);
}
