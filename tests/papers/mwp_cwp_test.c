/*
 * MWP-CWP against examples worked by hand from the published equations (Sanchez Gil 2017, 1.6 and
 * ch. 2; Hong & Kim 2009; Sim et al. 2012), and the published jumps as they are.
 */
#include "predictor/models/papers/models.h"
#include "predictor/models/papers/mwp_cwp.h"
#include "tests/test.h"
#include "tests/unit/model_fixture.h"

/*
 * 24 warps, coalesced loads only: Mem_L = 400, departure 4, so MWP_without_BW = min(100, 24).
 * BW_per_warp = 1 GHz x 128 B / 400 = 0.32 GB/s; 10 SMs of them against the bandwidth.
 */
static struct gw_mwp_2009_in example(void)
{
	return (struct gw_mwp_2009_in){.n = 24,
				       .rep = 2,
				       .active_blocks = 3,
				       .active_sms = 10,
				       .mem_ld = 400,
				       .departure_coal = 4,
				       .departure_uncoal = 40,
				       .uncoal_per_mw = 32,
				       .coal_insts = 5,
				       .uncoal_insts = 0,
				       .total_insts = 25,
				       .issue_cycles = 4,
				       .load_bytes = 128,
				       .freq = 1e9,
				       .bandwidth = 32e9,
				       .synch_insts = 0};
}

/* MWP_peak_BW = 32 / 3.2 = 10; CWP = (2000 + 100) / 100 = 21; 2000 x 24 / 10 + 20 x 9. */
TEST(case_2_memory_hides_computation)
{
	struct gw_mwp_2009_in in = example();
	struct gw_mwp_2009_out out;

	gw_mwp_2009(&in, &out);
	assert_int_equal(out.which, GW_MWP_MEMORY);
	assert_close(out.mwp, 10);
	assert_close(out.cwp, 21);
	assert_close(out.exec_cycles, (4800 + 180) * 2);
}

/* N = 8: MWP = CWP = 8, so 2000 + 100 + 20 x 7. */
TEST(case_1_not_enough_warps)
{
	struct gw_mwp_2009_in in = example();
	struct gw_mwp_2009_out out;

	in.n = 8;
	gw_mwp_2009(&in, &out);
	assert_int_equal(out.which, GW_MWP_NOT_ENOUGH_WARPS);
	assert_close(out.exec_cycles, (2100 + 140) * 2);
}

/* 350 instructions: Comp = 1400, CWP = 3400 / 1400 = 2.43 < MWP = 10; 400 + 1400 x 24. */
TEST(case_3_computation_hides_memory)
{
	struct gw_mwp_2009_in in = example();
	struct gw_mwp_2009_out out;

	in.total_insts = 350;
	gw_mwp_2009(&in, &out);
	assert_int_equal(out.which, GW_MWP_COMPUTE);
	assert_close(out.cwp, 3400.0 / 1400);
	assert_close(out.exec_cycles, (400 + 33600) * 2);
}

/* Half of 6 instructions uncoalesced in 4 parts: Mem_L = (400 + 3 x 40 + 400) / 2 = 460. */
TEST(uncoalesced_instructions_weigh_in)
{
	struct gw_mwp_2009_in in = example();
	struct gw_mwp_2009_out out;

	in.coal_insts = in.uncoal_insts = 3;
	in.uncoal_per_mw = 4;
	gw_mwp_2009(&in, &out);
	assert_close(out.mem_l, 460);
	assert_close(out.departure_delay, 40 * 4 * 0.5 + 4 * 0.5);
	assert_close(out.mem_cycles, 3 * 520 + 3 * 400);
	assert_close(out.mwp_without_bw, 460.0 / 82);
}

/* Synch_cost = 4 x (10 - 1) x 2 barriers x 3 blocks x 2 repetitions. */
TEST(barriers_add_their_cost)
{
	struct gw_mwp_2009_in in = example();
	struct gw_mwp_2009_out without, with;

	gw_mwp_2009(&in, &without);
	in.synch_insts = 2;
	gw_mwp_2009(&in, &with);
	assert_close(with.exec_cycles - without.exec_cycles, 432);
}

/* One warp: nothing overlaps, Mem_cycles + Comp_cycles. */
TEST(one_warp_takes_its_own_time)
{
	struct gw_mwp_2009_in in = example();
	struct gw_mwp_2009_out out;

	in.n = in.rep = 1;
	gw_mwp_2009(&in, &out);
	assert_int_equal(out.which, GW_MWP_NOT_ENOUGH_WARPS);
	assert_close(out.exec_cycles, 2100);
}

/*
 * A published defect, pinned: just below MWP = N case 2 gives Mem N / MWP instead of Mem +
 * Comp, so case 1 lies higher by Comp_cycles.
 */
TEST(border_of_cases_1_and_2_jumps_by_comp_cycles)
{
	enum gw_mwp_case at, below;
	double first = gw_mwp_2009_exec(8, 8, 8, 400, 2000, 100, 5, 1, &at);
	double second = gw_mwp_2009_exec(8 * (1 - 1e-12), 8, 8, 400, 2000, 100, 5, 1, &below);

	assert_true(at == GW_MWP_NOT_ENOUGH_WARPS && below == GW_MWP_MEMORY);
	assert_true(fabs(first - second - 100) < 1e-6);
}

/*
 * A published defect, pinned: at MWP = CWP = 5 of 20 warps, with Mem = 2000 and Comp = 500,
 * case 2 gives 2000 x 20 / 5 + 100 x 4 = 8400, case 3 just above 400 + 500 x 20 = 10400: a
 * little more bandwidth predicts a slower kernel. The part of the jump that grows with N is
 * N Comp / CWP = 2000 (Mem = (CWP - 1) Comp); Mem_L and the gaps between add 400 - 400.
 */
TEST(border_of_cases_2_and_3_makes_more_bandwidth_slower)
{
	enum gw_mwp_case at, above;
	double second = gw_mwp_2009_exec(5, 5, 20, 400, 2000, 500, 5, 1, &at);
	double third = gw_mwp_2009_exec(5 * (1 + 1e-12), 5, 20, 400, 2000, 500, 5, 1, &above);

	assert_true(at == GW_MWP_MEMORY && above == GW_MWP_COMPUTE);
	assert_close(second, 8400);
	assert_close(third - second, 20 * 500 / 5.0);
}

/*
 * 2012 by hand: avg_DRAM_lat = 400 + 3 x 10 = 430; AMAT = 430 x 0.5 + 35 = 250; ITILP_max =
 * 16 / (32 / 128) = 64, ITILP = min(2 x 16, 64) = 32. MWP_peak_bw = 86e9 / (1e9 x 32 / 430 x
 * 10) = 115.5625, MWP = min(43, 115, 16) = 16. Comp = 64 x 16 / 32 = 32, Mem = 4 x 250 / 2 =
 * 500, CWP = min(532 / 32, 16) = 16; MWP_cp = min(15, 16) = 15; ITMLP = min(30, 115) = 30.
 * T_comp = 64 x 160 x 16 / 32 + 100 = 5220; T_mem = 4 x 160 / 30 x 250 = 5333.3.
 */
static struct gw_mwp_2012_in sim(void)
{
	return (struct gw_mwp_2012_in){.n = 16,
				       .warps = 1600,
				       .active_sms = 10,
				       .insts = 64,
				       .mem_insts = 4,
				       .avg_inst_lat = 16,
				       .warp_size = 32,
				       .simd_width = 128,
				       .ilp = 2,
				       .mlp = 2,
				       .dram_lat = 400,
				       .trans_per_warp = 4,
				       .delta = 10,
				       .miss_ratio = 0.5,
				       .hit_lat = 35,
				       .amat = NAN,
				       .freq = 1e9,
				       .bandwidth = 86e9,
				       .transaction = 32,
				       .w_serial = 100};
}

TEST(sim_2012_by_hand)
{
	struct gw_mwp_2012_in in = sim();
	struct gw_mwp_2012_out out;

	gw_mwp_2012(&in, &out);
	assert_close(out.avg_dram_lat, 430);
	assert_close(out.amat, 250);
	assert_close(out.itilp, 32);
	assert_close(out.mwp_peak_bw, 115.5625);
	assert_close(out.mwp, 16);
	assert_close(out.cwp, 16);
	assert_close(out.itmlp, 30);
	assert_close(out.t_comp, 5220);
	assert_close(out.t_mem, 16000.0 / 3);
	/* CWP <= MWP: zeta = 1, F_overlap = 15 / 16. */
	assert_close(out.t_overlap, 5220 * 15.0 / 16);
	assert_close(out.t_exec, 5220 / 16.0 + 16000.0 / 3);
}

TEST(sim_2012_one_warp_overlaps_nothing)
{
	struct gw_mwp_2012_in in = sim();
	struct gw_mwp_2012_out out;

	in.n = 1;
	gw_mwp_2012(&in, &out);
	assert_close(out.f_overlap + 1, 1);
	assert_close(out.t_exec, out.t_comp + out.t_mem);
}

TEST(sim_2012_serial_work_unknown_means_time_unknown)
{
	struct gw_mwp_2012_in in = sim();
	struct gw_mwp_2012_out out;

	in.w_serial = NAN;
	gw_mwp_2012(&in, &out);
	assert_unknown(out.t_exec);
	assert_true(out.t_mem > 0);
}

/* Sanchez Gil 2017, 7.3.4: 30 with probability 0.5, 250 with 0.25, 600 with the rest. */
TEST(latency_by_level_is_weighted_by_probability)
{
	assert_close(gw_mwp_level_amat(0.5, 0.25, 30, 250, 600), 227.5);
}

static struct gw_estimate ask(const struct fixture *f, const char *model)
{
	struct gw_estimate e;

	gw_model_find(model)->estimate(&f->device, &f->launch, &f->work, NULL, &e);
	return e;
}

/*
 * The fixture through all of it: 64 warps, #Rep 20, Mem_L 600, Comp = 0.25 x 100 = 25, Mem =
 * 1800, CWP = 64; MWP_peak_BW = 2e12 / (1e9 x 128 / 600 x 100) = 93.75; MWP = CWP = N.
 */
LAUNCH_TEST(launch_is_mapped_to_the_inputs_of_2009)
{
	e = ask(f, "mwp-cwp-2009");
	assert_string_equal(e.reason, "");
	assert_close(fixture_term(&e, "N"), 64);
	assert_close(fixture_term(&e, "#Rep"), 20);
	assert_close(fixture_term(&e, "MWP_peak_BW"), 93.75);
	assert_close(e.seconds, (1800 + 25 + 25 / 3.0 * 63) * 20 / 1e9);
	assert_int_equal(e.bound, GW_BOUND_LATENCY);
}

LAUNCH_TEST(missing_input_is_named_not_zero)
{
	f->work.q[GW_WORK_barriers] = (struct gw_quantity){.value = NAN};
	e = ask(f, "mwp-cwp-2009");
	assert_unknown(e.seconds);
	assert_non_null(strstr(e.reason, "barriers"));
}

/*
 * W_serial from the code, per SM of 1280 warps in 20 sets of 8 blocks: 5 barriers a warp, MWP 47.5
 * (by bandwidth 1e12) of requests that depart 2 cycles apart; 20 special functions of 100
 * instructions on 16 lanes of 128; 300 passes for 100 accesses a warp.
 */
LAUNCH_TEST(serial_work_follows_from_its_causes)
{
	double warps = 128000, mwp;

	f->work.q[GW_WORK_serial_cycles] = (struct gw_quantity){.value = NAN};
	fixture_work(f, GW_WORK_divergent_branches, 0.1);
	e = ask(f, "mwp-cwp");
	assert_true(fixture_term(&e, "W_serial") == 0);

	fixture_param(f, GW_PARAM_b_mem, 1e12);
	fixture_work(f, GW_WORK_barriers, 5);
	e = ask(f, "mwp-cwp");
	mwp = fixture_term(&e, "MWP");
	assert_true(mwp < 64);
	assert_close(fixture_term(&e, "W_serial"), 2 * (mwp - 1) * 5 * 8 * 20);
	fixture_work(f, GW_WORK_barriers, 0);

	fixture_work(f, GW_WORK_pipe_xu, 20 * warps);
	e = ask(f, "mwp-cwp");
	assert_close(fixture_term(&e, "W_serial"), 20 * 1280 * 2 * (0.2 - 16 / 128.0));
	fixture_work(f, GW_WORK_pipe_xu, 0);

	fixture_work(f, GW_WORK_shared_wavefronts, 300 * warps);
	fixture_work(f, GW_WORK_pipe_lsu,
		     100 * warps + f->work.q[GW_WORK_global_load_requests].value +
			     f->work.q[GW_WORK_global_store_requests].value);
	e = ask(f, "mwp-cwp");
	assert_close(fixture_term(&e, "W_serial"), 200 * 1280);
	assert_true(e.seconds > 0);
}

TEST(serial_work_is_unknown_where_a_cause_is)
{
	static const enum gw_work_field causes[] = {GW_WORK_barriers, GW_WORK_pipe_xu,
						    GW_WORK_shared_wavefronts};
	struct gw_estimate e;

	for (unsigned i = 0; i < COUNT(causes); i++) {
		struct fixture f;

		fixture_init(&f);
		f.work.q[GW_WORK_serial_cycles] = (struct gw_quantity){.value = NAN};
		f.work.q[causes[i]] = (struct gw_quantity){.value = NAN};
		e = ask(&f, "mwp-cwp");
		assert_unknown(e.seconds);
		assert_non_null(strstr(e.reason, "serial_cycles"));
		fixture_work(&f, GW_WORK_serial_cycles, 50);
		e = ask(&f, "mwp-cwp");
		assert_true(e.seconds > 0);
	}
}

/* A coalesced request of a warp is one transaction and draws its 128 bytes. */
LAUNCH_TEST(a_request_draws_all_of_its_bytes)
{
	fixture_param(f, GW_PARAM_b_mem, 1e12);
	e = ask(f, "mwp-cwp");
	assert_close(fixture_term(&e, "MWP"), 1e12 / (1e9 * 128 / 600 * 100));
	/* Uncoalesced, of 32 sectors: 32 transactions, 31 departures later, 1024 bytes. */
	fixture_work(f, GW_WORK_uncoalesced_mem_insts,
		     f->work.q[GW_WORK_coalesced_mem_insts].value);
	fixture_work(f, GW_WORK_coalesced_mem_insts, 0);
	fixture_work(f, GW_WORK_uncoalesced_per_mw, 32);
	fixture_work(f, GW_WORK_global_load_sectors,
		     32 * f->work.q[GW_WORK_global_load_requests].value);
	fixture_work(f, GW_WORK_global_store_sectors,
		     32 * f->work.q[GW_WORK_global_store_requests].value);
	e = ask(f, "mwp-cwp");
	assert_close(fixture_term(&e, "MWP"), 1e12 / (1e9 * 1024 / (600 + 31 * 2) * 100));
}

/* All hits in L1: the levels' mean is lat_l1; the published form pays lat_l1 for hits too. */
LAUNCH_TEST(levels_differ_from_2012_where_l2_answers)
{
	struct gw_estimate published, levels;

	fixture_work(f, GW_WORK_l2_hit_rate, 1);
	published = ask(f, "mwp-cwp");
	levels = ask(f, "mwp-cwp-levels");
	assert_close(fixture_term(&published, "AMAT"), 30);
	assert_close(fixture_term(&levels, "AMAT"), 250);
}

TESTS_MAIN()
