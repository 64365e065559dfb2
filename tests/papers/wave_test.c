/*
 * Kleimenov and Popova 2021: the iteration of figs. 4 and 5 against an independent solution, the
 * loop of fig. 3, and the model's limits in closed form.
 */
#include "predictor/models/papers/interval.h"
#include "predictor/models/papers/models.h"
#include "predictor/models/papers/wave.h"
#include "tests/test.h"
#include "tests/unit/model_fixture.h"

static double time_at(const struct gw_wave_load *l, double latency)
{
	return fmax(l->fixed + l->slope * latency, l->floor);
}

/* The least latency from idle up at which the wave takes as long as its bytes need. */
static double bisect(const struct gw_wave_load *l)
{
	double low = l->idle, high = l->idle + l->demand / l->slope;

	if (time_at(l, low) >= l->demand)
		return low;
	for (int i = 0; i < 200; i++) {
		double middle = (low + high) / 2;

		if (time_at(l, middle) < l->demand)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static struct gw_wave_load random_load(uint64_t *seed)
{
	return (struct gw_wave_load){
		.fixed = pow(10, 6 * fixture_random(seed)) - 1,
		.slope = pow(10, 6 * fixture_random(seed) - 3),
		.floor = pow(10, 6 * fixture_random(seed)) - 1,
		.idle = pow(10, 3 * fixture_random(seed)),
		.demand = pow(10, 7 * fixture_random(seed)),
	};
}

TEST(fixed_point_agrees_with_bisection)
{
	uint64_t seed = 1;
	unsigned saturated = 0;

	for (int i = 0; i < 20000; i++) {
		struct gw_wave_load load = random_load(&seed);
		double latency = bisect(&load);
		struct gw_wave_point point;

		gw_wave_fixed_point(&load, &point);
		saturated += latency > load.idle;
		/* The time is exact to epsilon; the latency is where the time depends on it. */
		if (!(fabs(point.cycles - time_at(&load, latency)) <= 1e-8 * point.cycles) ||
		    !(fabs(point.latency - latency) * load.slope <= 1e-8 * point.cycles))
			fail_msg("fixed %g slope %g floor %g idle %g demand %g: %.12g, not %.12g",
				 load.fixed, load.slope, load.floor, load.idle, load.demand,
				 point.latency, latency);
	}
	assert_in_range(saturated, 2000, 18000);
}

TEST(iteration_ends_and_never_falls_below_idle)
{
	uint64_t seed = 2;
	unsigned most = 0;

	for (int i = 0; i < 20000; i++) {
		struct gw_wave_load load = random_load(&seed);
		struct gw_wave_point point;

		gw_wave_fixed_point(&load, &point);
		assert_true(point.steps <= GW_WAVE_STEPS);
		assert_true(point.latency >= load.idle);
		most = point.steps > most ? point.steps : most;
	}
	assert_true(most > 3); /* it does iterate */
}

/* The slowest case: nearly all time does not depend on the latency. */
TEST(slow_gap_is_closed_at_the_last_step)
{
	const struct gw_wave_load load = {1e6, 1, 0, 10, 1e6 + 1000};
	struct gw_wave_point point;

	gw_wave_fixed_point(&load, &point);
	assert_int_equal(point.steps, GW_WAVE_STEPS);
	assert_close(point.latency, 1000);
	assert_close(point.cycles, 1e6 + 1000);
}

/* All time is waiting: x -> x T / (a x) is there in one step. Half of it: 1/2, 1/4, ... */
TEST(gap_shrinks_by_the_share_that_does_not_wait)
{
	const struct gw_wave_load waits = {0, 2, 0, 100, 1000}, half = {500, 1, 0, 500, 1000.5};
	struct gw_wave_point point;

	gw_wave_fixed_point(&waits, &point);
	assert_int_equal(point.steps, 1);
	assert_close(point.latency, 500);
	/* The gap of 0.5 falls below 1e-9 of 1000.5 after log2(0.5 / 1e-6) = 18.9 halvings. */
	gw_wave_fixed_point(&half, &point);
	assert_in_range(point.steps, 18, 20);
}

/* Figs. 4 and 5 as printed: below saturation the latency decays and the time with it. */
TEST(printed_loop_decays_where_ours_stays_idle)
{
	const struct gw_wave_load load = {100, 2, 0, 600, 650};
	double latency = load.idle, time = time_at(&load, latency);
	struct gw_wave_point point;

	for (int i = 0; i < 100; i++) {
		latency *= load.demand / time;
		time = time_at(&load, latency);
	}
	assert_close(time, 650); /* printed: half of the warp's own 1300 cycles */
	assert_close(latency, 275);
	gw_wave_fixed_point(&load, &point);
	assert_true(point.latency == 600 && point.cycles == 1300);
}

TEST(nothing_waits_yet_bytes_take_their_time)
{
	const struct gw_wave_load load = {100, 0, 0, 600, 650};
	struct gw_wave_point point;

	gw_wave_fixed_point(&load, &point);
	assert_true(point.steps == 0 && point.latency == 600 && point.cycles == 650);
}

/** Latencies and issue delays of fig. 3's instructions. */
struct loop {
	double lat6, lat8, lat9, lat11, lat13, del_br, del11, del13;
};

/* Two iterations of fig. 3's loop, scheduled; the closing branch of the second is left out. */
static double scheduled(const struct loop *l)
{
	enum { I6 = 1, I8, I9, I11, I13, DEL = 1 };
	const struct gw_interval_insn code[] = {
		{l->lat6, DEL, I6, {I13}},        {0, l->del_br, 0, {I6}},
		{l->lat8, DEL, I8, {I11}},        {l->lat9, DEL, I9, {I8}},
		{l->lat11, l->del11, I11, {I9}},  {l->lat13, l->del13, I13, {I13}},
		{0, l->del_br, 0, {0}},           {l->lat6, DEL, I6, {I13}},
		{0, l->del_br, 0, {I6}},          {l->lat8, DEL, I8, {I11}},
		{l->lat9, DEL, I9, {I8}},         {l->lat11, l->del11, I11, {I9}},
		{l->lat13, l->del13, I13, {I13}},
	};

	return gw_interval_latency(code, sizeof(code) / sizeof(*code));
}

/* The expression printed beside fig. 3, without its "/ 2 * trip". */
static double printed(const struct loop *l)
{
	return l->lat6 + l->del_br + l->lat8 + l->lat9 +
	       fmax(fmax(fmax(l->del13 + l->del_br, l->lat13), l->lat6 + l->del_br), l->lat11) +
	       l->lat8 + l->lat9 + l->del11 + l->del13;
}

/* Double precision on a GTX 1050 (one unit a block: 32 issue cycles): 280 cycles, 15 trips. */
TEST(fig_3_loop_of_doubles)
{
	const struct loop l = {6, 48, 48, 48, 6, 1, 32, 1};

	assert_close(printed(&l), 280);
	assert_close(scheduled(&l), 280);
	assert_close(scheduled(&l) / 2 * 15, 2100);
}

/*
 * A slip of the figure, pinned: where the counter's chain is the longer one, the next
 * iteration's compare waits for the increment, so the terms of the inner maximum add up
 * (after fadd's delay): 14 cycles where the printed maximum says 7.
 */
TEST(fig_3_loop_of_floats_differs_from_print)
{
	const struct loop l = {6, 6, 6, 6, 6, 1, 1, 1};

	assert_close(printed(&l), 40);
	assert_close(scheduled(&l), 47);
}

static double wave_seconds(const struct fixture *f, const struct gw_model_options *options)
{
	struct gw_estimate e;

	gw_model_find("wave")->estimate(&f->device, &f->launch, &f->work, options, &e);
	assert_string_equal(e.reason, "");
	return e.seconds;
}

/* The launch regression, which every time below contains. */
static double launch_seconds(const struct fixture *f)
{
	double warps = ceil((double)gw_dim3_count(f->launch.config.block) / 32);

	return (double)gw_dim3_count(f->launch.config.grid) *
		       gw_curve_at(&f->device, GW_CURVE_launch_x1, warps) +
	       gw_curve_at(&f->device, GW_CURVE_launch_x2, warps);
}

static void no_memory(struct fixture *f)
{
	fixture_work(f, GW_WORK_l1_bytes, 0);
	fixture_work(f, GW_WORK_warp_memory_chain, 0);
}

/* Instructions that cost nothing to issue, and a schedule of nothing but two memory latencies. */
static void no_compute(struct fixture *f)
{
	fixture_work(f, GW_WORK_inst_executed, 0);
	fixture_work(f, GW_WORK_fp32_inst, 0);
	fixture_work(f, GW_WORK_int_inst, 0);
	fixture_work(f, GW_WORK_ldst_inst, 0);
	fixture_work(f, GW_WORK_warp_cycles, 1200);
	fixture_work(f, GW_WORK_warp_cycles_longest, 1200);
}

/* 16 warps a processing block, each 40 + 20 x 2 + 3 x 4 + 37 = 129 issue cycles; 20 waves. */
LAUNCH_TEST(no_memory_leaves_issue_or_dependences)
{
	no_memory(f);
	assert_close(wave_seconds(f, NULL), launch_seconds(f) + 20 * 16 * 129 / 1e9);
	fixture_work(f, GW_WORK_warp_cycles_longest, 5000);
	assert_close(wave_seconds(f, NULL), launch_seconds(f) + 20 * 5000 / 1e9);
}

/* max(t(idle latency), bytes / bandwidth): 2 x 600 cycles against 800 x 8 x 384 B / 2000. */
LAUNCH_TEST(no_compute_leaves_latency_or_bandwidth)
{
	no_compute(f);
	assert_close(wave_seconds(f, NULL), launch_seconds(f) + 20 * 1228.8 / 1e9);
	fixture_param(f, GW_PARAM_b_mem, 4e12);
	assert_close(wave_seconds(f, NULL), launch_seconds(f) + 20 * 1200 / 1e9);
}

LAUNCH_TEST(unbounded_bandwidth_leaves_idle_latency)
{
	no_compute(f);
	fixture_param(f, GW_PARAM_b_mem, 1e30);
	assert_close(wave_seconds(f, NULL), launch_seconds(f) + 20 * 1200 / 1e9);
}

LAUNCH_TEST(one_warp_takes_its_schedule)
{
	fixture_grid(f, 1, 32);
	assert_close(wave_seconds(f, NULL), launch_seconds(f) + 1500 / 1e9);
}

LAUNCH_TEST(waves_add_up)
{
	double one;

	no_memory(f);
	fixture_grid(f, 800, 256);
	one = wave_seconds(f, NULL) - launch_seconds(f);
	assert_close(one, 16 * 129 / 1e9);
	/* 20 more blocks, one on an SM: 2 warps a processing block, so the schedule decides. */
	fixture_grid(f, 820, 256);
	assert_close(wave_seconds(f, NULL), launch_seconds(f) + one + 1500 / 1e9);
}

/* delay_dep = (880 - 600) / 28 = 10; 3 barriers of a block of 8 warps: 3 x 10 x 7. */
LAUNCH_TEST(barriers_cost_as_in_hong_and_kim)
{
	no_memory(f);
	fixture_grid(f, 1, 256);
	assert_close(wave_seconds(f, NULL), launch_seconds(f) + 1500 / 1e9);
	fixture_work(f, GW_WORK_barriers, 3);
	assert_close(wave_seconds(f, NULL), launch_seconds(f) + 1710 / 1e9);
}

LAUNCH_TEST(user_given_hit_shares_replace_the_counted)
{
	struct gw_model_options options = {.l1_hit = 0, .l2_hit = 1};

	gw_model_find("wave")->estimate(&f->device, &f->launch, &f->work, &options, &e);
	assert_true(fixture_term(&e, "lat_L2") >= 250);
	assert_true(isnan(fixture_term(&e, "lat_DRAM")));
	options.l1_hit = 0.5;
	gw_model_find("wave")->estimate(&f->device, &f->launch, &f->work, &options, &e);
	assert_true(isnan(e.seconds));
	assert_non_null(strstr(e.reason, "exceed 1"));
}

/* Half of the accesses uncoalesced: the mean latency is (600 + 880) / 2. */
LAUNCH_TEST(uncoalesced_requests_have_their_own_latency)
{
	no_compute(f);
	fixture_work(f, GW_WORK_uncoalesced_mem_insts, 3);
	fixture_work(f, GW_WORK_warp_cycles_longest, 2 * 740);
	fixture_param(f, GW_PARAM_bw_uncoalesced, 1e30);
	assert_close(wave_seconds(f, NULL), launch_seconds(f) + 20 * 1480 / 1e9);
	/* 800 x 8 x 192 B at 100 B/cycle. */
	fixture_param(f, GW_PARAM_bw_uncoalesced, 1e11);
	assert_close(wave_seconds(f, NULL), launch_seconds(f) + 20 * 12288 / 1e9);
}

TESTS_MAIN()
