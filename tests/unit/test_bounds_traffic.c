/* bounds where only sums were counted: the rest follows from the code; verdicts. */
#include "predictor/models/bounds.h"
#include "predictor/models/verdict.h"
#include "tests/test.h"
#include "tests/unit/model_fixture.h"

static struct gw_estimate ask(const struct fixture *f)
{
	struct gw_estimate e;

	gw_model_bounds.estimate(&f->device, &f->launch, &f->work, NULL, &e);
	return e;
}

static void only_of(struct fixture *f, enum gw_work_field field, double value,
		    enum gw_source source)
{
	fixture_work(f, field, value);
	f->work.q[field].source = source;
}

/* Lines of requests are not known: L2 takes the time of its bytes. */
static void init(struct fixture *f)
{
	fixture_init(f);
	fixture_work(f, GW_WORK_global_load_lines, NAN);
	fixture_work(f, GW_WORK_global_store_lines, NAN);
}

/* Where data decide what is stored to, the code knows what is loaded: what L1 saw besides was
 * written. */
LAUNCH_TEST(what_is_written_follows_from_what_is_loaded)
{
	init(f);
	only_of(f, GW_WORK_global_load_sectors, 1e6, GW_SOURCE_STATIC);
	only_of(f, GW_WORK_l1_bytes, 32e6 + 2e8, GW_SOURCE_COUNTED);
	only_of(f, GW_WORK_l2_total_bytes, 1e9, GW_SOURCE_COUNTED);
	fixture_work(f, GW_WORK_l2_read_bytes, NAN);
	fixture_work(f, GW_WORK_l2_write_bytes, NAN);
	fixture_work(f, GW_WORK_global_store_sectors, NAN);
	e = ask(f);
	assert_close(fixture_term(&e, "l2"), 8e8 / 5e12 + 2e8 / 4e12);
}

/* Scattered stores: each of their sectors looks up a line of its own. */
LAUNCH_TEST(sectors_that_follow_look_up_lines_too)
{
	init(f);
	only_of(f, GW_WORK_l1_bytes, 32e6 + 3.2e8, GW_SOURCE_COUNTED);
	only_of(f, GW_WORK_global_load_sectors, 1e6, GW_SOURCE_STATIC);
	only_of(f, GW_WORK_l2_total_bytes, 3.2e8, GW_SOURCE_COUNTED);
	only_of(f, GW_WORK_global_store_requests, 1e6, GW_SOURCE_STATIC);
	only_of(f, GW_WORK_global_store_lines, 1, GW_SOURCE_STATIC);
	only_of(f, GW_WORK_global_store_line_sectors, 4, GW_SOURCE_STATIC);
	fixture_work(f, GW_WORK_l2_read_bytes, NAN);
	fixture_work(f, GW_WORK_l2_write_bytes, NAN);
	fixture_work(f, GW_WORK_global_store_sectors, NAN);
	e = ask(f);
	/* 10e6 sectors of 1e6 requests: 4 of a request in its line, each further one in its own */
	assert_close(fixture_term(&e, "l2"), 7e6 * 64 / 4e12);
}

/* A sector of which a store writes a part is read before. */
LAUNCH_TEST(stores_of_parts_of_sectors_read_at_l2)
{
	init(f);
	fixture_work(f, GW_WORK_global_store_partial, 0.5);
	e = ask(f);
	assert_close(fixture_term(&e, "l2"), (256 + 64) * 128e3 / 5e12 + 128 * 128e3 / 4e12);
	fixture_work(f, GW_WORK_global_store_sectors, 0); /* copies past L1 write whole ones */
	e = ask(f);
	assert_close(fixture_term(&e, "l2"), 256 * 128e3 / 5e12 + 128 * 128e3 / 4e12);
}

/* The first instructions of a launch come from L2. */
LAUNCH_TEST(code_is_fetched_once_a_launch)
{
	double with;

	e = ask(f);
	with = e.seconds;
	assert_close(fixture_term(&e, "code_fetch"), gw_param(&f->device, GW_PARAM_lat_l2) / 1e9);
	fixture_param(f, GW_PARAM_lat_l2, NAN);
	fixture_work(f, GW_WORK_warp_fixed_chain, NAN);
	e = ask(f);
	assert_true(fixture_term(&e, "code_fetch") == 0);
	assert_true(e.seconds < with);
}

/* Some go through a pipe of their own, which alone was counted by itself. */
LAUNCH_TEST(packed_halves_count_wherever_they_go)
{
	double rate;

	rate = gw_param(&f->device, GW_PARAM_t_hp);
	fixture_work(f, GW_WORK_fp16_inst, 32e6);
	fixture_work(f, GW_WORK_pipe_fp16, 1e5);
	e = ask(f);
	assert_close(fixture_term(&e, "fp16"), 4 * 32e6 / rate);
	fixture_work(f, GW_WORK_fp16_inst, NAN);
	e = ask(f);
	assert_close(fixture_term(&e, "fp16"), 4 * 32e5 / rate);
}

/* The code knows what is written, the sum was counted: the rest was read, and shows what hit L1 and
 * L2. */
LAUNCH_TEST(a_counted_sum_at_l2_is_split_by_what_the_code_writes)
{
	init(f);
	only_of(f, GW_WORK_l2_read_bytes, 1e6, GW_SOURCE_STATIC);
	only_of(f, GW_WORK_l2_write_bytes, 2e8, GW_SOURCE_STATIC);
	only_of(f, GW_WORK_l2_total_bytes, 1e9, GW_SOURCE_COUNTED);
	e = ask(f);
	assert_close(fixture_term(&e, "l2"), 8e8 / 5e12 + 2e8 / 4e12);
	/* Counted as surely itself, the read part stands. */
	only_of(f, GW_WORK_l2_read_bytes, 5e8, GW_SOURCE_COUNTED);
	e = ask(f);
	assert_close(fixture_term(&e, "l2"), 5e8 / 5e12 + 2e8 / 4e12);
	fixture_work(f, GW_WORK_l1_bytes, NAN);
	fixture_work(f, GW_WORK_l2_write_bytes, NAN);
	fixture_work(f, GW_WORK_global_store_sectors, NAN);
	e = ask(f);
	assert_close(fixture_term(&e, "l2"), 5e8 / 5e12 + 5e8 / 4e12);
}

/* All that L1 was asked for and what it passed on, both counted, tell its hits; L2's and device
 * memory's theirs. */
LAUNCH_TEST(hits_follow_from_counted_bytes)
{
	double l1, l2, dram;

	/* 50 instructions, 200 cycles and two waits for loads: twice as many were executed. */
	fixture_work(f, GW_WORK_warp_insts, 50);
	fixture_work(f, GW_WORK_warp_fixed_cycles, 200);
	fixture_work(f, GW_WORK_warp_fixed_chain, 1);
	l1 = gw_param(&f->device, GW_PARAM_lat_l1), l2 = gw_param(&f->device, GW_PARAM_lat_l2);
	dram = gw_param(&f->device, GW_PARAM_lat_dram);
	fixture_work(f, GW_WORK_l1_hit_rate, NAN);
	fixture_work(f, GW_WORK_l2_hit_rate, NAN);
	fixture_work(f, GW_WORK_global_load_sectors, NAN);
	fixture_work(f, GW_WORK_l2_read_bytes, NAN);
	only_of(f, GW_WORK_l2_write_bytes, 1e6, GW_SOURCE_STATIC);
	only_of(f, GW_WORK_l1_bytes, 5e6, GW_SOURCE_COUNTED);
	only_of(f, GW_WORK_l2_total_bytes, 2e6, GW_SOURCE_COUNTED);
	only_of(f, GW_WORK_dram_read_bytes, 0.5e6, GW_SOURCE_COUNTED);
	f->device.curve[GW_CURVE_dram_latency_at_load].count = 0;
	e = ask(f);
	/* 3 of 4 hit L1, half of the others L2 */
	assert_close(fixture_term(&e, "latency"),
		     20 * (400 + 2 * (0.75 * l1 + 0.125 * l2 + 0.125 * dram)) / 1e9);
}

static void doubtful(struct fixture *f, enum gw_work_field field, double value,
		     enum gw_source source)
{
	only_of(f, field, value, source);
	f->work.q[field].confidence = 0.4f;
}

/* L2 fetches two sectors for one that is read; a good count is not held against that. */
LAUNCH_TEST(a_poor_sample_of_device_memory_is_no_more_than_l2_fetches)
{
	double most;

	only_of(f, GW_WORK_l2_read_bytes, 1e6, GW_SOURCE_COUNTED);
	only_of(f, GW_WORK_uncoalesced_mem_insts, 0, GW_SOURCE_STATIC);
	fixture_work(f, GW_WORK_dram_write_bytes, 0);
	fixture_work(f, GW_WORK_dram_read_bytes, 2e6);
	e = ask(f);
	most = fixture_term(&e, "dram");
	doubtful(f, GW_WORK_dram_read_bytes, 1e9, GW_SOURCE_SCALED);
	e = ask(f);
	assert_close(fixture_term(&e, "dram"), most);
	fixture_work(f, GW_WORK_dram_read_bytes, 1e9);
	e = ask(f);
	assert_true(fixture_term(&e, "dram") > 100 * most);
}

/* One that is written in part has to be fetched for the rest of it. */
LAUNCH_TEST(a_poor_sample_may_tell_of_sectors_written_in_part)
{
	double least;

	only_of(f, GW_WORK_l2_read_bytes, 0, GW_SOURCE_COUNTED);
	only_of(f, GW_WORK_l2_write_bytes, 1e6, GW_SOURCE_COUNTED);
	only_of(f, GW_WORK_uncoalesced_mem_insts, 0, GW_SOURCE_STATIC);
	fixture_work(f, GW_WORK_dram_write_bytes, 0);
	doubtful(f, GW_WORK_dram_read_bytes, 1e9, GW_SOURCE_SCALED);
	e = ask(f);
	least = fixture_term(&e, "dram");
	only_of(f, GW_WORK_uncoalesced_mem_insts, 1, GW_SOURCE_STATIC);
	e = ask(f);
	assert_true(least == 0);
	assert_true(fixture_term(&e, "dram") > 0);
}

/* Where data decide, the code's least is a range, and no part of a sum that was counted. */
LAUNCH_TEST(a_range_splits_no_counted_sum)
{
	init(f);
	only_of(f, GW_WORK_l1_bytes, 1e9, GW_SOURCE_COUNTED);
	only_of(f, GW_WORK_l2_total_bytes, 1e9, GW_SOURCE_COUNTED);
	fixture_work(f, GW_WORK_l2_read_bytes, NAN);
	fixture_work(f, GW_WORK_l2_write_bytes, NAN);
	fixture_work(f, GW_WORK_global_store_sectors, NAN);
	doubtful(f, GW_WORK_global_load_sectors, 0, GW_SOURCE_STATIC);
	e = ask(f);
	assert_close(fixture_term(&e, "l2"), 1e9 / 5e12); /* all read */
	only_of(f, GW_WORK_global_load_sectors, 0, GW_SOURCE_STATIC);
	e = ask(f);
	assert_close(fixture_term(&e, "l2"), 1e9 / 4e12); /* all written, as the code knows */
}

/* One that chases through L1: few bytes of it were seen in time. */
LAUNCH_TEST(a_request_asks_for_a_sector_at_least)
{
	double poor;

	fixture_work(f, GW_WORK_warp_insts, 50);
	fixture_work(f, GW_WORK_warp_fixed_cycles, 200);
	fixture_work(f, GW_WORK_warp_fixed_chain, 1);
	fixture_work(f, GW_WORK_l1_hit_rate, NAN);
	fixture_work(f, GW_WORK_l2_hit_rate, NAN);
	fixture_work(f, GW_WORK_global_load_sectors, NAN);
	f->work.q[GW_WORK_global_load_sectors].confidence = 0;
	fixture_work(f, GW_WORK_dram_read_bytes, 3.2e5);
	fixture_work(f, GW_WORK_l2_read_bytes, 3.2e5);
	fixture_work(f, GW_WORK_l2_write_bytes, 0);
	fixture_work(f, GW_WORK_global_load_requests, 1e6);
	fixture_work(f, GW_WORK_l1_bytes, 3.2e5);
	e = ask(f);
	poor = fixture_term(&e, "latency"); /* a good count: nothing hits */
	doubtful(f, GW_WORK_l1_bytes, 3.2e5, GW_SOURCE_SCALED);
	e = ask(f);
	assert_true(fixture_term(&e, "latency") < 0.7 * poor);
}

/*
 * 256,000 requests of 18 sectors where consecutive addresses have 4: 14 lie where data put them,
 * and device memory reads two for each, at the rate of a word for such a pair: 1e11 / 4 pairs a
 * second.
 */
LAUNCH_TEST(what_data_scatter_takes_device_memory_longer)
{
	const double requests = 256000, pairs = requests * 14;

	init(f);
	fixture_work(f, GW_WORK_dram_read_bytes, 1e9);
	fixture_work(f, GW_WORK_dram_write_bytes, 0);
	e = ask(f);
	assert_close(fixture_term(&e, "dram"), 1e9 / 2e12);
	fixture_work(f, GW_WORK_global_load_sectors, requests * 18);
	e = ask(f);
	assert_close(fixture_term(&e, "dram"), (1e9 - pairs * 64) / 2e12 + pairs * 4 / 1e11);
	/* Most of them hit L2, and what device memory reads are the consecutive ones. */
	fixture_work(f, GW_WORK_dram_read_bytes, requests * 4 * 32);
	e = ask(f);
	assert_close(fixture_term(&e, "dram"), requests * 4 * 32 / 2e12);
	fixture_param(f, GW_PARAM_bw_uncoalesced, NAN);
	fixture_work(f, GW_WORK_dram_read_bytes, 1e9);
	e = ask(f);
	assert_close(fixture_term(&e, "dram"), 1e9 / 2e12);
}

static struct gw_verdict judge(const struct fixture *f)
{
	struct gw_verdict v;
	struct gw_estimate e;

	gw_model_bounds.estimate(&f->device, &f->launch, &f->work, NULL, &e);
	gw_verdict_of(&f->device, &f->launch, &f->work, &e, &v);
	return v;
}

/* A launch that waits for nothing: what is left is what the test puts in. */
static void no_latency(struct fixture *f)
{
	fixture_init(f);
	fixture_work(f, GW_WORK_warp_cycles, 100);
	fixture_work(f, GW_WORK_warp_cycles_longest, 100);
	fixture_work(f, GW_WORK_warp_memory_chain, 0);
	fixture_work(f, GW_WORK_warp_loads_in_flight, 64);
}

LAUNCH_TEST(bytes_make_it_memory_bound)
{
	struct gw_verdict v;

	no_latency(f);
	fixture_work(f, GW_WORK_dram_read_bytes, 1e9);
	v = judge(f);
	assert_int_equal(v.bound, GW_BOUND_MEMORY);
	assert_string_equal(v.resource, "dram");
	no_latency(f);
	fixture_work(f, GW_WORK_l2_read_bytes, 1e9);
	v = judge(f);
	assert_int_equal(v.bound, GW_BOUND_MEMORY);
	assert_string_equal(v.resource, "l2");
}

LAUNCH_TEST(a_pipe_makes_it_compute_bound)
{
	struct gw_verdict v;

	no_latency(f);
	fixture_work(f, GW_WORK_pipe_xu, 1e8);
	v = judge(f);
	assert_int_equal(v.bound, GW_BOUND_COMPUTE);
	assert_string_equal(v.resource, "xu");
	assert_string_equal(v.evidence[1].what, "xu");
	assert_true(fabs(v.evidence[1].value - 1e8 * 32 / 1.6e12) < 1e-9);
}

static void make_slow(struct fixture *f)
{
	fixture_work(f, GW_WORK_warp_cycles, 1e6);
	fixture_work(f, GW_WORK_warp_cycles_longest, 1e6);
}

LAUNCH_TEST(few_blocks_lack_parallelism)
{
	struct gw_verdict v;
	char text[80];

	fixture_grid(f, 50, 256);
	make_slow(f);
	v = judge(f);
	assert_int_equal(v.bound, GW_BOUND_LATENCY);
	assert_int_equal(v.cause, GW_LATENCY_PARALLELISM);
	gw_verdict_text(&v, text, sizeof(text));
	assert_string_equal(text, "latency-bound (latency: parallelism)");
}

LAUNCH_TEST(many_registers_lack_occupancy)
{
	struct gw_verdict v;

	f->kernel.registers = 200;
	make_slow(f);
	v = judge(f);
	assert_int_equal(v.cause, GW_LATENCY_OCCUPANCY);
	assert_string_equal(v.evidence[v.evidence_count - 1].what, "registers");
	assert_true(v.evidence[v.evidence_count - 1].value == 1);
}

LAUNCH_TEST(full_gpu_waits_for_dependences)
{
	struct gw_verdict v;

	make_slow(f);
	v = judge(f);
	assert_int_equal(v.cause, GW_LATENCY_DEPENDENCES);
}

LAUNCH_TEST(empty_launch_is_launch_bound)
{
	struct gw_verdict v;

	fixture_grid(f, 1, 32);
	fixture_work(f, GW_WORK_warp_cycles, 20);
	fixture_work(f, GW_WORK_warp_cycles_longest, 20);
	fixture_work(f, GW_WORK_dram_read_bytes, 0);
	v = judge(f);
	assert_int_equal(v.bound, GW_BOUND_LAUNCH);
	assert_string_equal(v.resource, "launch_floor");
	assert_true(v.confidence > 0.9);
}

LAUNCH_TEST(unknown_traffic_makes_it_unknown)
{
	struct gw_verdict v;
	char text[120];

	f->work.q[GW_WORK_dram_read_bytes] = (struct gw_quantity){.value = NAN};
	v = judge(f);
	assert_int_equal(v.bound, GW_BOUND_UNKNOWN);
	assert_null(v.resource);
	assert_true(v.confidence == 0);
	gw_verdict_text(&v, text, sizeof(text));
	assert_non_null(strstr(text, "device memory"));
}

/* 128 us of dram in a field of one: half the trust is half the confidence. */
LAUNCH_TEST(confidence_follows_the_trust_in_the_deciding_amount)
{
	struct gw_verdict sure, unsure;

	no_latency(f);
	fixture_work(f, GW_WORK_l2_read_bytes, 2e9);
	fixture_work(f, GW_WORK_dram_read_bytes, 1e9);
	sure = judge(f);
	f->work.q[GW_WORK_dram_read_bytes].confidence = 0.5f;
	unsure = judge(f);
	assert_true(sure.confidence > 0.5 && sure.confidence <= 1);
	assert_true(fabs(unsure.confidence - sure.confidence / 2) < 1e-9);
}

LAUNCH_TEST(tie_halves_the_confidence)
{
	struct gw_verdict v;

	no_latency(f);
	fixture_work(f, GW_WORK_dram_read_bytes, 2e9);
	fixture_work(f, GW_WORK_l2_read_bytes, 2e9);
	fixture_work(f, GW_WORK_dram_write_bytes, 0);
	fixture_work(f, GW_WORK_inst_issued, 4e8); /* both 1 ms */
	v = judge(f);
	assert_true(fabs(v.confidence - 0.5) < 1e-9);
}

int main(void)
{
	return tests_run(NULL, NULL);
}
