/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sass/schedule_score.h"
#include "tests/unit/sass/built.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SM = 90 };

/* Which loop tells which latency, in the order they are solved: later ones need earlier ones. */
static const struct {
	const char *name;
	unsigned wait;
} calibrations[] = {
        {"cal_loop", GW_WAIT_branch},
        {"cal_constant", GW_WAIT_constant},
        {"cal_operand", GW_WAIT_operand},
        {"cal_l1", GW_WAIT_global},
        {"cal_shared", GW_WAIT_shared},
        {"cal_shared_wide", GW_WAIT_wide},
        {"cal_l1_wide", GW_WAIT_wide_global},
        {"cal_local", GW_WAIT_local},
        {"cal_sfu", GW_WAIT_sfu},
        {"cal_convert", GW_WAIT_convert},
        {"cal_bits", GW_WAIT_bits},
        {"cal_shuffle", GW_WAIT_shuffle},
        {"cal_reduce", GW_WAIT_reduce},
        {"cal_match", GW_WAIT_match},
        {"cal_special", GW_WAIT_special},
        {"cal_atomic", GW_WAIT_atomic},
        {"cal_atomic_shared", GW_WAIT_atomic_shared},
        {"cal_barrier", GW_WAIT_barrier},
        {"cal_store_barrier", GW_WAIT_store},
        {"cal_fence", GW_WAIT_fence},
};

static const struct listing_kernel *find(const struct listing *code, const char *name)
{
	const struct listing_kernel *kernel = listing_named(code, name);

	if (!kernel) {
		fprintf(stderr, "no code of %s\n", name);
		exit(2);
	}
	return kernel;
}

/* @p block calls the slow path of a division or a root, or follows such a call alone. */
static bool slow_path(const struct gw_cfg *cfg, uint32_t block)
{
	const struct gw_cfg_block *b = &cfg->blocks[block];

	return b->end == GW_CFG_CALL ||
	       (b->pred_count == 1 && cfg->blocks[cfg->edges[b->pred_first]].end == GW_CFG_CALL);
}

/* Runs of each block in an iteration of the timed loop, which is at depth 2; `nested` has one more
 * inside it that runs 8 times. Slow paths do not run. */
static void iteration_runs(const struct gw_cfg *cfg, double *runs)
{
	for (uint32_t b = 0; b < cfg->block_count; b++) {
		uint32_t depth = gw_cfg_depth(cfg, b);

		runs[b] = depth < 2 || slow_path(cfg, b) ? 0 : depth == 2 ? 1 : 8;
	}
}

static double predict(const struct listing_kernel *kernel, const struct gw_waits *waits)
{
	struct built b;
	double *runs, cycles;

	built_begin(&b, kernel, SM);
	built_schedule(&b, waits);
	runs = gw_arena_array(&b.arena, b.cfg.block_count, sizeof(*runs));
	iteration_runs(&b.cfg, runs);
	cycles = gw_schedule_warp(&b.schedule, &b.cfg, runs);
	built_end(&b);
	return cycles;
}

static double measured_of(const struct score *s, const char *name)
{
	for (unsigned i = 0; i < s->count; i++)
		if (!strcmp(s->rows[i].name, name))
			return s->rows[i].measured;
	fprintf(stderr, "no measurement of %s\n", name);
	exit(2);
}

/* The latency at which the prediction of @p name is what was measured: predictions rise with it. */
static double solve(struct score *s, const struct listing *code, const char *name, unsigned wait)
{
	const struct listing_kernel *kernel = find(code, name);
	double low = 0, high = 20000, target = measured_of(s, name);

	for (unsigned i = 0; i < 40; i++) {
		s->waits.cycles[wait] = (low + high) / 2;
		if (predict(kernel, &s->waits) < target)
			low = s->waits.cycles[wait];
		else
			high = s->waits.cycles[wait];
	}
	return (low + high) / 2;
}

static void calibrate(struct score *s, const struct listing *code)
{
	gw_waits_clear(&s->waits);
	/* What plays no part in the loop being solved must be a number, not right. */
	for (unsigned i = 0; i < GW_WAITS; i++)
		s->waits.cycles[i] = 0;
	for (unsigned i = 0; i < sizeof(calibrations) / sizeof(*calibrations); i++)
		s->waits.cycles[calibrations[i].wait] =
		        solve(s, code, calibrations[i].name, calibrations[i].wait);
	double l1 = s->waits.cycles[GW_WAIT_global];

	s->global_l2 = solve(s, code, "cal_l2", GW_WAIT_global);
	s->global_dram = solve(s, code, "cal_dram", GW_WAIT_global);
	s->waits.cycles[GW_WAIT_global] = l1;
}

static void read_measured(struct score *s, const struct listing *code, const char *path)
{
	FILE *f = fopen(path, "r");
	char name[64];
	double trips, cycles;

	if (!f) {
		perror(path);
		exit(2);
	}
	while (s->count < sizeof(s->rows) / sizeof(*s->rows) &&
	       fscanf(f, "%63s %lf %lf", name, &trips, &cycles) == 3)
		s->rows[s->count++] = (struct score_row){.name = find(code, name)->name,
		                                         .measured = cycles / trips,
		                                         .predicted = (double)NAN};
	fclose(f);
}

void score_run(struct score *s, const struct listing *code, const char *measured)
{
	memset(s, 0, sizeof(*s));
	read_measured(s, code, measured);
	calibrate(s, code);
	for (unsigned i = 0; i < s->count; i++) {
		struct gw_waits waits = s->waits;

		if (strstr(s->rows[i].name, "l2_") || strstr(s->rows[i].name, "_l2"))
			waits.cycles[GW_WAIT_global] = s->global_l2;
		if (strstr(s->rows[i].name, "dram"))
			waits.cycles[GW_WAIT_global] = s->global_dram;
		s->rows[i].predicted = predict(find(code, s->rows[i].name), &waits);
	}
}
