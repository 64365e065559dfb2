#include "cli/launch/file.h"
#include "tests/test.h"

static char error[1024];
static struct launch_file file;

static const struct launch_case *read_one(const char *text)
{
	*error = '\0';
	if (!launch_file_parse(&file, text, strlen(text), "f.json", error, sizeof(error)))
		fail_msg("%s", error);
	return &file.launches[0];
}

static void refuses(const char *text, const char *why)
{
	assert_false(launch_file_parse(&file, text, strlen(text), "f.json", error, sizeof(error)));
	assert_string_equal(error, why);
	assert_null(file.launches);
}

static int release(void **state)
{
	launch_file_free(&file);
	return 0;
}

static double work(const struct launch_case *c, enum gw_work_field field)
{
	return c->work.q[field].value;
}

TEST_WITH(a_whole_launch_is_read, NULL, release)
{
	const struct launch_case *c = read_one(
		"{\"name\": \"label\", \"kernel\": {\"name\": \"k\", \"registers\": 32, "
		"\"static_shared\": 64,"
		" \"local\": 0, \"constant\": 8, \"max_threads\": 512, \"binary_version\": 90},"
		" \"grid\": [10, 20, 2], \"block\": 128, \"cluster\": [2], \"dynamic_shared\": "
		"1024,"
		" \"from_graph\": true, \"work\": {\"fp32_inst\": 5, \"l2_hit_rate\": 0.5},"
		" \"options\": {\"qrm_factors\": 1, \"qrm_int_as_add\": true, \"l1_hit\": 0.25},"
		" \"measured\": {\"A\": 1e-3, \"B\": 2}}");
	struct gw_launch l = launch_case_launch(c);

	assert_string_equal(c->label, "label");
	assert_string_equal(l.kernel->name, "k");
	assert_int_equal(l.kernel->registers, 32);
	assert_int_equal(l.kernel->binary_version, 90);
	assert_int_equal(gw_dim3_count(l.config.grid), 400);
	assert_int_equal(l.config.block.x, 128);
	assert_int_equal(l.config.block.y, 1);
	assert_int_equal(l.config.cluster.x, 2);
	assert_int_equal(l.config.dynamic_shared, 1024);
	assert_true(l.from_graph && c->has_config);
	assert_true(work(c, GW_WORK_fp32_inst) == 5);
	assert_int_equal(c->work.q[GW_WORK_fp32_inst].source, GW_SOURCE_GIVEN);
	assert_int_equal(c->options.qrm_factors, 1);
	assert_true(c->options.qrm_int_as_add && c->options.l1_hit == 0.25);
	assert_int_equal(c->measured_count, 2);
	assert_string_equal(c->measured[1].device, "B");
	assert_true(c->measured[0].seconds == 1e-3);
}

TEST_WITH(what_is_not_given_is_unknown, NULL, release)
{
	const struct launch_case *c = read_one("{\"name\": \"a\"}");

	for (unsigned f = 0; f < GW_WORK_FIELDS; f++)
		assert_true(isnan(c->work.q[f].value) && c->work.q[f].source == GW_SOURCE_NONE);
	assert_int_equal(c->kernel.registers, UINT32_MAX);
	assert_int_equal(c->kernel.max_threads, UINT32_MAX);
	assert_false(c->has_config);
	assert_true(c->options.l1_hit < 0 && c->options.l2_hit < 0);
	assert_string_equal(c->kernel.name, "a");
}

TEST_WITH(metrics_of_002_are_per_iteration, NULL, release)
{
	const struct launch_case *c =
		read_one("{\"name\": \"a\", \"iterations\": 4, \"work\": {\"M_fp64\": 10, "
			 "\"M_tran-r\": 100, \"int_inst\": 7}}");

	assert_true(work(c, GW_WORK_fp64_inst) == 40);
	assert_true(work(c, GW_WORK_dram_read_bytes) == 12800);
	assert_true(work(c, GW_WORK_int_inst) == 7); /* a field's own name is a total */
}

TEST_WITH(a_field_tells_its_source, NULL, release)
{
	const struct launch_case *c =
		read_one("{\"name\": \"a\", \"work\": {\"fp32_inst\": {\"value\": 3, \"source\": "
			 "\"counted\","
			 " \"confidence\": 0.5, \"from\": \"table 1\"}, \"fp32_fma\": null}}");

	assert_int_equal(c->work.q[GW_WORK_fp32_inst].source, GW_SOURCE_COUNTED);
	assert_true(c->work.q[GW_WORK_fp32_inst].confidence == 0.5f);
	assert_string_equal(c->field_source[GW_WORK_fp32_inst], "table 1");
	assert_true(isnan(work(c, GW_WORK_fp32_fma)));
}

/* Konstantinidis 2017, table 5.16: srad-c1. */
TEST_WITH(parameters_of_002_become_work, NULL, release)
{
	const struct launch_case *c = read_one(
		"{\"name\": \"a\", \"parameters\": {\"K_type\": \"fp32\", \"W_comp\": 847249408,"
		" \"W_traf\": 204695744, \"E_mix\": 81.45, \"D_ops\": 24.44, \"D_ldst\": 8.70}}");
	double fp = work(c, GW_WORK_fp32_inst), all = 32 * work(c, GW_WORK_inst_executed);

	assert_true(fabs(fp + work(c, GW_WORK_fp32_fma) - 847249408) < 1);
	assert_true(fabs((fp + work(c, GW_WORK_fp32_fma)) / (2 * fp) - 0.8145) < 1e-12);
	assert_true(fabs(fp / all - 0.2444) < 1e-12);
	assert_true(fabs(work(c, GW_WORK_ldst_inst) / all - 0.0870) < 1e-12);
	assert_true(work(c, GW_WORK_fp64_inst) == 0);
	assert_true(c->options.given_traffic == 204695744);
	assert_true(isnan(
		work(c, GW_WORK_dram_read_bytes))); /* read and written are not distinguished */
}

TEST_WITH(intervals_take_their_latency_from_code, NULL, release)
{
	/* Koppelman: the simple loop, 410 cycles */
	const struct launch_case *c =
		read_one("{\"name\": \"a\", \"intervals\": [{\"name\": \"loop\", \"data_bytes\": "
			 "8, \"code\": ["
			 "{\"latency\": 400, \"occupies\": 4, \"result\": 2, \"source\": [2]},"
			 "{\"latency\": 6, \"result\": 7, \"source\": [2]},"
			 "{\"occupies\": 4, \"source\": [4, 7]}]}]}");

	assert_int_equal(c->interval_count, 1);
	assert_string_equal(c->intervals[0].name, "loop");
	assert_true(c->intervals[0].latency == 410);
	assert_true(c->intervals[0].data_bytes == 8);
	assert_true(isnan(c->intervals[0].times));
}

TEST_WITH(one_launch_a_list_or_a_document, NULL, release)
{
	read_one("{\"name\": \"a\"}");
	assert_int_equal(file.count, 1);
	launch_file_free(&file);
	read_one("[{\"name\": \"a\"}, {\"kernel\": \"b\"}]");
	assert_int_equal(file.count, 2);
	assert_string_equal(file.launches[1].label, "b");
	launch_file_free(&file);
	read_one("{\"title\": \"t\", \"source\": \"s\", \"launches\": [{\"name\": \"a\"}]}");
	assert_string_equal(file.title, "t");
	assert_string_equal(file.source, "s");
}

TEST(an_unknown_key_names_the_nearest)
{
	refuses("[{\"name\": \"a\",\n\"gird\": 1}]",
		"f.json:2: unknown key \"gird\" in a launch; did you mean \"grid\"?");
	refuses("{\"name\": \"a\", \"work\": {\n\n\"M_tran_w\": 1}}",
		"f.json:3: unknown key \"M_tran_w\" in \"work\"; did you mean \"M_tran-w\" or "
		"\"M_tran-r\"?");
	refuses("{\"name\": \"a\", \"kernel\": {\"regs\": 1}}",
		"f.json:1: unknown key \"regs\" in \"kernel\"; did you mean \"registers\"?");
	refuses("{\"name\": \"a\", \"options\": {\"l1hit\": 1}}",
		"f.json:1: unknown key \"l1hit\" in \"options\"; did you mean \"l1_hit\" or "
		"\"l2_hit\"?");
}

TEST(a_message_cannot_drive_a_terminal)
{
	refuses("{\"name\": \"a\", \"\\u001b[31m\\n\": 1}",
		"f.json:1: unknown key \"?[31m?\" in a launch; did you mean \"name\", \"kernel\", "
		"\"grid\", \"block\", \"cluster\", \"dynamic_shared\", \"from_graph\", "
		"\"options\", "
		"\"measured\", \"intervals\", \"iterations\", \"work\" or \"parameters\"?");
}

TEST(values_out_of_range_are_refused)
{
	refuses("{\"name\": \"a\", \"work\": {\"fp32_inst\": -1}}",
		"f.json:1: \"fp32_inst\" is -1; it must lie between 0 and 1e+24");
	refuses("{\"name\": \"a\", \"work\": {\"l1_hit_rate\": 1.5}}",
		"f.json:1: \"l1_hit_rate\" is 1.5; it must lie between 0 and 1");
	refuses("{\"name\": \"a\", \"grid\": 1, \"block\": 2048}",
		"f.json:1: \"block\" is 2048; it must be a whole number between 1 and 1024");
	refuses("{\"name\": \"a\", \"grid\": 1, \"block\": [64, 64]}",
		"f.json:1: \"block\" holds 4096; no GPU takes more than 1024");
	refuses("{\"name\": \"a\", \"grid\": 1.5, \"block\": 1}",
		"f.json:1: \"grid\" is 1.5; it must be a whole number between 1 and 2147483647");
	refuses("{\"name\": \"a\", \"measured\": {\"X\": 0}}",
		"f.json:1: \"X\" is 0; it must lie between 1e-12 and 1e+12");
}

TEST(contradictions_are_refused)
{
	refuses("{\"name\": \"a\", \"grid\": 1}", "f.json:1: \"grid\" is given without \"block\"");
	refuses("{\"name\": \"a\", \"work\": {\"M_inst\": 1, \"inst_executed\": 1}}",
		"f.json:1: \"inst_executed\" gives inst_executed a second time");
	refuses("{\"name\": \"a\", \"iterations\": 4}",
		"f.json:1: \"iterations\" multiplies the M_* metrics of \"work\", which is "
		"missing");
	refuses("{\"name\": \"a\", \"intervals\": [{\"data_bytes\": 8}]}",
		"f.json:1: an interval needs \"latency\" or \"code\", above 0 cycles");
	refuses("{\"grid\": 1, \"block\": 1}",
		"f.json:1: a launch needs a \"name\" or a \"kernel\"");
	refuses("[]", "f.json:1: no launch is described");
	refuses("3", "f.json:1: a launch is an object, or an array of objects; this is a number");
}

TESTS_MAIN()
