/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the code shows of each launch of the coalescing test, beside what ncu counted:
 *   compare PTX RESULTS PROFILE
 * PTX is the runner's kernels, RESULTS the folder with launches.json, counted.csv and cold.csv.
 * Prints a line a launch and the correlations; ends with 1 when a launch whose addresses are known
 * is not as counted.
 */
#include "tests/gpu/coalescing/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/memory.h"
#include "predictor/code/ptx/ptx.h"
#include "predictor/code/static_work.h"
#include "predictor/profile/profile.h"

/* Rows Kim 2023 has in its fig. 4.6: the base workloads first, then its eleven real ones. */
static const char *const of_003[] = {"stride-32",        "stride-4",     "same-location",
				     "coalescing",       "b+tree_findK", "b+tree_findRangeK",
				     "3DConvolution",    "convSep",      "bfs_kernel1",
				     "backprop_forward", "heartwall",    "2DConvolution",
				     "bfs_kernel2",      "GEMM",         "backprop_adjust_weights"};
/* Two misses on one sector that are on their way at once may both be counted as one. */
static const double hits_within = 0.002;
/* Launches that must be reported exactly for the comparison to mean anything. */
enum { EXACT_LEAST = 144 };
enum { BASE_ROWS = 4, ROWS_003 = sizeof(of_003) / sizeof(*of_003) };

/** What the code shows of one launch. */
struct reported {
	struct gw_work work;
	double degree, expectation, sectors; /* of loads whose addresses are known */
	double wavefronts, conflicts;        /* of shared loads, a request */
	double unknown;                      /* share of load requests without known addresses */
	bool exact;                          /* counts are exact, addresses all known */
};

static void sum_loads(const struct gw_gather *g, struct reported *out)
{
	struct gw_coalescing sum = {0};
	double runs = 0, unknown = 0, shared = 0, sectors = 0;

	out->wavefronts = out->conflicts = 0;
	out->exact = g->complete && g->report.coverage == GW_COVER_EXACT &&
		     g->blocks == gw_dim3_count(g->locality->grid);
	for (uint32_t i = 0; i < g->count; i++) {
		const struct gw_gather_access *a = &g->access[i];
		double known = a->requests / (a->requests + a->uncounted);

		if (a->store || a->atomic || !(gw_gather_mean(&a->runs) > 0))
			continue;
		if (a->space == IR_SPACE_SHARED) {
			shared += a->requests;
			out->wavefronts += a->wavefronts;
			out->conflicts += a->conflicts;
			continue;
		}
		gw_coalescing_merge(&sum, &a->coalescing,
				    gw_gather_mean(&a->runs) / (a->requests + a->uncounted));
		runs += gw_gather_mean(&a->runs);
		unknown += gw_gather_mean(&a->runs) * (isnan(known) ? 1 : 1 - known);
		if (a->requests > 0)
			sectors += gw_gather_mean(&a->runs) * known *
				   gw_coalescing_sectors(&a->coalescing);
		out->exact &= a->runs.least == a->runs.most && known == 1 && a->assumed == 0;
	}
	out->degree = gw_coalescing_degree(&sum);
	out->expectation = gw_coalescing_expectation(&sum);
	out->unknown = unknown / runs;
	out->sectors = sectors / (runs - unknown);
	out->wavefronts /= shared;
	out->conflicts /= shared;
}

static void tell(const struct gw_ptx *ptx, const struct launched *l, const struct gw_device *device,
		 struct reported *out)
{
	struct gw_kernel kernel = {.name = l->kernel, .registers = 32, .max_threads = 1024};
	struct gw_launch launch = {.kernel = &kernel, .config = l->config};
	struct gw_eval_launch eval = {.config = l->config,
				      .arguments = {l->arguments, l->argument_bytes}};
	struct gw_gather_limits limits = {.blocks = 64, .steps = 20000000};
	struct gw_ptx_fault fault;
	struct gw_ir_program program;
	struct gw_gather gather;
	struct gw_arena arena;
	const char *why = "lowering failed";

	gw_arena_init(&arena, (size_t)1 << 30);
	gw_work_clear(&out->work);
	if (gw_ptx_lower(ptx, gw_ptx_find(ptx, l->kernel), &arena, &program, &fault))
		why = gw_gather_run(&program, &eval, &limits, &arena, &gather);
	if (why) {
		fprintf(stderr, "compare: %s: %s\n", l->label, why);
		exit(2);
	}
	kernel.static_shared = program.static_shared;
	gw_static_memory(&(struct gw_static_in){.program = &program,
						.gather = &gather,
						.device = device,
						.launch = &launch},
			 &out->work);
	sum_loads(&gather, out);
	gw_arena_free(&arena);
}

static double row(const struct reported *t, enum gw_work_field f)
{
	return t->work.q[f].value;
}

/* Known exactly and yet not as counted. */
static bool wrong(const struct reported *t, const struct launched *l)
{
	double requests = launched_value(l, COUNTED_LOAD_REQUESTS);
	double sectors = launched_value(l, COUNTED_LOAD_SECTORS);
	double shared = launched_value(l, COUNTED_SHARED_LOADS);

	if (!t->exact)
		return false;
	if (requests > 0 && fabs(t->sectors - sectors / requests) > 1e-6 * t->sectors)
		return true;
	if (requests > 0 && fabs(row(t, GW_WORK_l1_hit_rate) -
				 launched_value(l, COUNTED_LOAD_HITS) / sectors) > hits_within)
		return true;
	/* Compilers keep some loads and drop others: shapes are compared, by request. */
	return requests == 0 && shared > 0 &&
	       fabs(t->wavefronts * shared - launched_value(l, COUNTED_SHARED_WAVEFRONTS)) > 0.5;
}

static void print_row(const struct reported *t, const struct launched *l)
{
	double requests = launched_value(l, COUNTED_LOAD_REQUESTS);
	double sectors = launched_value(l, COUNTED_LOAD_SECTORS);
	double shared = launched_value(l, COUNTED_SHARED_LOADS);

	printf("%-26s %9.0f %9.0f %7.3f %7.3f %7.2f %7.2f%% %5.0f%% %7.2f%% %7.2f%%", l->label,
	       requests, row(t, GW_WORK_global_load_requests), sectors / requests, t->sectors,
	       t->expectation, 100 * t->degree, 100 * t->unknown,
	       100 * launched_value(l, COUNTED_LOAD_HITS) / sectors,
	       100 * row(t, GW_WORK_l1_hit_rate));
	printf(" %7.3f %7.3f %8.2f %8.2f%s\n",
	       launched_value(l, COUNTED_SHARED_WAVEFRONTS) / shared, t->wavefronts,
	       launched_value(l, COLD_DRAM_READ) / 1e6, row(t, GW_WORK_dram_read_bytes) / 1e6,
	       wrong(t, l) ? "  <-- not as counted" : "");
}

/** Pairs to correlate; what is not known on either side is left out. */
struct pairs {
	double n, x, y, xx, yy, xy;
};

static void pair(struct pairs *p, double x, double y)
{
	if (!isfinite(x) || !isfinite(y))
		return;
	p->n++;
	p->x += x, p->y += y;
	p->xx += x * x, p->yy += y * y, p->xy += x * y;
}

static double pearson(const struct pairs *p)
{
	return (p->n * p->xy - p->x * p->y) /
	       sqrt((p->n * p->xx - p->x * p->x) * (p->n * p->yy - p->y * p->y));
}

/** Correlations over one choice of launches. */
struct correlations {
	struct pairs expectation, sectors, degree_hits, hits, dram;
};

static void correlate(struct correlations *c, const struct reported *t, const struct launched *l)
{
	double sectors = launched_value(l, COUNTED_LOAD_SECTORS);
	double per_request = sectors / launched_value(l, COUNTED_LOAD_REQUESTS);
	double hits = launched_value(l, COUNTED_LOAD_HITS) / sectors;

	pair(&c->expectation, t->expectation, per_request);
	pair(&c->sectors, t->sectors, per_request);
	pair(&c->degree_hits, t->degree, hits);
	pair(&c->hits, row(t, GW_WORK_l1_hit_rate), hits);
	pair(&c->dram, log(row(t, GW_WORK_dram_read_bytes)),
	     log(launched_value(l, COLD_DRAM_READ)));
}

static void print_correlations(const char *what, const struct correlations *c)
{
	printf("%-44s %.3f (%.0f) | %.3f (%.0f) | %.3f (%.0f) | %.3f (%.0f) | %.3f (%.0f)\n", what,
	       pearson(&c->expectation), c->expectation.n, pearson(&c->sectors), c->sectors.n,
	       pearson(&c->degree_hits), c->degree_hits.n, pearson(&c->hits), c->hits.n,
	       pearson(&c->dram), c->dram.n);
}

static size_t place_in_003(const char *label)
{
	size_t i = 0;

	while (i < ROWS_003 && strcmp(of_003[i], label) != 0)
		i++;
	return i;
}

static bool is_micro(const char *label)
{
	return !strncmp(label, "copy_", 5) || !strncmp(label, "groups_", 7) ||
	       !strncmp(label, "banks_", 6) || !strncmp(label, "masked", 6) ||
	       !strcmp(label, "partial_warp");
}

/* Prints the correlations; whether as many launches as there should be were reported, and as
 * counted.
 */
static bool summary(const struct reported *reported, const struct launched *launched, size_t count)
{
	static struct correlations all, rows, real, more;
	unsigned exact = 0, bad = 0;

	for (size_t i = 0; i < count; i++) {
		size_t place = place_in_003(launched[i].label);

		exact += reported[i].exact;
		bad += wrong(&reported[i], &launched[i]);
		correlate(&all, &reported[i], &launched[i]);
		if (place < ROWS_003)
			correlate(&rows, &reported[i], &launched[i]);
		if (place >= BASE_ROWS && place < ROWS_003)
			correlate(&real, &reported[i], &launched[i]);
		if (place >= BASE_ROWS && !is_micro(launched[i].label))
			correlate(&more, &reported[i], &launched[i]);
	}
	printf("\ncorrelation r (launches) of: Kim's expectation with sectors per request | exact "
	       "sectors with sectors per\nrequest | degree with L1 hit rate | reported with "
	       "counted L1 "
	       "hit rate | log of DRAM bytes read, caches empty\n");
	print_correlations("every launch", &all);
	print_correlations("the 15 rows of Kim's fig. 4.6", &rows);
	print_correlations("its 11 real ones", &real);
	print_correlations("real patterns, ours included", &more);
	printf("\n%zu launches, %u with counts and addresses reported exactly; of these %u not as "
	       "counted\n",
	       count, exact, bad);
	return !bad && exact >= EXACT_LEAST;
}

int main(int argc, char **argv)
{
	static struct gw_profile profile;
	struct launched *launched;
	struct gw_profile_error error;
	struct gw_ptx_fault fault;
	struct gw_arena arena;
	struct gw_bytes text;
	struct gw_ptx ptx;
	struct reported *reported;
	size_t count;
	bool good;

	if (argc < 4) {
		fprintf(stderr, "usage: compare PTX RESULTS PROFILE\n");
		return 2;
	}
	text = read_whole(argv[1]);
	launched = read_launches(argv[2], &count);
	gw_arena_init(&arena, (size_t)256 << 20);
	if (gw_profile_read(argv[3], &profile, &error) ||
	    !gw_ptx_parse(text, &arena, &ptx, &fault)) {
		fprintf(stderr, "compare: %s or %s cannot be read\n", argv[1], argv[3]);
		return 2;
	}
	/* As ncu reads it off the device; a profile learns it by calibration. */
	if (isnan(gw_param(&profile.device, GW_PARAM_l2_size)))
		gw_device_set(&profile.device, GW_PARAM_l2_size, 62914560, GW_METHOD_VENDOR);
	reported = gw_alloc(count * sizeof(*reported));
	printf("%-26s %9s %9s %7s %7s %7s %8s %6s %8s %8s %7s %7s %8s %8s\n", "launch", "loads",
	       "reported", "s/r", "reported", "003", "degree", "unkn.", "hits", "reported", "sh.wf",
	       "reported", "MB read", "reported");
	for (size_t i = 0; i < count; i++) {
		tell(&ptx, &launched[i], &profile.device, &reported[i]);
		print_row(&reported[i], &launched[i]);
	}
	good = summary(reported, launched, count);
	free(reported);
	free(launched);
	free((void *)(uintptr_t)text.data);
	gw_arena_free(&arena);
	return !good;
}
