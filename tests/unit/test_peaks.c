/* Peaks, and verdicts on measured launches. */
#include "predictor/models/peaks.h"
#include "predictor/models/bounds.h"
#include "predictor/models/verdict.h"
#include "tests/test.h"
#include "tests/unit/model_fixture.h"

/* 2e12 B/s of device memory: 1e9 bytes take 0.5 ms. */
static void reading(struct fixture *f, double bytes)
{
	fixture_init(f);
	fixture_work(f, GW_WORK_dram_read_bytes, bytes);
	fixture_work(f, GW_WORK_dram_write_bytes, 0);
	fixture_work(f, GW_WORK_l2_read_bytes, bytes / 2); /* which fetches two sectors for one */
}

static struct gw_verdict measured(const struct fixture *f, double seconds)
{
	struct gw_verdict v;

	gw_verdict_measured(&f->device, &f->launch, &f->work, seconds, &v);
	return v;
}

static struct gw_peak peak(const struct fixture *f, const char *name)
{
	struct gw_peak all[GW_RESOURCES_MAX];
	unsigned count = gw_peaks(&f->device, &f->launch, &f->work, all);

	for (unsigned i = 0; i < count; i++)
		if (!strcmp(all[i].name, name))
			return all[i];
	fail_msg("there is no peak %s", name);
	return (struct gw_peak){0};
}

LAUNCH_TEST(amount_over_seconds_is_the_rate_of_the_profile)
{
	struct gw_peak c;

	reading(f, 3e9);
	c = peak(f, "dram");
	assert_true(fabs(c.amount / c.seconds / gw_param(&f->device, GW_PARAM_b_mem) - 1) < 1e-9);
	assert_string_equal(c.unit, "B");
	assert_int_equal(c.source, GW_SOURCE_COUNTED);
	fixture_work(f, GW_WORK_pipe_fp64, 1e6);
	c = peak(f, "fp64");
	assert_true(fabs(c.amount - 64e6) < 1);
	assert_true(fabs(c.amount / c.seconds / gw_param(&f->device, GW_PARAM_t_dp) - 1) < 1e-9);
}

/* Of an H200: 1.84 multiply-adds and 2.00 additions an SM and cycle; kernels reach 1.99. */
LAUNCH_TEST(the_peak_of_the_fp64_pipe_is_the_most_that_calibration_reached)
{
	double seconds;

	fixture_work(f, GW_WORK_pipe_fp64, 1e6);
	seconds = peak(f, "fp64").seconds;
	fixture_param(f, GW_PARAM_rate_op_fma_f64, 1.84);
	assert_true(peak(f, "fp64").seconds == seconds);
	fixture_param(f, GW_PARAM_rate_op_add_f64, 2);
	assert_true(fabs(peak(f, "fp64").seconds / seconds - 0.92) < 1e-9);
	fixture_param(f, GW_PARAM_rate_op_add_f64, 1.8);
	assert_true(peak(f, "fp64").seconds == seconds);
}

/* What the code shows of the half of the pipe that multiplies integers, where data decide, is a
 * range. */
LAUNCH_TEST(a_part_reported_is_no_more_than_the_whole_counted)
{
	double all;

	fixture_work(f, GW_WORK_pipe_fma, 1e8);
	fixture_work(f, GW_WORK_pipe_fma_heavy, 1e8);
	all = peak(f, "fma").seconds;
	f->work.q[GW_WORK_pipe_fma_heavy] = (struct gw_quantity){4e8, GW_SOURCE_STATIC, 0.4F};
	assert_true(peak(f, "fma").seconds == all);
	f->work.q[GW_WORK_pipe_fma].source = GW_SOURCE_STATIC; /* both of the code: as it says */
	assert_true(peak(f, "fma").seconds > all);
}

LAUNCH_TEST(peaks_are_of_memory_and_pipes_only)
{
	struct gw_peak all[GW_RESOURCES_MAX];
	unsigned count;

	count = gw_peaks(&f->device, &f->launch, &f->work, all);
	assert_true(count > 10);
	for (unsigned i = 0; i < count; i++) {
		assert_true(all[i].bound == GW_BOUND_MEMORY || all[i].bound == GW_BOUND_COMPUTE);
		assert_true(strcmp(all[i].name, "latency") != 0);
	}
}

/* One block more than SMs: the model waits for the busiest SM, the peak is the whole GPU's. */
LAUNCH_TEST(uneven_grid_does_not_lower_the_peak)
{
	double even;

	fixture_grid(f, 101, 1024);
	fixture_work(f, GW_WORK_inst_issued, 1e9);
	even = peak(f, "issue").seconds;
	assert_true(fabs(even - 1e9 / gw_param(&f->device, GW_PARAM_t_issue)) < 1e-12);
	gw_model_bounds.estimate(&f->device, &f->launch, &f->work, NULL, &e);
	assert_true(fixture_term(&e, "issue") > 1.9 * even);
}

LAUNCH_TEST(unknown_work_has_no_peak)
{
	struct gw_peak c;

	f->work.q[GW_WORK_l1_bytes] = (struct gw_quantity){.value = NAN};
	c = peak(f, "l1");
	assert_true(isnan(c.seconds) && isnan(c.amount));
	c = (struct gw_peak){.name = "constant", .seconds = 0, .amount = NAN};
	assert_null(gw_peak_first(&c, 1));
	c.amount = 0;
	assert_non_null(gw_peak_first(&c, 1));
}

LAUNCH_TEST(near_a_peak_is_bound_by_it)
{
	struct gw_verdict v;
	double ideal;

	reading(f, 1e10);
	ideal = peak(f, "dram").seconds;
	v = measured(f, ideal / 0.9);
	assert_int_equal(v.bound, GW_BOUND_MEMORY);
	assert_string_equal(v.resource, "dram");
	assert_string_equal(v.evidence[1].what, "dram");
	assert_true(fabs(v.evidence[1].value - 0.9) < 1e-9);
	assert_true(v.confidence > 0.9);
}

LAUNCH_TEST(far_from_every_peak_is_latency)
{
	struct gw_verdict v;

	reading(f, 1e10);
	v = measured(f, peak(f, "dram").seconds / 0.3);
	assert_int_equal(v.bound, GW_BOUND_LATENCY);
	assert_int_equal(v.cause, GW_LATENCY_DEPENDENCES);
	fixture_grid(f, 50, 256);
	v = measured(f, 1);
	assert_int_equal(v.cause, GW_LATENCY_PARALLELISM);
}

LAUNCH_TEST(the_line_is_doubtful_and_far_from_it_is_sure)
{
	double ideal;

	reading(f, 1e10);
	ideal = peak(f, "dram").seconds;
	assert_true(measured(f, ideal / 0.61).confidence < 0.6);
	assert_true(measured(f, ideal / 0.59).confidence < 0.6);
	assert_true(measured(f, ideal / 0.1).confidence > 0.9);
	/* Twice the bandwidth there is: something is off. */
	assert_true(measured(f, ideal / 2).confidence < 0.6);
	f->work.q[GW_WORK_dram_read_bytes].confidence = 0.25f;
	assert_true(measured(f, ideal / 0.9).confidence < 0.3);
}

LAUNCH_TEST(short_launch_is_bound_by_its_start)
{
	struct gw_verdict v;

	fixture_grid(f, 1, 32);
	v = measured(f, gw_param(&f->device, GW_PARAM_launch_floor) * 1.2);
	assert_int_equal(v.bound, GW_BOUND_LAUNCH);
	v = measured(f, gw_param(&f->device, GW_PARAM_launch_floor) * 100);
	assert_int_equal(v.bound, GW_BOUND_LATENCY);
}

static void forget(struct fixture *f, enum gw_work_field field)
{
	f->work.q[field] = (struct gw_quantity){.value = NAN};
}

/* Nothing at all is known of the traffic that loads and stores cause. */
static void forget_memory(struct fixture *f)
{
	forget(f, GW_WORK_dram_read_bytes);
	forget(f, GW_WORK_dram_write_bytes);
	forget(f, GW_WORK_l2_read_bytes);
	forget(f, GW_WORK_l2_write_bytes);
	forget(f, GW_WORK_l2_total_bytes);
	forget(f, GW_WORK_l1_bytes);
	forget(f, GW_WORK_l2_requests);
}

static void forget_issue(struct fixture *f)
{
	forget(f, GW_WORK_inst_issued);
	forget(f, GW_WORK_inst_executed);
}

TEST(what_was_not_measured_or_counted_is_unknown)
{
	struct fixture f;

	fixture_init(&f);
	assert_string_equal(measured(&f, NAN).unknown, "it was not measured");
	assert_int_equal(measured(&f, 0).bound, GW_BOUND_UNKNOWN);
	forget_memory(&f);
	assert_non_null(strstr(measured(&f, 1).unknown, "device memory"));
	fixture_init(&f);
	forget_issue(&f);
	assert_non_null(strstr(measured(&f, 1).unknown, "instructions issued"));
}

/* What is near its peak bounds a launch, whatever else is not known. */
LAUNCH_TEST(what_is_known_to_be_near_its_peak_is_enough)
{
	struct gw_verdict v, all;

	fixture_work(f, GW_WORK_pipe_fp64, 1e9);
	all = measured(f, peak(f, "fp64").seconds / 0.9);
	forget_memory(f);
	v = measured(f, peak(f, "fp64").seconds / 0.9);
	assert_int_equal(v.bound, GW_BOUND_COMPUTE);
	assert_string_equal(v.resource, "fp64");
	assert_true(v.confidence < all.confidence);
}

/* Device memory gives no more than three times what L2 asks for, and L2 what L1 does. */
LAUNCH_TEST(less_traffic_above_limits_what_is_below)
{
	double at_l2;

	forget_memory(f);
	fixture_work(f, GW_WORK_l1_bytes, 1e9);
	fixture_work(f, GW_WORK_l2_read_bytes, 1e9);
	fixture_work(f, GW_WORK_l2_write_bytes, 0);
	at_l2 = 1e9 / gw_param(&f->device, GW_PARAM_b_mem);
	assert_int_equal(measured(f, 100 * at_l2).bound, GW_BOUND_LATENCY);
	assert_non_null(strstr(measured(f, 2 * at_l2).unknown, "device memory"));
	forget(f, GW_WORK_l2_read_bytes);
	forget(f, GW_WORK_l2_write_bytes);
	f->launch.config.dynamic_shared = 0;
	f->kernel.static_shared = 0;
	assert_int_equal(measured(f, 100 * at_l2).bound, GW_BOUND_LATENCY);
	assert_int_equal(measured(f, 2 * at_l2).bound, GW_BOUND_UNKNOWN);
	/* Since sm_90, what gets into shared memory may have gone past L1's counter. */
	f->kernel.static_shared = 4096;
	assert_int_equal(measured(f, 100 * at_l2).bound, GW_BOUND_UNKNOWN);
	f->kernel.binary_version = 80;
	assert_int_equal(measured(f, 100 * at_l2).bound, GW_BOUND_LATENCY);
}

/* A request is about a line: four sectors of it are looked up once, and fetched once. */
LAUNCH_TEST(requests_tell_how_l2_was_asked)
{
	double bytes = 1e9, at_l2, at_dram;

	forget_memory(f);
	forget(f, GW_WORK_global_store_sectors); /* all may be written */
	fixture_work(f, GW_WORK_dram_read_bytes, 0);
	fixture_work(f, GW_WORK_dram_write_bytes, 0);
	fixture_work(f, GW_WORK_l2_total_bytes, bytes);
	at_l2 = bytes / gw_param(&f->device, GW_PARAM_b_l2_write);
	assert_non_null(strstr(measured(f, 2 * at_l2).unknown, "how it is asked"));
	fixture_work(f, GW_WORK_l2_requests, bytes / 128);
	assert_int_equal(measured(f, 2 * at_l2).bound, GW_BOUND_LATENCY);
	fixture_work(f, GW_WORK_l2_requests, bytes / 64); /* two sectors each: as fast */
	assert_int_equal(measured(f, 2 * at_l2).bound, GW_BOUND_LATENCY);
	fixture_work(f, GW_WORK_l2_requests, bytes / 32);
	assert_non_null(strstr(measured(f, 2 * at_l2).unknown, "how it is asked"));
	forget(f, GW_WORK_dram_read_bytes);
	forget(f, GW_WORK_dram_write_bytes);
	at_dram = bytes / gw_param(&f->device, GW_PARAM_b_mem);
	assert_non_null(strstr(measured(f, 4.5 * at_dram).unknown, "device memory"));
	fixture_work(f, GW_WORK_l2_requests, bytes / 128);
	assert_int_equal(measured(f, 4.5 * at_dram).bound, GW_BOUND_LATENCY);
}

/* Samples that do not tell a count still say what it is at most. */
LAUNCH_TEST(what_samples_leave_room_for_limits_what_they_do_not_tell)
{
	double dram;

	forget_memory(f);
	fixture_work(f, GW_WORK_dram_write_bytes, 0);
	fixture_work(f, GW_WORK_l2_read_bytes, 1e9);
	fixture_work(f, GW_WORK_l2_write_bytes, 0);
	dram = 1e9 / gw_param(&f->device, GW_PARAM_b_mem);
	assert_non_null(strstr(measured(f, dram).unknown, "device memory"));
	fixture_work(f, GW_WORK_most_dram_read_bytes, 0.5e9);
	assert_int_equal(measured(f, dram).bound, GW_BOUND_LATENCY);
	fixture_work(f, GW_WORK_most_dram_read_bytes, 0.7e9);
	assert_non_null(strstr(measured(f, dram).unknown, "device memory"));
	/* Of another configuration it says nothing. */
	f->work.q[GW_WORK_most_dram_read_bytes] =
		(struct gw_quantity){0.5e9, GW_SOURCE_SCALED, 0.5F};
	assert_non_null(strstr(measured(f, dram).unknown, "device memory"));
	/* By the code it is what is asked for, of which L2 may fetch twice as much. */
	f->work.q[GW_WORK_most_dram_read_bytes] = (struct gw_quantity){0.25e9, GW_SOURCE_STATIC, 1};
	assert_int_equal(measured(f, dram).bound, GW_BOUND_LATENCY);
	f->work.q[GW_WORK_most_dram_read_bytes].value = 0.35e9;
	assert_non_null(strstr(measured(f, dram).unknown, "device memory"));
	/* What is known is known. */
	fixture_work(f, GW_WORK_dram_read_bytes, 0.9e9);
	fixture_work(f, GW_WORK_most_dram_read_bytes, 0.1e9);
	assert_int_equal(measured(f, dram).bound, GW_BOUND_MEMORY);
}

/* No more is written back to device memory than stores and atomic operations wrote in L2. */
LAUNCH_TEST(what_is_stored_limits_what_is_written_back)
{
	double dram;

	forget_memory(f);
	fixture_work(f, GW_WORK_l2_read_bytes, 1e8);
	fixture_work(f, GW_WORK_l2_write_bytes, 1e9);
	fixture_work(f, GW_WORK_dram_read_bytes, 1e8);
	fixture_work(f, GW_WORK_atomic_requests, 0);
	dram = 1e9 / gw_param(&f->device, GW_PARAM_b_mem);
	assert_int_equal(measured(f, 2.5 * dram).bound, GW_BOUND_LATENCY);
	fixture_work(f, GW_WORK_atomic_requests, 1e7);
	assert_non_null(strstr(measured(f, 2.5 * dram).unknown, "device memory"));
}

/* An instruction that was issued may be of any pipe that nobody looked at. */
LAUNCH_TEST(issued_instructions_limit_the_pipes)
{
	double issue;

	fixture_work(f, GW_WORK_inst_issued, 1e9);
	fixture_work(f, GW_WORK_pipe_fma, 1e8);
	forget(f, GW_WORK_pipe_fp64);
	forget(f, GW_WORK_fp64_inst);
	issue = peak(f, "issue").seconds;
	assert_non_null(strstr(measured(f, 2 * issue).unknown, "fp64"));
	assert_int_equal(measured(f, 200 * issue).bound, GW_BOUND_LATENCY);
	/* Those of another pipe were not of this one. */
	fixture_work(f, GW_WORK_pipe_alu, 5e8);
	assert_int_equal(measured(f, 2 * issue).bound, GW_BOUND_LATENCY);
}

/* Whatever way data made it take, no more of its instructions can be of a pipe than its code has.
 */
LAUNCH_TEST(the_code_limits_the_pipes_of_what_was_issued)
{
	double issue;

	fixture_work(f, GW_WORK_inst_issued, 1e9);
	forget(f, GW_WORK_pipe_fp64);
	forget(f, GW_WORK_fp64_inst);
	issue = peak(f, "issue").seconds;
	assert_non_null(strstr(measured(f, 2 * issue).unknown, "fp64"));
	fixture_work(f, GW_WORK_share_fp64, 0.01);
	assert_int_equal(measured(f, 2 * issue).bound, GW_BOUND_LATENCY);
	fixture_work(f, GW_WORK_share_fp64, 0.9);
	assert_non_null(strstr(measured(f, 2 * issue).unknown, "fp64"));
}

/* One block has one SM, whatever it does there. */
LAUNCH_TEST(a_small_grid_limits_all_of_an_sm)
{
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		forget(f, (enum gw_work_field)i);
	assert_int_equal(measured(f, 1).bound, GW_BOUND_UNKNOWN);
	fixture_grid(f, 1, 32);
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		forget(f, (enum gw_work_field)i);
	assert_int_equal(measured(f, 1).bound, GW_BOUND_LATENCY);
	assert_int_equal(measured(f, 1).cause, GW_LATENCY_PARALLELISM);
	/* Whatever else samples leave room for, and where one direction of L2 is known, too. */
	fixture_work(f, GW_WORK_most_l2_total_bytes, 1e15);
	fixture_work(f, GW_WORK_most_l1_bytes, 1e15);
	fixture_work(f, GW_WORK_l2_read_bytes, 64);
	assert_int_equal(measured(f, 1).bound, GW_BOUND_LATENCY);
}

/* What sampling counts instead decides as well. */
LAUNCH_TEST(sampled_sums_have_peak)
{
	struct gw_peak c;

	forget(f, GW_WORK_l2_read_bytes); /* what is written may yet be reported by the code */
	fixture_work(f, GW_WORK_l2_total_bytes, 1e9);
	c = peak(f, "l2");
	assert_true(c.amount == 1e9 && c.source == GW_SOURCE_COUNTED);
	forget(f, GW_WORK_pipe_tensor);
	for (int i = GW_WORK_tensor_fp16_flop; i <= GW_WORK_tensor_fp64_flop; i++)
		forget(f, (enum gw_work_field)i);
	fixture_work(f, GW_WORK_tensor_cycles, 4e6);
	c = peak(f, "tensor");
	assert_string_equal(c.unit, "cycle");
	assert_int_equal(c.source, GW_SOURCE_COUNTED);
	assert_true(fabs(c.seconds - 4e6 / 4 / gw_param(&f->device, GW_PARAM_sm_clock)) < 1e-12);
	assert_string_equal(measured(f, c.seconds / 0.9).resource, "tensor");
}

/* More bytes than there can have been: the code's word, or a sister's, is wrong. */
LAUNCH_TEST(the_time_refutes_what_was_not_counted)
{
	double ideal;

	reading(f, 1e10);
	ideal = peak(f, "dram").seconds;
	assert_string_equal(measured(f, ideal / 2).resource, "dram");
	f->work.q[GW_WORK_dram_read_bytes].source = GW_SOURCE_STATIC;
	f->work.q[GW_WORK_dram_write_bytes].source = GW_SOURCE_STATIC;
	assert_string_equal(measured(f, ideal / 1.2).resource, "dram");
	assert_int_equal(measured(f, ideal / 2).bound, GW_BOUND_UNKNOWN);
}

TESTS_MAIN()
