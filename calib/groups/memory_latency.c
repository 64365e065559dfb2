/* Group `memory_latency`: one thread chases pointers; every memory level, and translation. */
#include <math.h>
#include <stdlib.h>

#include "calib/convolution.h"
#include "calib/groups/chase.h"
#include "calib/levels.h"
#include "calib/stats.h"

/* Of the loads: the slowest of a hundred meet a refresh or worse. */
static const double KEPT = 0.99;
static const size_t KIB = 1 << 10, MIB = 1 << 20, GIB = 1 << 30;

enum {
	MOST_SMS = 16,         /* SMs measured: latency differs with the place on the chip */
	MOST_POINTS = 64,      /* of a curve */
	L1_BYTES = 8 << 10,    /* well inside the smallest L1 */
	COLD_BYTES = 32 << 20, /* of the chain that only device memory holds: few pages */
	L2_BYTES = 8 << 20,    /* of the chain that L2 holds */
	L2_LOADS = 2048,       /* of each SM: all of them together fewer than the chain has links */
	PAGE_LINKS = 256,      /* least links of the chain over pages */
	LINKS = 1 << 22,       /* most links over a large footprint: far more than L2 has lines */
};

/* What the parts of the group share. */
struct latency {
	struct gw_bench *bench;
	struct gw_chase chase;
	unsigned sms[MOST_SMS], sm_count;
	struct gw_dist clock;                   /* what timing a load costs */
	double each[MOST_SMS * GW_CHASE_LOADS]; /* cycles of single loads */
	double l1, l2, far, dram;               /* found so far; NaN when not */
};

/* SMs spread evenly over the chip: the same ones on each run. */
static void choose_sms(struct latency *l)
{
	unsigned all = (unsigned)gw_param(l->bench->known, GW_PARAM_sm_count);
	unsigned most = l->bench->quick ? MOST_SMS / 2 : MOST_SMS;

	l->sm_count = all < most ? all : most;
	for (unsigned i = 0; i < l->sm_count; i++)
		l->sms[i] = i * all / l->sm_count;
}

static double l2_bytes(const struct latency *l)
{
	return gw_param(l->bench->known, GW_PARAM_l2_size);
}

/* The chase kernel without its load: the cost of two readings of the clock and a store. */
static bool measure_clock(struct latency *l)
{
	struct gw_chase_run run = {l->chase.each_none, 0, 0, GW_CHASE_LOADS, l->sms[0]};

	if (!gw_chase_lay(&l->chase, L1_BYTES, GW_LINE) || !gw_chase_each(&l->chase, &run, l->each))
		return false;
	l->clock = gw_dist_of(l->each, GW_CHASE_LOADS);
	gw_bench_samples(l->bench, "latency_clock", "cycles", l->each, GW_CHASE_LOADS, 1);
	return l->clock.count > 0;
}

static void measure_l1(struct latency *l)
{
	struct gw_chase_run run = {.kernel = l->chase.ca, .loads = GW_CHASE_LOADS};
	double samples[MOST_SMS];

	if (!gw_chase_lay(&l->chase, L1_BYTES, GW_LINE))
		return;
	run.skip = 2 * l->chase.links;
	for (unsigned i = 0; i < l->sm_count; i++) {
		run.sm = l->sms[i];
		samples[i] = gw_chase_mean(&l->chase, &run);
		if (isnan(samples[i]))
			return;
	}
	gw_bench_publish(
		l->bench, GW_PARAM_lat_l1, samples, l->sm_count,
		"pointer chase of one thread over 8 KiB, ld.ca, cycles over loads; median of SMs");
	l->l1 = gw_median(samples, l->sm_count);
}

/*
 * Time single loads on each of the SMs (@p run is their common part) and subtract the clock's cost:
 * the median of its distribution, so that the shape of the loads' distribution is kept. The samples
 * are in l->each, one SM after the other. False: noted.
 */
static bool each_on_sms(struct latency *l, struct gw_chase_run run, const char *series)
{
	double cost = gw_dist_quantile(&l->clock, 0.5);

	for (unsigned i = 0; i < l->sm_count; i++) {
		double *each = l->each + (size_t)i * run.loads;

		run.sm = l->sms[i];
		if (!gw_chase_each(&l->chase, &run, each))
			return false;
		for (unsigned j = 0; j < run.loads; j++)
			each[j] -= cost;
	}
	gw_bench_samples(l->bench, series, "cycles", l->each, (size_t)l->sm_count * run.loads, 1);
	return true;
}

/* Near L2: lines that the SM has read before. */
static void measure_l2_near(struct latency *l)
{
	struct gw_chase_run run = {l->chase.each_cg, L2_BYTES, 0, L2_LOADS, 0};
	double samples[MOST_SMS];

	if (!gw_chase_lay(&l->chase, L2_BYTES, GW_LINE) || !each_on_sms(l, run, "latency_l2"))
		return;
	for (unsigned i = 0; i < l->sm_count; i++)
		samples[i] = gw_mean_within(l->each + (size_t)i * run.loads, run.loads, 0, KEPT);
	gw_bench_publish(l->bench, GW_PARAM_lat_l2, samples, l->sm_count,
			 "pointer chase over 8 MiB that the SM has read before, ld.cg, each load "
			 "timed; mean, median of SMs");
	l->l2 = gw_median(samples, l->sm_count);
}

/*
 * Far L2. A line is in the partition of its address, and also in the other one once an SM there has
 * read or written it. Right after all SMs together wrote the chain, a quarter of the lines are
 * neither at home nor written on the side of the reading SM, and the chain is long enough that each
 * SM finds its links untouched by those before it. Where L2 is one partition, all are near.
 */
static void measure_l2_far(struct latency *l)
{
	struct gw_chase_run run = {l->chase.each_cg, 0, 0, L2_LOADS, 0};
	double samples[MOST_SMS];
	unsigned two = 0;

	if (!gw_chase_lay(&l->chase, L2_BYTES, GW_LINE) || !each_on_sms(l, run, "latency_l2_first"))
		return;
	for (unsigned i = 0; i < l->sm_count; i++) {
		const double *each = l->each + (size_t)i * run.loads;
		struct gw_split split = gw_split_of(each, run.loads, 0, 0.99);

		two += gw_split_is_two(&split, 0.1 * split.low);
		samples[i] = gw_mean_within(each, run.loads, split.boundary, KEPT);
	}
	if (two < l->sm_count) {
		gw_bench_refuse(l->bench, GW_PARAM_lat_l2_far,
				"the latencies of L2 fall into one population, not two");
		return;
	}
	gw_bench_publish(l->bench, GW_PARAM_lat_l2_far, samples, l->sm_count,
			 "the same, lines just written and new to the SM; mean of the slower ones "
			 "(Otsu's division), median of SMs");
	l->far = gw_median(samples, l->sm_count);
}

/* Device memory: a chain whose lines are untouched since L2 was filled with others. */
static void measure_dram(struct latency *l)
{
	struct gw_chase_run run = {l->chase.each_cg, 0, 256, GW_CHASE_LOADS, 0};
	size_t flush = 4 * (size_t)l2_bytes(l);
	double samples[MOST_SMS];

	if (l->chase.bytes < COLD_BYTES + flush) {
		gw_bench_refuse(l->bench, GW_PARAM_lat_dram, "too little memory to flush L2 with");
		return;
	}
	if (!gw_chase_lay(&l->chase, COLD_BYTES, GW_LINE) ||
	    !gw_bench_randomise(l->bench, l->chase.memory + COLD_BYTES, flush) ||
	    !each_on_sms(l, run, "latency_dram"))
		return;
	for (unsigned i = 0; i < l->sm_count; i++)
		samples[i] = gw_mean_within(l->each + (size_t)i * run.loads, run.loads, 0, KEPT);
	gw_bench_publish(l->bench, GW_PARAM_lat_dram, samples, l->sm_count,
			 "pointer chase over 32 MiB after L2 was flushed, ld.cg, each load timed; "
			 "mean, median of SMs");
	l->dram = gw_median(samples, l->sm_count);
}

/* Median over three SMs of the cycles of a load of @p run; NaN: noted. */
static double mean_on_sms(struct latency *l, struct gw_chase_run run)
{
	double samples[3];

	for (unsigned i = 0; i < 3; i++) {
		run.sm = l->sms[i * l->sm_count / 3];
		samples[i] = gw_chase_mean(&l->chase, &run);
	}
	return gw_median(samples, 3);
}

/*
 * A line of each page (of few pages, several), from four pages to as many as there is memory for:
 * L2 holds the lines, but the translations cost more and more.
 */
static void measure_translation(struct latency *l)
{
	struct gw_chase_run run = {.kernel = l->chase.cg, .loads = 2048};
	double x[MOST_POINTS], y[MOST_POINTS];
	static const char no_step[] = "no step in the latency against the memory touched";
	struct gw_step step;
	size_t n = 0;

	for (double pages = 4;
	     n < MOST_POINTS && pages * GW_PAGE <= (double)l->chase.bytes * (1 + 1e-9);
	     pages *= sqrt(2)) {
		size_t footprint = (size_t)pages * GW_PAGE;
		size_t stride = pages < PAGE_LINKS ? footprint / PAGE_LINKS : GW_PAGE;

		stride -= stride % GW_LINE;
		if (gw_bench_stopped(l->bench) || !gw_chase_lay(&l->chase, footprint, stride))
			return;
		run.skip = l->chase.links;
		x[n] = (double)footprint;
		y[n] = mean_on_sms(l, run);
		if (isnan(y[n++]))
			return;
	}
	gw_bench_curve(l->bench, GW_CURVE_translation_latency, x, y, NULL, n,
		       "pointer chase, a line in each page of 2 MiB, ld.cg, lines held by L2");
	step = gw_step_of(x, y, n, 0.01);
	if (isnan(step.at)) {
		gw_bench_refuse(l->bench, GW_PARAM_lat_tlb_miss, no_step);
		gw_bench_refuse(l->bench, GW_PARAM_tlb_reach, no_step);
		return;
	}
	gw_bench_publish_value(
		l->bench, GW_PARAM_lat_tlb_miss, step.high - step.low, NAN, n,
		"height of the step of translation_latency: median above less below");
	if (l->bench->quick) /* few points: the position of the step is known to a tenth */
		gw_bench_refuse(l->bench, GW_PARAM_tlb_reach, GW_QUICK_REFUSED);
	else
		gw_bench_publish_value(l->bench, GW_PARAM_tlb_reach, step.at, NAN, n,
				       "where translation_latency is half way up its step");
}

/* Shares of single loads below the two boundaries between levels. */
struct shares {
	double l1, l2, dram;
};

static struct shares shares_of(const struct latency *l, const double *each, size_t n)
{
	double cost = gw_dist_quantile(&l->clock, 0.5);
	double first = (l->l1 + l->l2) / 2 + cost;
	double second = (fmax(l->l2, isnan(l->far) ? 0 : l->far) + l->dram) / 2 + cost;
	struct shares s = {0, 0, 0};

	for (size_t i = 0; i < n; i++)
		*(each[i] < first ? &s.l1 : each[i] < second ? &s.l2 : &s.dram) += 1 / (double)n;
	return s;
}

/* A point of the curve against footprint: the chase as it is, then each load on its own. */
static bool at_footprint(struct latency *l, size_t footprint, double *cycles, struct shares *shares)
{
	size_t stride = footprint / LINKS > GW_LINE ? footprint / LINKS : GW_LINE;
	size_t warm = footprint < 512 * MIB ? footprint : 512 * MIB;
	struct gw_chase_run run = {l->chase.ca, warm, 0, GW_CHASE_LOADS, 0};

	if (!gw_chase_lay(&l->chase, footprint, stride - stride % GW_LINE))
		return false;
	run.skip = l->chase.links < GW_CHASE_LOADS ? 2 * l->chase.links : GW_CHASE_LOADS;
	*cycles = mean_on_sms(l, run);
	run.kernel = l->chase.each_ca;
	if (isnan(*cycles) || !gw_chase_each(&l->chase, &run, l->each))
		return false;
	*shares = shares_of(l, l->each, run.loads);
	return true;
}

static void measure_footprints(struct latency *l)
{
	double x[MOST_POINTS], y[MOST_POINTS], l1[MOST_POINTS], l2[MOST_POINTS], dram[MOST_POINTS];
	double most = fmin(8 * (double)GIB, (double)l->chase.bytes);
	struct shares shares;
	size_t n = 0;

	for (double f = (double)(2 * KIB); n < MOST_POINTS && f <= most;
	     f *= l->bench->quick ? 2 : pow(2, 0.375)) {
		size_t footprint = (size_t)f - (size_t)f % GW_LINE;

		if (gw_bench_stopped(l->bench) || !at_footprint(l, footprint, &y[n], &shares))
			return;
		x[n] = (double)footprint;
		l1[n] = shares.l1, l2[n] = shares.l2, dram[n++] = shares.dram;
		gw_bench_step(l->bench, 0.3 + 0.7 * log2(f / (double)(2 * KIB)) / 22);
	}
	gw_bench_curve(l->bench, GW_CURVE_memory_latency, x, y, NULL, n,
		       "pointer chase of one thread in random order, ld.ca; median of three SMs");
	if (isnan(l->l1) || isnan(l->l2) || isnan(l->dram))
		return;
	gw_bench_curve(l->bench, GW_CURVE_share_l1, x, l1, NULL, n,
		       "loads of the chase faster than half way between lat_l1 and lat_l2");
	gw_bench_curve(l->bench, GW_CURVE_share_l2, x, l2, NULL, n,
		       "loads of the chase between the boundaries");
	gw_bench_curve(l->bench, GW_CURVE_share_dram, x, dram, NULL, n,
		       "loads of the chase slower than half way between L2 and lat_dram");
}

bool gw_group_memory_latency(struct gw_bench *b)
{
	struct latency *l = calloc(1, sizeof(*l));
	bool ready;

	if (!l)
		return false;
	*l = (struct latency){.bench = b, .l1 = NAN, .l2 = NAN, .far = NAN, .dram = NAN};
	choose_sms(l);
	ready = gw_chase_open(&l->chase, b, (b->quick ? 8 : 64) * GIB) && measure_clock(l);
	if (ready) {
		measure_l1(l);
		measure_l2_near(l);
		measure_l2_far(l);
		gw_bench_step(b, 0.1);
		measure_dram(l);
		gw_bench_step(b, 0.15);
		measure_translation(l);
		gw_bench_step(b, 0.3);
		measure_footprints(l);
	}
	gw_dist_free(&l->clock);
	free(l);
	return ready;
}
