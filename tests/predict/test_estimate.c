/* Estimates of described launches, and the nearest name to an unknown one. */
#include "cli/common/device_set.h"
#include "cli/common/estimate.h"
#include "cli/common/nearest.h"
#include "tests/test.h"

/* A model whose answer depends on the configuration, and one whose warning alone does. */
static void by_grid(const struct gw_device *device, const struct gw_launch *launch,
		    const struct gw_work *work, const struct gw_model_options *options,
		    struct gw_estimate *out)
{
	(void)device;
	(void)work;
	(void)options;
	gw_estimate_clear(out);
	out->seconds = (double)launch->config.grid.x;
}

static void by_nothing(const struct gw_device *device, const struct gw_launch *launch,
		       const struct gw_work *work, const struct gw_model_options *options,
		       struct gw_estimate *out)
{
	(void)device;
	(void)work;
	(void)options;
	gw_estimate_clear(out);
	out->seconds = 2;
	gw_estimate_warn(out, "always");
	if (launch->config.grid.x < 10)
		gw_estimate_warn(out, "few blocks");
}

static const struct gw_model depends = {.name = "depends", .estimate = by_grid};
static const struct gw_model steady = {.name = "steady", .estimate = by_nothing};
static struct launch_case item = {.label = "a", .kernel = {.name = "a"}};
static struct gw_device device;

TEST(an_answer_that_needs_a_missing_configuration_is_unknown)
{
	struct gw_estimate e;

	item.has_config = false;
	estimate_launch(&depends, &device, &item, &e);
	assert_true(isnan(e.seconds));
	assert_string_equal(e.reason, "not known: grid and block");
}

TEST(an_answer_that_needs_no_configuration_stands)
{
	struct gw_estimate e;

	item.has_config = false;
	estimate_launch(&steady, &device, &item, &e);
	assert_true(e.seconds == 2);
	assert_int_equal(e.warning_count, 1);
	assert_string_equal(e.warnings[0], "always");
}

TEST(a_given_configuration_is_used)
{
	struct gw_estimate e;

	item.has_config = true;
	item.config.grid = item.config.block = (struct gw_dim3){7, 1, 1};
	estimate_launch(&depends, &device, &item, &e);
	assert_true(e.seconds == 7);
}

TEST(times_have_the_digits_of_the_papers)
{
	struct estimate_text t;

	assert_string_equal(estimate_time(&t, 34.803e-3), "34.803 ms");
	assert_string_equal(estimate_time(&t, 540.281e-6), "540.28 µs");
	assert_string_equal(estimate_time(&t, 2), "2.000 s");
	assert_string_equal(estimate_time(&t, NAN), "unknown");
	assert_string_equal(estimate_percent(&t, -0.0014), "-0.14%");
	assert_string_equal(estimate_percent(&t, NAN), "-");
}

TEST(values_have_prefixes_only_where_the_unit_takes_them)
{
	struct estimate_text t;

	assert_string_equal(estimate_value(&t, 28.924e9, "op/s"), "28.924 Gop/s");
	assert_string_equal(estimate_value(&t, 0.3, "op/B"), "0.3 op/B");
	assert_string_equal(estimate_value(&t, 410, "cycle"), "410 cycle");
	assert_string_equal(estimate_value(&t, 0.57692, "1"), "0.57692");
	assert_string_equal(estimate_value(&t, 1048576, "thread"), "1048576 thread");
	assert_string_equal(estimate_value(&t, NAN, "s"), "unknown");
}

TEST(a_measured_time_is_found_by_any_name_of_the_device)
{
	static struct gw_profile p;
	struct launch_measured m = {"gtx 660", 0.5};
	struct launch_case c = {.measured_count = 1, .measured = &m};

	gw_profile_clear(&p, "NVIDIA GeForce GTX 660");
	assert_true(isnan(device_measured(&c, &p)));
	p.alias_count = 1;
	strcpy(p.aliases[0], "GTX-660");
	assert_true(device_measured(&c, &p) == 0.5);
	assert_string_equal(device_short_name(&p), "GTX-660");
}

/* Koppelman: 48.6 threads of an SM saturate the GTX 1080's memory, 268.8 its dispatch; 5,376 = 20 x
 * 268.8. */
TEST(an_interval_finds_the_scarcest_resource)
{
	struct launch_interval i = {"mxv", 672, 128, NAN, 256, 32, 1e6, 2000};
	struct interval_answer a;

	gw_device_clear(&device, "GTX 1080");
	gw_device_set(&device, GW_PARAM_sm_clock, 1.73e9, GW_METHOD_PAPER);
	gw_device_set(&device, GW_PARAM_sm_count, 20, GW_METHOD_PAPER);
	gw_device_set(&device, GW_PARAM_b_mem_spec, 320.3e9, GW_METHOD_PAPER);
	gw_device_set(&device, GW_PARAM_t_sp, 2 * 128 * 20 * 1.73e9, GW_METHOD_PAPER);
	gw_device_set(&device, GW_PARAM_t_ldst, 64 * 20 * 1.73e9, GW_METHOD_PAPER);
	interval_analyse(&i, &device, &a);
	assert_string_equal(a.scarcest, "dram");
	assert_true(fabs(a.per_sm - 48.6) < 0.05);
	assert_true(fabs(a.dispatch - 20 * 268.8) < 0.05);
	assert_true(isnan(a.l2));
	/* P is above what saturates, so the memory's time stands: 1e6 x 128 B at 320.3 GB/s. */
	assert_true(fabs(a.seconds - 1e6 * 128 / 320.3e9) < 1e-9);
	i.active = NAN;
	interval_analyse(&i, &device, &a);
	assert_true(isnan(a.seconds));
}

static const char *const words[] = {"fp32_inst", "fp64_inst", "ldst_inst", "grid", "M_tran-r"};
static char out[256];

static const char *nearest(const char *word, size_t all)
{
	return gw_nearest(out, sizeof(out), word, words, 5, all);
}

TEST(a_slip_finds_its_word)
{
	assert_string_equal(nearest("gird", 0), "\"grid\"");
	assert_string_equal(nearest("GRID", 0), "\"grid\"");
	assert_string_equal(nearest("m_tran_r", 0), "\"M_tran-r\"");
	assert_string_equal(nearest("gridsize", 0), "\"grid\"");
}

TEST(the_nearest_stands_first)
{
	assert_string_equal(nearest("fp64_ins", 0), "\"fp64_inst\" or \"fp32_inst\"");
}

TEST(a_stranger_gets_all_words_or_none)
{
	assert_string_equal(nearest("zzzzzzzzzzzz", 4), "");
	assert_string_equal(
		nearest("zzzzzzzzzzzz", 5),
		"\"fp32_inst\", \"fp64_inst\", \"ldst_inst\", \"grid\" or \"M_tran-r\"");
}

TEST(a_list_joins_with_and)
{
	assert_string_equal(gw_words_join(out, sizeof(out), words, 2),
			    "\"fp32_inst\" and \"fp64_inst\"");
	assert_string_equal(gw_words_join(out, sizeof(out), words, 0), "");
}

TEST(a_small_buffer_is_not_overrun)
{
	char small[12];

	assert_string_equal(gw_words_join(small, sizeof(small), words, 5), "\"fp32_inst\"");
}

TESTS_MAIN()
