/* What the quantitative roofline's user can tell it, and what it warns of. */

#include "predictor/models/papers/models.h"
#include "predictor/models/papers/qrm.h"
#include "tests/test.h"

static struct gw_device device;
static struct gw_work work;
static struct gw_launch launch;
static const struct gw_kernel kernel = {.name = "k"};
static struct gw_estimate e;

static void give(enum gw_work_field field, double value)
{
	work.q[field] = (struct gw_quantity){value, GW_SOURCE_GIVEN, 1};
}

/* Round numbers: every instruction takes a cycle of 1 GHz, loads four; memory is fast. */
static int set_up(void **state)
{
	static const struct {
		enum gw_param p;
		double value;
	} rates[] = {{GW_PARAM_t_sp, 64e9},  {GW_PARAM_t_dp, 32e9},  {GW_PARAM_t_int, 32e9},
		     {GW_PARAM_t_add, 32e9}, {GW_PARAM_t_ldst, 8e9}, {GW_PARAM_b_mem, 1e12}};

	gw_device_clear(&device, "test");
	for (unsigned i = 0; i < COUNT(rates); i++)
		gw_device_set(&device, rates[i].p, rates[i].value, GW_METHOD_MEASURED);
	gw_work_clear(&work);
	give(GW_WORK_inst_executed, 1e9);
	give(GW_WORK_fp32_inst, 16e9);
	give(GW_WORK_fp32_fma, 16e9);
	give(GW_WORK_fp64_inst, 0);
	give(GW_WORK_fp64_fma, 0);
	give(GW_WORK_int_inst, 8e9);
	give(GW_WORK_ldst_inst, 8e9);
	give(GW_WORK_dram_read_bytes, 1e9);
	give(GW_WORK_dram_write_bytes, 1e9);
	launch = (struct gw_launch){
		.kernel = &kernel,
		.config = {.grid = {90, 1, 1}, .block = {64, 1, 1}, .cluster = {1, 1, 1}}};
	return 0;
}

static void run(const struct gw_model_options *options)
{
	gw_model_find("qrm")->estimate(&device, &launch, &work, options, &e);
}

static bool warned(const char *part)
{
	for (unsigned i = 0; i < e.warning_count; i++)
		if (strstr(e.warnings[i], part))
			return true;
	return false;
}

static void assert_seconds(double expected)
{
	if (!(fabs(e.seconds - expected) <= 1e-12 * expected))
		fail_msg("%.17g s, not %.17g: %s", e.seconds, expected, e.reason);
}

TEST_WITH(the_time_is_the_sum_of_the_instructions_costs, set_up, NULL)
{
	run(NULL);
	/* 16e9 FMAs at 32e9/s, 8e9 loads at 8e9/s, 8e9 others at 32e9/s */
	assert_seconds(0.5 + 1 + 0.25);
	assert_int_equal(e.bound, GW_BOUND_COMPUTE);
	assert_string_equal(e.binding, "compute");
	assert_int_equal(e.warning_count, 0);
}

TEST_WITH(given_traffic_replaces_the_counted, set_up, NULL)
{
	const struct gw_model_options options = {.given_traffic = 3e12};

	run(&options);
	assert_seconds(3);
	assert_int_equal(e.bound, GW_BOUND_MEMORY);
	give(GW_WORK_dram_read_bytes, NAN); /* and needs no count */
	run(&options);
	assert_seconds(3);
}

TEST_WITH(given_operations_change_the_unit_not_the_compute_time, set_up, NULL)
{
	/* 6.2: 4e9 special operations, two instructions each, of which 8e9/s are possible */
	struct gw_model_options options = {
		.given_ops = 4e9, .given_ops_rate = 8e9, .given_ops_inst = 8e9};

	run(&options);
	/* 4e9 at 8e9/s, loads as before, the other 16e9 at 32e9/s */
	assert_seconds(0.5 + 1 + 0.5);
	/* Without the number of instructions: one each. */
	options.given_ops_inst = 0;
	run(&options);
	assert_seconds(0.5 + 1 + 20e9 / 32e9);
}

TEST_WITH(given_operations_without_a_rate_scale_with_the_counted_efficiency, set_up, NULL)
{
	const struct gw_model_options options = {.given_ops = 64e9};

	run(&options); /* twice the counted 32e9 */
	assert_seconds(2 * 1.75);
}

TEST_WITH(integers_as_additions_cost_what_others_cost, set_up, NULL)
{
	const struct gw_model_options options = {.qrm_int_as_add = true};

	give(GW_WORK_fp32_inst, 0);
	run(NULL);
	/* Twice 8e9 at T_int, which counts two operations; loads; 16e9 others */
	assert_seconds(0.5 + 1 + 0.5);
	run(&options);
	assert_seconds(0.25 + 1 + 0.5);
}

TEST_WITH(utilisation_needs_its_factor, set_up, NULL)
{
	struct gw_model_options options = {.qrm_utilisation = true};

	run(&options);
	assert_true(isnan(e.seconds));
	assert_non_null(strstr(e.reason, "qrm_e_util"));
	options.qrm_e_util = 1.2;
	run(&options);
	assert_seconds(1.2 * 1.75);
	options.qrm_utilisation = false;
	run(&options);
	assert_seconds(1.75);
}

TEST_WITH(warns_of_launches_that_do_not_qualify, set_up, NULL)
{
	launch.config.block.x = 63;
	run(NULL);
	assert_true(warned("fewer than 64 threads") && !warned("fewer than 90 blocks"));
	launch.config.block = (struct gw_dim3){8, 8, 1};
	launch.config.grid = (struct gw_dim3){89, 1, 1};
	run(NULL);
	assert_true(!warned("fewer than 64 threads") && warned("fewer than 90 blocks"));
	launch.config.grid = (struct gw_dim3){9, 5, 2};
	run(NULL);
	assert_int_equal(e.warning_count, 0);
}

TEST_WITH(warns_of_short_kernels, set_up, NULL)
{
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		work.q[i].value *= 1e-4;
	run(NULL);
	assert_seconds(1.75e-4);
	assert_true(warned("under 0.5 ms"));
}

TEST_WITH(warns_of_idle_resources, set_up, NULL)
{
	struct gw_model_options options = {.utilisation = 0.69};

	run(&options);
	assert_true(warned("70%"));
	options.utilisation = 0.7;
	run(&options);
	assert_false(warned("70%"));
}

TEST_WITH(warns_of_divergence, set_up, NULL)
{
	give(GW_WORK_thread_inst, 0.7821 * 32e9); /* lvmd-krn */
	run(NULL);
	assert_true(warned("diverge"));
	give(GW_WORK_thread_inst, 0.95 * 32e9);
	run(NULL);
	assert_false(warned("diverge"));
	give(GW_WORK_divergent_branches, 0.2);
	run(NULL);
	assert_true(warned("diverge"));
}

TEST_WITH(warns_of_narrow_accesses, set_up, NULL)
{
	give(GW_WORK_narrow_accesses, 0);
	run(NULL);
	assert_false(warned("8-bit"));
	give(GW_WORK_narrow_accesses, 0.5);
	run(NULL);
	assert_true(warned("8-bit"));
}

TEST_WITH(warns_where_the_bandwidth_is_a_data_sheets, set_up, NULL)
{
	gw_device_set(&device, GW_PARAM_b_mem, NAN, GW_METHOD_NONE);
	gw_device_set(&device, GW_PARAM_b_mem_spec, 1e9, GW_METHOD_VENDOR);
	run(NULL);
	assert_seconds(2);
	assert_true(warned("data sheet"));
}

TEST_WITH(what_is_missing_is_named, set_up, NULL)
{
	static const struct {
		enum gw_param param;
		const char *name;
	} params[] = {{GW_PARAM_t_sp, "t_sp"},
		      {GW_PARAM_t_add, "t_add"},
		      {GW_PARAM_t_ldst, "t_ldst"},
		      {GW_PARAM_b_mem, "b_mem"}};
	static const enum gw_work_field fields[] = {
		GW_WORK_inst_executed,   GW_WORK_fp64_inst, GW_WORK_fp32_inst,
		GW_WORK_fp32_fma,        GW_WORK_ldst_inst, GW_WORK_dram_read_bytes,
		GW_WORK_dram_write_bytes};

	for (unsigned i = 0; i < COUNT(params); i++) {
		set_up(state);
		gw_device_set(&device, params[i].param, NAN, GW_METHOD_NONE);
		run(NULL);
		assert_true(isnan(e.seconds));
		assert_non_null(strstr(e.reason, params[i].name));
		assert_int_equal(e.bound, GW_BOUND_UNKNOWN);
	}
	for (unsigned i = 0; i < COUNT(fields); i++) {
		set_up(state);
		work.q[fields[i]].value = NAN;
		run(NULL);
		assert_true(isnan(e.seconds));
		assert_non_null(strstr(e.reason, gw_work_info(fields[i]).name));
	}
}

TEST_WITH(counts_that_contradict_are_refused, set_up, NULL)
{
	give(GW_WORK_fp32_fma, 17e9); /* more than the 16e9 instructions they are part of */
	run(NULL);
	assert_true(isnan(e.seconds) && *e.reason);
	give(GW_WORK_fp32_fma, 16e9);
	give(GW_WORK_ldst_inst, 16.1e9); /* with 16e9 arithmetic ones more than all 32e9 */
	run(NULL);
	assert_true(e.seconds > 0);
	assert_true(warned("exceed all"));
	give(GW_WORK_ldst_inst, 17e9);
	run(NULL);
	assert_true(isnan(e.seconds) && *e.reason);
}

TEST_WITH(roofline_takes_the_slowest_resource, set_up, NULL)
{
	gw_model_find("roofline")->estimate(&device, &launch, &work, NULL, &e);
	assert_seconds(0.5); /* 32e9 operations at 64e9/s; memory 2 ms */
	assert_string_equal(e.binding, "fp32");
	give(GW_WORK_tensor_fp16_flop, 1e12);
	gw_model_find("roofline")->estimate(&device, &launch, &work, NULL, &e);
	assert_true(isnan(e.seconds)); /* operations that no rate is known for */
	assert_non_null(strstr(e.reason, "t_tensor_fp16"));
	gw_device_set(&device, GW_PARAM_t_tensor_fp16, 1e12, GW_METHOD_VENDOR);
	gw_model_find("roofline")->estimate(&device, &launch, &work, NULL, &e);
	assert_seconds(1);
	assert_string_equal(e.binding, "tensor fp16");
}

/* As of 2009: a device of flop/s and B/s alone has an answer, though integers were counted. */
TEST_WITH(roofline_needs_flop_per_second_and_bandwidth_alone, set_up, NULL)
{
	give(GW_WORK_int_inst, 1e9);
	gw_device_clear(&device, "of a table");
	gw_device_set(&device, GW_PARAM_t_sp, 64e9, GW_METHOD_PAPER);
	gw_device_set(&device, GW_PARAM_b_mem_spec, 1e11, GW_METHOD_PAPER);
	gw_model_find("roofline")->estimate(&device, &launch, &work, NULL, &e);
	assert_seconds(0.5);
	assert_int_equal(e.warning_count, 1);
	assert_non_null(strstr(e.warnings[0], "t_int"));
	gw_device_set(&device, GW_PARAM_t_add, 1e9, GW_METHOD_PAPER);
	gw_model_find("roofline")->estimate(&device, &launch, &work, NULL, &e);
	assert_seconds(1);
	assert_int_equal(e.warning_count, 0);
}

TEST_WITH(the_documentation_has_the_table_of_metrics, set_up, NULL)
{
	FILE *f = fopen(GW_DOCS "/internals/models.md", "r");
	char *text = calloc(1, 1 << 20), row[512];

	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	for (unsigned i = 0; i < GW_MS; i++) {
		const struct gw_qrm_metric *m = &gw_qrm_metrics[i];

		snprintf(row, sizeof(row), "| %s | %s | %s | `%s` |", m->symbol, m->nvprof,
			 m->counter, gw_work_info(m->field).name);
		if (!strstr(text, row))
			fail_msg("docs/internals/models.md lacks the row: %s", row);
	}
	free(text);
}

TESTS_MAIN()
