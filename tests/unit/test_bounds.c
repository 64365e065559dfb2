/* bounds: each resource by hand, how they join, what binds, and what is said of the unknown. */
#include "predictor/models/bounds.h"
#include "tests/test.h"
#include "tests/unit/model_fixture.h"

static struct gw_estimate ask(const struct fixture *f)
{
	struct gw_estimate e;

	gw_model_bounds.estimate(&f->device, &f->launch, &f->work, NULL, &e);
	return e;
}

/* Of the fixture: the floor, and code that comes from L2. */
static const double start = 2e-6 + 250e-9;

static bool warned(const struct gw_estimate *e, const char *of)
{
	for (unsigned i = 0; i < e->warning_count; i++)
		if (strstr(e->warnings[i], of))
			return true;
	return false;
}

static void forget(struct fixture *f, enum gw_work_field field)
{
	f->work.q[field] = (struct gw_quantity){.value = NAN};
}

/* An idle pipe is no time: what takes time is not known. */
LAUNCH_TEST(idle_resources_alone_are_no_answer)
{
	gw_work_clear(&f->work);
	fixture_work(f, GW_WORK_fp64_inst, 0);
	fixture_work(f, GW_WORK_barriers, 0);
	fixture_work(f, GW_WORK_warp_fixed_chain, 8);
	e = ask(f);
	assert_unknown(e.seconds);
	assert_true(e.reason[0]);
	assert_true(fixture_term(&e, "block_launch") > 0);
}

/* 128,000 warps of the fixture; every rate is round. */
LAUNCH_TEST(each_resource_takes_work_over_rate)
{
	e = ask(f);
	assert_close(fixture_term(&e, "issue"), 12.8e6 / 4e11);
	assert_close(fixture_term(&e, "fma"), 40 * 128e3 * 32 / 12.8e12);
	assert_close(fixture_term(&e, "alu"), 20 * 128e3 * 32 / 6.4e12);
	assert_close(fixture_term(&e, "lsu"), 3 * 128e3 / 1e11);
	assert_close(fixture_term(&e, "l1"), 384 * 128e3 / 12.8e12);
	assert_close(fixture_term(&e, "l2"), 256 * 128e3 / 5e12 + 128 * 128e3 / 4e12);
	assert_close(fixture_term(&e, "dram"), 384 * 128e3 / 2e12);
	assert_close(fixture_term(&e, "block_launch"), 128e3 * 2e-10);
	assert_true(fixture_term(&e, "fp64") == 0);
}

/* What sampling counts instead of what it can't: both directions at L2, the tensor pipe's cycles.
 */
LAUNCH_TEST(sampled_sums_stand_in_for_unknown_parts)
{
	fixture_work(f, GW_WORK_l2_total_bytes, 1e9);
	fixture_work(f, GW_WORK_tensor_cycles, 5000);
	e = ask(f);
	assert_close(fixture_term(&e, "l2"), 256 * 128e3 / 5e12 + 128 * 128e3 / 4e12);
	fixture_work(f, GW_WORK_l1_bytes, NAN);
	fixture_work(f, GW_WORK_l2_read_bytes, NAN);
	fixture_work(f, GW_WORK_l2_write_bytes, NAN);
	fixture_work(f, GW_WORK_global_store_sectors, NAN);
	fixture_work(f, GW_WORK_pipe_tensor, NAN);
	for (int i = GW_WORK_tensor_fp16_flop; i <= GW_WORK_tensor_fp64_flop; i++)
		fixture_work(f, (enum gw_work_field)i, NAN);
	e = ask(f);
	assert_close(fixture_term(&e, "l2"), 1e9 / 5e12);
	assert_close(fixture_term(&e, "tensor"), 5000 / 1e9 / 4);
}

/* A launch that does nothing, and whose blocks and warps take no time to start. */
static void without_work(struct fixture *f)
{
	fixture_init(f);
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		f->work.q[i].value = 0;
	fixture_param(f, GW_PARAM_launch_per_block, 1e-15);
	fixture_param(f, GW_PARAM_launch_per_warp, 1e-15);
}

/* Two resources of equal time make 2^(1/3) of one; the floor is added. */
LAUNCH_TEST(resources_join_in_a_cubic_norm)
{
	without_work(f);
	fixture_work(f, GW_WORK_inst_issued, 4e8);
	fixture_work(f, GW_WORK_l1_bytes, 12.8e9);
	e = ask(f);
	assert_close(e.seconds, start + 1e-3 * cbrt(2));
}

LAUNCH_TEST(a_poor_sample_of_issues_yields_to_those_executed)
{
	fixture_work(f, GW_WORK_inst_issued, 4e8);
	f->work.q[GW_WORK_inst_issued].confidence = 0.5F;
	e = ask(f);
	assert_close(fixture_term(&e, "issue"), 128e5 / 4e11);
}

/* 101 blocks on 100 SMs: one SM has two, so its pipes work twice the mean. */
LAUNCH_TEST(busiest_sm_decides_for_what_is_inside_it)
{
	fixture_grid(f, 101, 256);
	e = ask(f);
	assert_close(fixture_term(&e, "issue"), 101 * 8 * 100 / 4e11 * 200 / 101);
	assert_close(fixture_term(&e, "dram"), 101 * 8 * 384 / 2e12);
	/* One warp a block: one of four schedulers does it all. */
	fixture_grid(f, 100, 32);
	e = ask(f);
	assert_close(fixture_term(&e, "issue"), 100 * 100 / 4e11 * 4);
	assert_close(fixture_term(&e, "l1"), 100 * 384 / 12.8e12);
}

/* 64 warps an SM, each 1 load of 128 B: 8192 B in flight, on the line from (1000, 1.6e11). */
LAUNCH_TEST(loads_in_flight_limit_the_bandwidth)
{
	double bandwidth = 1.6e11 + (8192 - 1000) / 9000.0 * (1.5e12 - 1.6e11);

	e = ask(f);
	assert_close(fixture_term(&e, "dram_in_flight"), 256 * 128e3 / bandwidth);
	/* One warp an SM: 128 B, below the first point, in proportion to it. */
	fixture_grid(f, 100, 32);
	e = ask(f);
	assert_close(fixture_term(&e, "dram_in_flight"), 100 * 256 / (1.6e11 * 128 / 1000));
}

/* Nothing but reads: bandwidth alone takes 16.4 us, what is in flight more; not both. */
LAUNCH_TEST(device_memory_counts_once)
{
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		f->work.q[i].value = 0;
	forget(f, GW_WORK_warp_fixed_chain);
	fixture_param(f, GW_PARAM_launch_per_block, 1e-15);
	fixture_param(f, GW_PARAM_launch_per_warp, 1e-15);
	fixture_work(f, GW_WORK_dram_read_bytes, 256 * 128e3);
	fixture_work(f, GW_WORK_global_load_requests, 2 * 128e3);
	fixture_work(f, GW_WORK_warp_loads_in_flight, 1);
	e = ask(f);
	assert_true(fixture_term(&e, "dram") > 0);
	assert_true(fixture_term(&e, "dram_in_flight") > fixture_term(&e, "dram"));
	assert_close(e.seconds, start + fixture_term(&e, "dram_in_flight"));
	assert_string_equal(e.binding, "dram_in_flight");
	fixture_work(f, GW_WORK_warp_loads_in_flight, 8);
	fixture_work(f, GW_WORK_dram_write_bytes, 256 * 128e3);
	e = ask(f);
	assert_close(e.seconds, start + fixture_term(&e, "dram"));
}

/* 20 rounds of 1500 cycles idle; under load the two loads wait for a slower memory. */
LAUNCH_TEST(latency_counts_rounds_and_grows_with_load)
{
	double t, drawn;

	fixture_work(f, GW_WORK_dram_read_bytes, 0);
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), 20 * 1500 / 1e9);
	fixture_work(f, GW_WORK_dram_read_bytes, 256 * 128e3);
	e = ask(f);
	t = fixture_term(&e, "latency");
	drawn = 256 * 128e3 / t;
	assert_close(t, 20 *
				(1500 + 2 * (gw_curve_at(&f->device, GW_CURVE_dram_latency_at_load,
							 drawn) -
					     600)) /
				1e9);
	assert_true(t > 20 * 1500 / 1e9);
}

/* As of PTX, whose registers nobody knows. */
LAUNCH_TEST(a_launch_lasts_as_long_as_a_warp_whatever_an_sm_holds)
{
	struct gw_kernel kernel;

	kernel = *f->launch.kernel;
	kernel.registers = UINT32_MAX;
	f->launch.kernel = &kernel;
	fixture_work(f, GW_WORK_warp_cycles, 50e3);
	fixture_work(f, GW_WORK_warp_cycles_longest, 60e3);
	e = ask(f);
	assert_true(warned(&e, "registers"));
	assert_true(fixture_term(&e, "latency") >= 60e-6 * (1 - 1e-9));
}

LAUNCH_TEST(longest_warp_is_waited_for)
{
	fixture_work(f, GW_WORK_dram_read_bytes, 0);
	fixture_work(f, GW_WORK_warp_cycles_longest, 101500);
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), (20 * 1500 + 100000) / 1e9);
}

/* No schedule, but ILP 2 and a chain: 40 x 4/2 + 20 x 4/2 + 40 others, and 2 x 600. */
LAUNCH_TEST(class_latencies_stand_in_for_the_schedule)
{
	fixture_work(f, GW_WORK_dram_read_bytes, 0);
	forget(f, GW_WORK_warp_cycles);
	forget(f, GW_WORK_warp_cycles_longest);
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), 20 * (80 + 40 + 40 + 1200) / 1e9);
	assert_false(warned(&e, "dependences"));
}

/* Nothing of dependences known: 100 issue cycles and one load at the mean latency. */
LAUNCH_TEST(unknown_dependences_leave_the_least_latency)
{
	fixture_work(f, GW_WORK_dram_read_bytes, 0);
	forget(f, GW_WORK_warp_cycles);
	forget(f, GW_WORK_warp_cycles_longest);
	forget(f, GW_WORK_warp_ilp);
	forget(f, GW_WORK_warp_memory_chain);
	forget(f, GW_WORK_warp_loads_in_flight);
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), 20 * (100 + 600) / 1e9);
	assert_true(warned(&e, "dependences"));
}

LAUNCH_TEST(grid_of_small_blocks_is_launch_bound)
{
	fixture_grid(f, 196608, 32);
	fixture_work(f, GW_WORK_warp_cycles, 10);
	fixture_work(f, GW_WORK_warp_cycles_longest, 10);
	for (unsigned i = GW_WORK_dram_read_bytes; i < GW_WORK_warp_cycles; i++)
		f->work.q[i].value = 0;
	e = ask(f);
	assert_int_equal(e.bound, GW_BOUND_LAUNCH);
	assert_string_equal(e.binding, "block_launch");
	assert_close(fixture_term(&e, "block_launch"), 196608e-9);
}

LAUNCH_TEST(tiny_launch_is_bound_by_the_floor)
{
	fixture_grid(f, 1, 32);
	e = ask(f);
	assert_int_equal(e.bound, GW_BOUND_LAUNCH);
	assert_string_equal(e.binding, "launch_floor");
}

LAUNCH_TEST(binding_resource_and_the_next_are_reported)
{
	fixture_work(f, GW_WORK_pipe_fp64, 500 * 128e3);
	e = ask(f);
	assert_int_equal(e.bound, GW_BOUND_COMPUTE);
	assert_string_equal(e.binding, "fp64");
	assert_close(fixture_term(&e, "next/binding"),
		     fixture_term(&e, "latency") / fixture_term(&e, "fp64"));
}

/* Of a kernel without loads nothing needs to be known of what is read. */
LAUNCH_TEST(a_launch_without_loads_reads_nothing_at_l2)
{
	fixture_work(f, GW_WORK_l2_read_bytes, NAN);
	fixture_work(f, GW_WORK_l2_total_bytes, NAN);
	e = ask(f);
	assert_unknown(fixture_term(&e, "l2"));
	fixture_work(f, GW_WORK_global_load_requests, 0);
	e = ask(f);
	assert_close(fixture_term(&e, "l2"), 128 * 128e3 / 4e12);
}

LAUNCH_TEST(unknown_resource_is_shown_and_warned_of)
{
	forget(f, GW_WORK_dram_write_bytes);
	f->device.param[GW_PARAM_t_sp].value = NAN;
	e = ask(f);
	assert_unknown(fixture_term(&e, "dram"));
	assert_unknown(fixture_term(&e, "fma"));
	assert_true(warned(&e, "unknown: dram"));
	assert_true(warned(&e, "unknown: fma"));
	assert_true(e.seconds > 0);
}

LAUNCH_TEST(nothing_to_do_needs_no_rate)
{
	f->device.param[GW_PARAM_t_dp].value = NAN;
	e = ask(f);
	assert_true(fixture_term(&e, "fp64") == 0);
	assert_false(warned(&e, "unknown: fp64"));
}

TEST(nothing_known_is_no_estimate)
{
	struct fixture f;
	struct gw_estimate e;

	fixture_init(&f);
	gw_work_clear(&f.work);
	e = ask(&f);
	assert_unknown(e.seconds);
	assert_non_null(strstr(e.reason, "work"));
	assert_int_equal(e.bound, GW_BOUND_UNKNOWN);
	fixture_init(&f);
	gw_device_clear(&f.device, "unknown");
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		fixture_work(&f, (enum gw_work_field)i, 1);
	e = ask(&f);
	assert_unknown(e.seconds);
	assert_true(strlen(e.reason) > 0);
}

/* A schedule of 50 instructions, 200 cycles and two waits for loads: twice as many were executed.
 */
static void code_path(struct fixture *f)
{
	fixture_work(f, GW_WORK_warp_insts, 50);
	fixture_work(f, GW_WORK_warp_fixed_cycles, 200);
	fixture_work(f, GW_WORK_warp_fixed_chain, 1);
	fixture_work(f, GW_WORK_dram_read_bytes, 0);
	fixture_work(f, GW_WORK_l1_hit_rate, 0);
	fixture_work(f, GW_WORK_l2_hit_rate, 1);
}

/* 20 rounds, each of 400 cycles and two loads from where they were served. */
LAUNCH_TEST(a_path_by_the_code_waits_for_where_loads_are_served)
{
	double l1, l2;

	code_path(f);
	l1 = gw_param(&f->device, GW_PARAM_lat_l1), l2 = gw_param(&f->device, GW_PARAM_lat_l2);
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), 20 * (400 + 2 * l2) / 1e9);
	assert_close(fixture_term(&e, "fill"), l2 / 1e9);
	assert_true(fixture_term(&e, "dram_in_flight") == 0);
	/* Of three loads that are waited for together one misses more often than one alone. */
	fixture_work(f, GW_WORK_l1_hit_rate, 0.5);
	fixture_work(f, GW_WORK_warp_loads_in_flight, 3);
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), 20 * (400 + 2 * (l1 / 8 + l2 * 7 / 8)) / 1e9);
	fixture_work(f, GW_WORK_loads_apart, 2);
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), 20 * (400 + 2 * (l1 / 4 + l2 * 3 / 4)) / 1e9);
	fixture_work(f, GW_WORK_l1_hit_rate, 1);
	fixture_work(f, GW_WORK_l2_hit_rate, NAN); /* nothing asks it */
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), 20 * (400 + 2 * l1) / 1e9);
	/* The last of six lines comes later than one alone. */
	fixture_curve(f, GW_CURVE_request_latency, (const double[][2]){{1, 610}, {8, 750}}, 2);
	fixture_work(f, GW_WORK_l1_hit_rate, 0);
	fixture_work(f, GW_WORK_l2_hit_rate, 0);
	fixture_work(f, GW_WORK_global_load_lines, 2);
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), 20 * (400 + 2 * 710) / 1e9);
	/* L2 answers many threads later than one. */
	fixture_curve(f, GW_CURVE_l2_latency_threads, (const double[][2]){{1, 300}, {9e4, 450}}, 2);
	fixture_work(f, GW_WORK_l2_hit_rate, 1);
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), 20 * (400 + 3 * l2) / 1e9);
}

/* Half of what an SM has not read yet comes from the far partition; the slower of two loads. */
LAUNCH_TEST(what_l2_keeps_comes_from_near_and_far)
{
	double l2;

	code_path(f);
	l2 = gw_param(&f->device, GW_PARAM_lat_l2);
	fixture_param(f, GW_PARAM_lat_l2_far, 450);
	fixture_work(f, GW_WORK_l2_hit_rate, 0);
	fixture_work(f, GW_WORK_dram_read_bytes, 256 * 128e3);
	f->work.q[GW_WORK_dram_read_bytes].source = GW_SOURCE_STATIC;
	fixture_work(f, GW_WORK_l2_kept, 1);
	fixture_work(f, GW_WORK_warp_loads_in_flight, 1);
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), 20 * (400 + l2 + 450) / 1e9);
	assert_close(fixture_term(&e, "dram"), 128 * 128e3 / 2e12);
	fixture_work(f, GW_WORK_warp_loads_in_flight, 2);
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), 20 * (400 + 2 * (l2 / 4 + 450 * 3 / 4.0)) / 1e9);
	/* Counters know what device memory read. */
	fixture_work(f, GW_WORK_dram_read_bytes, 256 * 128e3);
	e = ask(f);
	assert_close(fixture_term(&e, "dram"), 384 * 128e3 / 2e12);
}

LAUNCH_TEST(a_hit_on_what_is_under_way_waits_as_a_miss)
{
	double l1, l2;

	code_path(f);
	l1 = gw_param(&f->device, GW_PARAM_lat_l1), l2 = gw_param(&f->device, GW_PARAM_lat_l2);
	fixture_work(f, GW_WORK_l1_hit_rate, 0.8);
	fixture_work(f, GW_WORK_l1_under_way, 0.25);
	fixture_work(f, GW_WORK_warp_loads_in_flight, 1);
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), 20 * (400 + 2 * (0.6 * l1 + 0.4 * l2)) / 1e9);
}

LAUNCH_TEST(a_barrier_makes_every_round_last_as_long_as_the_longest_warp)
{
	double l2;

	code_path(f);
	l2 = gw_param(&f->device, GW_PARAM_lat_l2);
	fixture_work(f, GW_WORK_warp_longest_fixed_cycles, 900);
	fixture_work(f, GW_WORK_warp_longest_chain, 1);
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), (20 * (400 + 2 * l2) + 1400) / 1e9);
	fixture_work(f, GW_WORK_barriers, 1);
	e = ask(f);
	assert_close(fixture_term(&e, "latency"), 20 * (1800 + 2 * l2) / 1e9);
}

/* 400 cycles, two loads from L2, 4 us in the data stage: where warps meet and an SM has one block,
 * nothing overlaps with either wait; three blocks have enough to do meanwhile. */
LAUNCH_TEST(a_block_alone_waits_for_every_load)
{
	const double l2 = gw_param(&f->device, GW_PARAM_lat_l2) / 1e9;
	double apart;

	fixture_grid(f, 100, 128);
	gw_work_clear(&f->work);
	code_path(f);
	fixture_work(f, GW_WORK_inst_executed, 400 * 100);
	fixture_work(f, GW_WORK_global_load_requests, 400 * 2);
	fixture_work(f, GW_WORK_lsu_wavefronts, 400e3);
	apart = ask(f).seconds;
	fixture_work(f, GW_WORK_barriers, 1);
	assert_close(ask(f).seconds,
		     start + 2 * l2 + cbrt(pow(4e-6, 3) + pow(4e-7, 3) + pow(1e-7, 3)));
	assert_true(ask(f).seconds > apart);
	fixture_grid(f, 300, 128);
	apart = ask(f).seconds;
	forget(f, GW_WORK_barriers);
	assert_close(ask(f).seconds, apart);
}

LAUNCH_TEST(barriers_take_their_own_rate)
{
	fixture_work(f, GW_WORK_barriers, 5);
	e = ask(f);
	assert_unknown(fixture_term(&e, "barrier"));
	fixture_param(f, GW_PARAM_rate_op_barrier, 0.5);
	e = ask(f);
	assert_close(fixture_term(&e, "barrier"), 5 * 128e3 / (0.5 * 100 * 1e9));
}

/* A line asked for by one sector keeps L2 as busy as half a line does. */
LAUNCH_TEST(scattered_requests_take_look_ups_of_l2)
{
	fixture_work(f, GW_WORK_l2_write_bytes, 0);
	fixture_work(f, GW_WORK_global_load_lines, 4);
	fixture_work(f, GW_WORK_global_load_line_sectors, 4);
	e = ask(f);
	assert_close(fixture_term(&e, "l2"), 2 * 256 * 128e3 / 5e12);
	/* The code takes them for consecutive; counted are four times as many sectors. */
	fixture_work(f, GW_WORK_global_load_lines, 1);
	fixture_work(f, GW_WORK_global_load_sectors, 32 * 128e3);
	fixture_work(f, GW_WORK_l2_read_bytes, 1024 * 128e3);
	e = ask(f);
	assert_close(fixture_term(&e, "l2"), 64 * (2 + 24) * 128e3 / 5e12);
}

LAUNCH_TEST(integers_have_half_of_the_fma_pipe)
{
	fixture_work(f, GW_WORK_pipe_fma_heavy, 30 * 128e3);
	e = ask(f);
	assert_close(fixture_term(&e, "fma"),
		     30 * 128e3 * 64 / gw_param(&f->device, GW_PARAM_t_int));
}

/* What passes through one path is not added up: the data stage and shared memory are one. */
LAUNCH_TEST(one_path_counts_by_its_slowest_step)
{
	without_work(f);
	fixture_work(f, GW_WORK_lsu_wavefronts, 100 * 128e3);
	fixture_work(f, GW_WORK_shared_wavefronts, 100 * 128e3);
	e = ask(f);
	assert_true(fixture_term(&e, "shared") > 0);
	assert_close(e.seconds, start + fmax(fixture_term(&e, "lsu"), fixture_term(&e, "shared")));
}

/* The profile's peak of reading is that of the largest array; copying shows what turning costs. */
LAUNCH_TEST(device_memory_turns_between_reading_and_writing)
{
	fixture_param(f, GW_PARAM_b_mem_read, 2e12);
	fixture_param(f, GW_PARAM_b_mem_write, 2e12);
	fixture_param(f, GW_PARAM_b_mem_copy, 1.6e12);
	fixture_work(f, GW_WORK_dram_read_bytes, 1e9);
	fixture_work(f, GW_WORK_dram_write_bytes, 1e9);
	e = ask(f);
	assert_close(fixture_term(&e, "dram"), 2e9 / 1.6e12);
	fixture_work(f, GW_WORK_dram_write_bytes, 0);
	e = ask(f);
	assert_close(fixture_term(&e, "dram"), 1e9 / 2e12);
}

/* Parameters from L2, then a map and data from device memory; what is stored last comes after all.
 */
LAUNCH_TEST(copies_past_l1_are_waited_for_and_what_is_stored_last_overlaps_with_nothing)
{
	struct gw_estimate without;

	fixture_work(f, GW_WORK_l2_write_bytes, 4e6);
	without = ask(f);
	fixture_work(f, GW_WORK_store_tail, 0.5);
	e = ask(f); /* blocks without such copies share their SM */
	assert_true(e.seconds == without.seconds);
	fixture_work(f, GW_WORK_warp_copy_chain, 2);
	e = ask(f);
	assert_close(fixture_term(&e, "fill") - fixture_term(&without, "fill"), 1450 / 1e9);
	assert_close(fixture_term(&e, "tail"), 0.5 * 4e6 / 4e12);
	fixture_work(f, GW_WORK_store_tail, 0.25);
	assert_true(e.seconds > ask(f).seconds);
}

/* Warps of their own are stages ahead. */
LAUNCH_TEST(copies_that_feed_tensor_cores_take_no_time_beside_them)
{
	struct gw_estimate with;

	fixture_work(f, GW_WORK_pipe_tensor, NAN);
	fixture_work(f, GW_WORK_tensor_fp16_flop, 1e12);
	fixture_work(f, GW_WORK_store_tail, 0.5);
	fixture_work(f, GW_WORK_warp_copy_chain, 2);
	fixture_work(f, GW_WORK_l2_read_bytes, 0);
	e = ask(f);
	fixture_work(f, GW_WORK_l2_read_bytes, 5e12 * 0.9 * fixture_term(&e, "tensor"));
	with = ask(f);
	assert_close(with.seconds, e.seconds);
	fixture_work(f, GW_WORK_store_tail, 0);
	assert_true(ask(f).seconds > with.seconds);
}

LAUNCH_TEST(copies_come_to_an_sm_64_bytes_a_cycle)
{
	fixture_work(f, GW_WORK_copied_bytes, 64e6);
	e = ask(f);
	assert_close(fixture_term(&e, "copies"), 64e6 / (64 * 100 * 1e9));
	/* The first block has its SM busy for longer. */
	fixture_work(f, GW_WORK_tensor_first, 1000);
	e = ask(f);
	assert_true(fixture_term(&e, "copies") > 64e6 / (64 * 100 * 1e9));
}

TESTS_MAIN()
