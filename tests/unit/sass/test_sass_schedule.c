#include "predictor/code/sass/tensor.h"
#include "predictor/code/timing/schedule.h"
#include "predictor/code/timing/schedule_parts.h"
#include "predictor/core/device.h"
#include "tests/test.h"
#include "tests/unit/sass/sass_fixture.h"

/*
 * Measured loops of one warp (sass_fixture.h) beside what the schedule says. The latencies are
 * solved for on the loops named cal_*, one after the other; the rest are predicted with them.
 */

struct score_row {
	const char *name;         /* the kernel's */
	double measured;          /* cycles of an iteration */
	double predicted;         /* NaN: unknown */
	struct gw_cycles formula; /* of the straight loop */
};

struct score {
	struct score_row rows[96];
	unsigned count;
	struct gw_waits waits; /* global: as L1 */
	double global_l2, global_dram;
};

enum { SM = 90 };

/* Which loop gives which latency, in the order they are solved: later ones need earlier ones. */
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
	for (unsigned i = 0; i < COUNT(calibrations); i++)
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

/* Read both files and score; ends the program with status 2 when they can't be read. */
static void score_run(struct score *s, const struct listing *code, const char *measured)
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

/* ---- the tests ---- */

static void build(struct built *b, const struct listing *listing, const char *name,
		  const struct gw_waits *waits)
{
	built_begin(b, built_kernel(listing, name), 90);
	built_schedule(b, waits);
}

static struct gw_waits all_waits(double cycles)
{
	struct gw_waits waits;

	gw_waits_clear(&waits);
	for (unsigned i = 0; i < GW_WAITS; i++)
		waits.cycles[i] = cycles;
	return waits;
}

/* The timed loop of one of these kernels: the straight one inside the rounds. */
static uint32_t timed_loop(const struct built *b)
{
	for (uint32_t l = 0; l < b->cfg.loop_count; l++)
		if (b->cfg.loops[l].depth == 2)
			return l;
	fail_msg("no loop");
	return 0;
}

TEST(loops_on_an_h200_take_the_cycles_predicted)
{
	static struct score score;
	unsigned scored = 0, close = 0;

	score_run(&score, schedule_code(), GW_SCHEDULE "/schedule.1.txt");
	for (unsigned i = 0; i < score.count; i++) {
		const struct score_row *row = &score.rows[i];
		double error = row->predicted / row->measured - 1;

		if (!strncmp(row->name, "cal_", 4))
			continue;
		scored++;
		close += fabs(error) <= 0.1;
		printf("%-18s measured %7.1f predicted %7.1f %+5.1f%%\n", row->name, row->measured,
		       row->predicted, 100 * error);
	}
	printf("%u of %u within 10%%\n", close, scored);
	assert_true(scored >= 40);
	/* dram_pair: the slower of two loads of device memory takes longer than their mean. */
	assert_true(close + 1 >= scored);
}

TEST(latencies_solved_for_are_what_is_known_of_the_chip)
{
	static struct score score;

	score_run(&score, schedule_code(), GW_SCHEDULE "/schedule.2.txt");
	/* Published for this chip (cycles): L1 32, shared memory 23, L2 near 280, DRAM 610 to 690.
	 */
	assert_true(fabs(score.waits.cycles[GW_WAIT_global] - 32) < 2);
	assert_true(fabs(score.waits.cycles[GW_WAIT_shared] - 23) < 1);
	assert_true(fabs(score.global_l2 - 280) < 30);
	assert_true(score.global_dram > 600 && score.global_dram < 720);
}

TEST(a_time_is_its_linear_form)
{
	struct gw_waits waits = all_waits(0);

	for (unsigned i = 0; i < GW_WAITS; i++)
		waits.cycles[i] = 10 + 3 * i;
	for (uint32_t k = 0; k < schedule_code()->count; k++) {
		struct built b;

		build(&b, schedule_code(), schedule_code()->kernels[k].name, &waits);
		for (uint32_t i = 0; i < b.cfg.block_count; i++) {
			const struct gw_cycles *t = &b.schedule.blocks[i].cycles;
			double sum = t->fixed;

			for (unsigned w = 0; w < GW_WAITS; w++)
				sum += (double)t->count[w] * waits.cycles[w];
			assert_true(fabs(sum - t->value) < 1e-6 * (1 + fabs(sum)));
			assert_true(t->value >= b.schedule.blocks[i].issue - 1e-9);
		}
		built_end(&b);
	}
}

TEST(a_chase_waits_once_a_load_for_its_whole_latency)
{
	struct gw_waits waits = all_waits(0);
	struct built b;
	uint32_t header;

	waits.cycles[GW_WAIT_shared] = 1000;
	build(&b, schedule_code(), "cal_shared", &waits);
	header = b.cfg.loops[timed_loop(&b)].header;
	assert_int_equal((int)b.schedule.blocks[header].cycles.count[GW_WAIT_shared], 4);
	assert_true(b.schedule.loops[timed_loop(&b)].straight);
	built_end(&b);
}

TEST(independent_loads_are_in_flight_together)
{
	struct gw_waits waits = all_waits(100);
	struct built chase, sum;
	uint32_t header;

	build(&chase, schedule_code(), "l2_chase", &waits);
	header = chase.cfg.loops[timed_loop(&chase)].header;
	assert_int_equal(chase.schedule.blocks[header].waits, 1);
	assert_true(chase.schedule.blocks[header].in_flight == 1);
	build(&sum, schedule_code(), "l2_sum", &waits);
	header = sum.cfg.loops[timed_loop(&sum)].header;
	assert_int_equal(sum.schedule.blocks[header].loads, 4);
	assert_true(sum.schedule.blocks[header].in_flight > 2);
	built_end(&chase);
	built_end(&sum);
}

TEST(a_loads_own_latency_replaces_its_kinds)
{
	struct gw_waits waits = all_waits(50);
	struct built b;
	uint32_t loop;
	double *own, before;

	build(&b, schedule_code(), "l2_chase", &waits);
	loop = timed_loop(&b);
	before = b.schedule.loops[loop].cycles;
	own = calloc(b.cfg.insn_count, sizeof(*own));
	assert_non_null(own);
	for (uint32_t i = 0; i < b.cfg.insn_count; i++) {
		struct gw_sass_insn insn;

		gw_cfg_insn(&b.cfg, i, &insn);
		own[i] = insn.op == GW_SASS_OP_LDG ? 450 : (double)NAN;
	}
	waits.insn = own;
	built_schedule(&b, &waits);
	assert_true(fabs(b.schedule.loops[loop].cycles - before - 400) < 1e-6);
	free(own);
	built_end(&b);
}

/* ---- matrix operations of warp groups ---- */

static const struct listing *group_code(void)
{
	static struct listing listing;

	if (!listing.count)
		listing_read(&listing, GW_SASS "/wgmma.lst");
	return &listing;
}

/* As measured on an H200: nvidia-h200.json of calib/profiles/calibrated.tar.xz. */
static void h200(struct gw_waits *waits)
{
	struct gw_device device;

	gw_device_clear(&device, "");
	gw_device_set(&device, GW_PARAM_rate_op_wgmma_f16, 0.007808625298507794,
		      GW_METHOD_MEASURED);
	gw_device_set(&device, GW_PARAM_lat_op_wgmma_f16, 194.83333333333334, GW_METHOD_MEASURED);
	gw_waits_from_device(waits, &device, 600);
	for (unsigned i = 0; i < GW_WAITS; i++)
		if (isnan(waits->cycles[i]))
			waits->cycles[i] = 20;
}

/* As the microbenchmark takes it: between readings of the clock stand 4 operations, and then 16. */
static double chain_step(const char *name)
{
	const struct listing_kernel *kernel = listing_named(group_code(), name);
	unsigned readings = 0, operations = 0;
	struct gw_waits waits;
	struct gw_warp warp;
	double at[4];

	assert_non_null(kernel);
	h200(&waits);
	gw_warp_init(&warp);
	for (uint32_t i = 0; i < kernel->count; i++) {
		struct gw_sass_insn insn;

		gw_sass_decode(kernel->lines[i].bytes, 90, &insn);
		operations += gw_sass_is_group(&insn);
		if (strstr(kernel->lines[i].text, "SR_CLOCKLO") && readings < 4)
			at[readings++] = warp.now.value;
		gw_warp_issue(&warp, &insn, 0, &waits, NULL);
	}
	assert_int_equal(readings, 4);
	assert_int_equal(operations, 24);
	return (at[3] - at[2] - (at[1] - at[0])) / 12;
}

/* That of f16 is what the latency is from, less the stalls of its own chain; fp8's chain has the
 * same stalls, int8's others. */
TEST(chains_of_warp_group_operations_take_what_an_h200_takes)
{
	assert_true(fabs(chain_step("chain_f16") / 194.8333 - 1) < 0.005);
	assert_true(fabs(chain_step("chain_e4m3") / 194.8333 - 1) < 0.005);
	assert_true(fabs(chain_step("chain_s8") / 179.0 - 1) < 0.01);
}

/* The block of a kernel with the most warp group operations, in the long run. */
static struct gw_cycles busiest(const char *name, const struct gw_waits *waits)
{
	struct built b;
	struct gw_cycles found;
	uint32_t most = 0, at = 0;

	build(&b, group_code(), name, waits);
	for (uint32_t i = 0; i < b.cfg.block_count; i++) {
		uint32_t count = 0;

		for (uint32_t k = 0; k < b.cfg.blocks[i].count; k++) {
			struct gw_sass_insn insn;

			gw_cfg_insn(&b.cfg, b.cfg.blocks[i].first + k, &insn);
			count += gw_sass_is_group(&insn);
		}
		if (count > most) {
			most = count;
			at = i;
		}
	}
	assert_int_equal(most, 16);
	found = b.schedule.blocks[at].cycles;
	assert_true(isnan(found.value) == (b.schedule.blocks[at].unknown != 0));
	built_end(&b);
	return found;
}

/* Sixteen operations of 64 columns: four times four awaited together, or with one group under way
 * while the next is issued, which hides all but their time in the tensor cores. */
TEST(groups_left_under_way_hide_their_latency)
{
	struct gw_waits waits;
	struct gw_cycles each, overlapped;

	h200(&waits);
	each = busiest("loop_wait0", &waits);
	overlapped = busiest("loop_wait1", &waits);
	assert_int_equal((int)each.count[GW_WAIT_matrix], 4);
	assert_true(fabs((double)each.count[GW_WAIT_matrix_columns] - 16 * 64 / 8) < 0.01);
	assert_true(overlapped.value > 16 * 32 - 20 && overlapped.value < 16 * 32 + 1);
	assert_true(each.value > overlapped.value + 4 * waits.cycles[GW_WAIT_matrix]);
	waits.cycles[GW_WAIT_matrix_columns] = NAN;
	assert_true(isnan(busiest("loop_wait0", &waits).value) != 0);
}

TEST(an_unknown_latency_makes_only_what_waits_for_it_unknown)
{
	struct gw_waits waits = all_waits(20);
	struct built fma, shared;
	uint32_t header;

	waits.cycles[GW_WAIT_shared] = (double)NAN;
	build(&fma, schedule_code(), "fma_chain", &waits);
	assert_true(isnan(fma.schedule.loops[timed_loop(&fma)].cycles) == 0);
	build(&shared, schedule_code(), "cal_shared", &waits);
	header = shared.cfg.loops[timed_loop(&shared)].header;
	assert_true(isnan(shared.schedule.loops[timed_loop(&shared)].cycles) != 0);
	assert_true(shared.schedule.blocks[header].unknown);
	assert_int_equal(shared.schedule.blocks[header].missing, GW_WAIT_shared);
	built_end(&fma);
	built_end(&shared);
}

TEST(a_device_gives_its_latencies)
{
	struct gw_device device;
	struct gw_waits waits;

	gw_device_clear(&device, "test");
	gw_device_set(&device, GW_PARAM_lat_shared, 23, GW_METHOD_PAPER);
	gw_waits_from_device(&waits, &device, 480);
	assert_true(waits.cycles[GW_WAIT_shared] == 23.0);
	assert_true(waits.cycles[GW_WAIT_global] == 480);
	assert_true(isnan(waits.cycles[GW_WAIT_sfu]) != 0);
	assert_null(waits.insn);
	assert_string_equal(gw_wait_name(GW_WAIT_sfu), "sfu");
	assert_string_equal(gw_wait_name(GW_WAITS), "?");
	assert_string_equal(gw_wait_meaning(GW_WAITS), "?");
}

TEST(a_chain_is_as_long_as_its_dependences)
{
	struct gw_waits waits = all_waits(20);
	struct built chain, rate;

	build(&chain, schedule_code(), "fma_chain", &waits);
	build(&rate, schedule_code(), "cal_fma_rate", &waits);
	/* Sixteen multiply-adds in a row; eight side by side, behind which the counter's chain
	 * lies. */
	assert_int_equal(chain.schedule.blocks[chain.cfg.loops[timed_loop(&chain)].header].chain,
			 16);
	assert_true(rate.schedule.blocks[rate.cfg.loops[timed_loop(&rate)].header].chain <= 3);
	built_end(&chain);
	built_end(&rate);
}

TESTS_MAIN(schedule_begin, schedule_end)
