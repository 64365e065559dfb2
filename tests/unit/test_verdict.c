/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/models/bounds.h"
#include "predictor/models/verdict.h"
#include "tests/unit/model_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

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

static void bytes_make_it_memory_bound(void **state)
{
	struct fixture f;
	struct gw_verdict v;

	(void)state;
	no_latency(&f);
	fixture_work(&f, GW_WORK_dram_read_bytes, 1e9);
	v = judge(&f);
	assert_int_equal(v.bound, GW_BOUND_MEMORY);
	assert_string_equal(v.resource, "dram");
	no_latency(&f);
	fixture_work(&f, GW_WORK_l2_read_bytes, 1e9);
	v = judge(&f);
	assert_int_equal(v.bound, GW_BOUND_MEMORY);
	assert_string_equal(v.resource, "l2");
}

static void a_pipe_makes_it_compute_bound(void **state)
{
	struct fixture f;
	struct gw_verdict v;

	(void)state;
	no_latency(&f);
	fixture_work(&f, GW_WORK_pipe_xu, 1e8);
	v = judge(&f);
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

static void few_blocks_lack_parallelism(void **state)
{
	struct fixture f;
	struct gw_verdict v;
	char text[80];

	(void)state;
	fixture_init(&f);
	fixture_grid(&f, 50, 256);
	make_slow(&f);
	v = judge(&f);
	assert_int_equal(v.bound, GW_BOUND_LATENCY);
	assert_int_equal(v.cause, GW_LATENCY_PARALLELISM);
	gw_verdict_text(&v, text, sizeof(text));
	assert_string_equal(text, "latency-bound (latency: parallelism)");
}

static void many_registers_lack_occupancy(void **state)
{
	struct fixture f;
	struct gw_verdict v;

	(void)state;
	fixture_init(&f);
	f.kernel.registers = 200;
	make_slow(&f);
	v = judge(&f);
	assert_int_equal(v.cause, GW_LATENCY_OCCUPANCY);
	assert_string_equal(v.evidence[v.evidence_count - 1].what, "registers");
	assert_true(v.evidence[v.evidence_count - 1].value == 1);
}

static void full_gpu_waits_for_dependences(void **state)
{
	struct fixture f;
	struct gw_verdict v;

	(void)state;
	fixture_init(&f);
	make_slow(&f);
	v = judge(&f);
	assert_int_equal(v.cause, GW_LATENCY_DEPENDENCES);
}

static void empty_launch_is_launch_bound(void **state)
{
	struct fixture f;
	struct gw_verdict v;

	(void)state;
	fixture_init(&f);
	fixture_grid(&f, 1, 32);
	fixture_work(&f, GW_WORK_warp_cycles, 20);
	fixture_work(&f, GW_WORK_warp_cycles_longest, 20);
	fixture_work(&f, GW_WORK_dram_read_bytes, 0);
	v = judge(&f);
	assert_int_equal(v.bound, GW_BOUND_LAUNCH);
	assert_string_equal(v.resource, "launch_floor");
	assert_true(v.confidence > 0.9);
}

static void unknown_traffic_makes_it_unknown(void **state)
{
	struct fixture f;
	struct gw_verdict v;
	char text[120];

	(void)state;
	fixture_init(&f);
	f.work.q[GW_WORK_dram_read_bytes] = (struct gw_quantity){.value = NAN};
	v = judge(&f);
	assert_int_equal(v.bound, GW_BOUND_UNKNOWN);
	assert_null(v.resource);
	assert_true(v.confidence == 0);
	gw_verdict_text(&v, text, sizeof(text));
	assert_non_null(strstr(text, "device memory"));
}

/* 128 us of dram in a field of one: half the trust is half the confidence. */
static void confidence_follows_the_trust_in_the_deciding_amount(void **state)
{
	struct fixture f;
	struct gw_verdict sure, unsure;

	(void)state;
	no_latency(&f);
	fixture_work(&f, GW_WORK_l2_read_bytes, 2e9);
	fixture_work(&f, GW_WORK_dram_read_bytes, 1e9);
	sure = judge(&f);
	f.work.q[GW_WORK_dram_read_bytes].confidence = 0.5f;
	unsure = judge(&f);
	assert_true(sure.confidence > 0.5 && sure.confidence <= 1);
	assert_true(fabs(unsure.confidence - sure.confidence / 2) < 1e-9);
}

static void tie_halves_the_confidence(void **state)
{
	struct fixture f;
	struct gw_verdict v;

	(void)state;
	no_latency(&f);
	fixture_work(&f, GW_WORK_dram_read_bytes, 2e9);
	fixture_work(&f, GW_WORK_l2_read_bytes, 2e9);
	fixture_work(&f, GW_WORK_dram_write_bytes, 0);
	fixture_work(&f, GW_WORK_inst_issued, 4e8); /* both 1 ms */
	v = judge(&f);
	assert_true(fabs(v.confidence - 0.5) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(bytes_make_it_memory_bound),
	        cmocka_unit_test(a_pipe_makes_it_compute_bound),
	        cmocka_unit_test(few_blocks_lack_parallelism),
	        cmocka_unit_test(many_registers_lack_occupancy),
	        cmocka_unit_test(full_gpu_waits_for_dependences),
	        cmocka_unit_test(empty_launch_is_launch_bound),
	        cmocka_unit_test(unknown_traffic_makes_it_unknown),
	        cmocka_unit_test(confidence_follows_the_trust_in_the_deciding_amount),
	        cmocka_unit_test(tie_halves_the_confidence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
