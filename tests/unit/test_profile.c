/* Device profiles: what is read, what is refused and where. */

#include <dirent.h>

#include "predictor/profile/profile.h"
#include "predictor/profile/json.h"
#include "tests/test.h"

static struct gw_profile profile;
static struct gw_profile_error error;

static int parse(const char *text)
{
	return gw_profile_parse(text, strlen(text), "f.json", &profile, &error);
}

/* A profile whose "params" has one row. */
static const char *with_row(const char *row)
{
	static char text[65536];

	snprintf(text, sizeof(text),
		 "{\n\"gpuwatch_profile\": 1,\n\"name\": \"G\",\n\"params\": {\n%s\n}}", row);
	return text;
}

static void assert_refused(const char *text, const char *place, const char *what)
{
	assert_int_equal(parse(text), -1);
	if (strncmp(error.text, place, strlen(place)) || !strstr(error.text, what))
		fail_msg("expected %s ... %s, got: %s", place, what, error.text);
	assert_string_equal(profile.device.name, "");
}

TEST(reads_values_in_the_units_of_the_list)
{
	assert_int_equal(
		parse(with_row("\"t_sp\": {\"value\": 1.5, \"unit\": \"Tflop/s\", \"method\": "
			       "\"measured\", \"spread\": 2, \"samples\": 7},\n\"l2_size\": "
			       "{\"value\": 2, \"unit\": \"MiB\", \"method\": \"paper\", "
			       "\"source\": \"table 4\"},\n\"launch_floor\": {\"value\": 2.5, "
			       "\"unit\": \"us\", \"method\": \"measured\"}")),
		0);
	assert_string_equal(profile.device.name, "G");
	assert_true(gw_param(&profile.device, GW_PARAM_t_sp) == 1.5e12);
	assert_true(profile.device.param[GW_PARAM_t_sp].spread == 2e12);
	assert_int_equal(profile.device.param[GW_PARAM_t_sp].samples, 7);
	assert_int_equal(profile.device.param[GW_PARAM_t_sp].method, GW_METHOD_MEASURED);
	assert_true(gw_param(&profile.device, GW_PARAM_l2_size) == 2097152);
	assert_string_equal(profile.source[GW_PARAM_l2_size], "table 4");
	assert_true(fabs(gw_param(&profile.device, GW_PARAM_launch_floor) - 2.5e-6) < 1e-20);
	assert_true(isnan(gw_param(&profile.device, GW_PARAM_t_dp)));
}

TEST(reads_curves)
{
	assert_int_equal(
		parse("{\"gpuwatch_profile\": 1, \"name\": \"G\", \"curves\": {\"l2_read_bw\": "
		      "{\"unit_x\": \"MiB\", \"unit_y\": \"GB/s\", \"method\": \"measured\", "
		      "\"points\": [[1, 10], [2, 5]]}}}"),
		0);
	assert_true(gw_curve_at(&profile.device, GW_CURVE_l2_read_bw, 1.5 * 1048576) == 7.5e9);
}

TEST(every_unit_of_the_list_is_known_and_has_a_range)
{
	double low, high;

	for (unsigned i = 0; i < GW_PARAMS; i++)
		assert_true(gw_unit_scale(gw_param_info(i).unit, gw_param_info(i).unit, &low,
					  &high) == 1 &&
			    low < high);
	for (unsigned i = 0; i < GW_CURVES; i++) {
		assert_true(gw_unit_scale(gw_curve_info(i).unit, gw_curve_info(i).unit, &low,
					  &high) == 1);
		assert_true(gw_unit_scale(gw_curve_unit_x(i), gw_curve_unit_x(i), &low, &high) ==
			    1);
	}
}

TEST(prefixes_are_those_of_the_unit)
{
	double low, high;

	assert_true(gw_unit_scale("B/s", "TB/s", &low, &high) == 1e12);
	assert_true(gw_unit_scale("B", "GiB", &low, &high) == 1073741824);
	assert_true(gw_unit_scale("B", "kB", &low, &high) == 1000);
	assert_true(isnan(gw_unit_scale("B/s", "GiB/s", &low, &high)));
	assert_true(isnan(gw_unit_scale("cycle", "kcycle", &low, &high)));
	assert_true(isnan(gw_unit_scale("s", "ks", &low, &high)));
	assert_true(isnan(gw_unit_scale("flop/s", "GFLOPS", &low, &high)));
	assert_true(isnan(gw_unit_scale("B/s", "", &low, &high)));
}

TEST(refuses_what_is_not_json_and_names_the_line)
{
	assert_refused("", "f.json:1: ", "docs/internals/profile.md");
	assert_refused("{\n\"gpuwatch_profile\": 1,\n\"name\": }",
		       "f.json:3: ", "docs/internals/profile.md");
	assert_refused("{\"gpuwatch_profile\": 1} x", "f.json:1: ", "end of file expected");
	assert_refused("[]", "f.json:1: ", "not a device profile");
	assert_refused("{\"name\": \"\xff\"}", "f.json:1: ", "");
	assert_refused("{\"name\": \"a\\u0000b\"}", "f.json:1: ", "");
}

TEST(refuses_duplicate_keys)
{
	assert_refused("{\"gpuwatch_profile\": 1,\n\"name\": \"a\",\n\"name\": \"b\"}",
		       "f.json:3: ", "duplicate");
}

TEST(refuses_other_formats)
{
	assert_refused("{\n\"gpuwatch_profile\": 2, \"name\": \"a\"}", "f.json:2: ", "format 2");
	assert_refused("{\"gpuwatch_profile\": \"1\"}", "f.json:1: ", "not a device profile");
}

TEST(refuses_unknown_names)
{
	assert_refused(with_row("\"t_sq\": {}"), "f.json:5: ", "'t_sq' is not one of the params");
	assert_refused("{\"gpuwatch_profile\": 1, \"name\": \"a\",\n\"extra\": 1}",
		       "f.json:2: ", "unknown key 'extra'");
	assert_refused(with_row("\"t_sp\": {\"value\": 1, \"unit\": \"flop/s\",\n\"method\": "
				"\"measured\",\n\"colour\": 1}"),
		       "f.json:7: ", "unknown key 'colour'");
	assert_refused("{\"gpuwatch_profile\": 1, \"name\": \"a\", \"provenance\": {\n\"who\": "
		       "\"x\"}}",
		       "f.json:2: ", "unknown key 'who'");
}

TEST(refuses_unknown_units)
{
	assert_refused(with_row("\"t_sp\": {\"value\": 1,\n\"unit\": \"GFLOPS\", \"method\": "
				"\"measured\"}"),
		       "f.json:6: ", "'GFLOPS' of 't_sp'");
	assert_refused(with_row("\"t_sp\": {\"value\": 1, \"method\": \"measured\"}"),
		       "f.json:5: ", "needs \"unit\"");
}

TEST(refuses_values_out_of_range)
{
	assert_refused(with_row("\"b_mem\": {\"value\": 1e12, \"unit\": \"TB/s\", \"method\": "
				"\"measured\"}"),
		       "f.json:5: ", "out of range");
	assert_refused(with_row("\"b_mem\": {\"value\": 0, \"unit\": \"B/s\", \"method\": "
				"\"measured\"}"),
		       "f.json:5: ", "out of range");
	assert_refused(with_row("\"lat_l1\": {\"value\": -1, \"unit\": \"cycle\", \"method\": "
				"\"measured\"}"),
		       "f.json:5: ", "out of range");
	assert_refused(with_row("\"lat_l1\": {\"value\": 1e999, \"unit\": \"cycle\", \"method\": "
				"\"measured\"}"),
		       "f.json:5: ", "overflow");
	assert_refused(with_row("\"lat_l1\": {\"value\": null, \"unit\": \"cycle\", \"method\": "
				"\"measured\"}"),
		       "f.json:5: ", "leave out what is not known");
	assert_refused(with_row("\"lat_l1\": {\"value\": 1, \"unit\": \"cycle\", \"method\": "
				"\"measured\", \"samples\": -1}"),
		       "f.json:5: ", "whole number");
	assert_refused(with_row("\"lat_l1\": {\"value\": 1, \"unit\": \"cycle\", \"method\": "
				"\"measured\", \"spread\": -1}"),
		       "f.json:5: ", "out of range");
}

TEST(refuses_values_of_unknown_origin)
{
	assert_refused(with_row("\"lat_l1\": {\"value\": 1, \"unit\": \"cycle\"}"),
		       "f.json:5: ", "needs \"method\"");
	assert_refused(with_row("\"lat_l1\": {\"value\": 1, \"unit\": \"cycle\", \"method\": "
				"\"guessed\"}"),
		       "f.json:5: ", "needs \"method\"");
	assert_refused(with_row("\"lat_l1\": {\"value\": 1, \"unit\": \"cycle\", \"method\": "
				"\"vendor\"}"),
		       "f.json:5: ", "needs \"source\"");
}

TEST(refuses_curves_that_are_no_functions)
{
	static const char *const points[][2] = {
		{"[]", "1 to 64 of [x, y]"},          {"[[1, 2], [1, 3]]", "x must rise"},
		{"[[1, 2, 3, 4]]", "not [x, y]"},     {"[[1]]", "not [x, y]"},
		{"[[1, \"2\"]]", "must be a number"}, {"[[1, 2, -3]]", "out of range"},
		{"{}", "1 to 64 of [x, y]"},
	};
	char text[512];

	for (unsigned i = 0; i < COUNT(points); i++) {
		snprintf(text, sizeof(text),
			 "{\"gpuwatch_profile\": 1, \"name\": \"a\", \"curves\": {\n"
			 "\"l2_read_bw\": {\"unit_x\": \"B\", \"unit_y\": \"B/s\", \"method\": "
			 "\"measured\",\n\"points\": %s}}}",
			 points[i][0]);
		assert_refused(text, "f.json:3: ", points[i][1]);
	}
}

/* A profile that a calibration wrote, with @p rest after its groups. */
static const char *calibrated(const char *rest)
{
	static char text[4096];

	snprintf(text, sizeof(text),
		 "{\n\"gpuwatch_profile\": 1, \"name\": \"G\",\n\"groups\": {\"clock\": {\"date\": "
		 "\"2026-11-21\", \"sm_clock\": 1980000000, \"throttle\": \"none\"}},\n%s}",
		 rest);
	return text;
}

TEST(reads_what_a_calibration_adds)
{
	const struct gw_curve *c = &profile.device.curve[GW_CURVE_l2_read_bw];

	assert_int_equal(
		parse(calibrated(
			"\"params\": {\"lat_clock\": {\"value\": 2, \"unit\": \"cycle\", "
			"\"method\": \"measured\", \"how\": \"two reads\", \"group\": "
			"\"clock\"}}, \"curves\": {\"l2_read_bw\": {\"unit_x\": \"kB\", "
			"\"unit_y\": \"GB/s\", \"method\": \"measured\", \"points\": "
			"[[1, 10, 2], [2, 5]], \"fit\": {\"slope\": -5, \"intercept\": 15, "
			"\"r2\": 1, \"low\": 1, \"high\": 2}}}, \"unknown\": "
			"{\"lat_l1\": {\"why\": \"too wide\", \"group\": \"clock\"}}")),
		0);
	assert_int_equal(profile.group_count, 1);
	assert_true(profile.groups[0].sm_clock == 1.98e9);
	assert_true(isnan(profile.groups[0].power));
	assert_string_equal(profile.groups[0].throttle, "none");
	assert_string_equal(profile.how[GW_PARAM_lat_clock], "two reads");
	assert_int_equal(profile.group[GW_PARAM_lat_clock], 1);
	assert_true(c->spread[0] == 2e9 && isnan(c->spread[1]));
	assert_true(c->fit.slope == -5e6 && c->fit.intercept == 15e9 && c->fit.r2 == 1);
	assert_true(c->fit.low == 1000 && c->fit.high == 2000);
	assert_true(isnan(gw_param(&profile.device, GW_PARAM_lat_l1)));
	assert_string_equal(profile.how[GW_PARAM_lat_l1], "too wide");
	assert_int_equal(profile.group[GW_PARAM_lat_l1], 1);
}

TEST(refuses_what_no_calibration_writes)
{
	static const char *const rests[][2] = {
		{"\"params\": {\"lat_l1\": {\"value\": 2, \"unit\": \"cycle\", \"method\": "
		 "\"measured\", \"group\": \"other\"}}",
		 "one of \"groups\""},
		{"\"unknown\": {\"lat_l9\": {\"why\": \"\"}}", "no name that is unknown"},
		{"\"unknown\": {\"lat_l1\": {\"reason\": \"\"}}", "unknown key 'reason'"},
		{"\"unknown\": {\"lat_l1\": {\"why\": 3}}", "must be a string"},
		{"\"unknown\": []", "must be an object"},
		{"\"params\": {\"lat_l1\": {\"value\": 2, \"unit\": \"cycle\", \"method\": "
		 "\"measured\"}}, \"unknown\": {\"lat_l1\": {\"why\": \"\"}}",
		 "no name that is unknown"},
	};

	for (unsigned i = 0; i < COUNT(rests); i++)
		assert_refused(calibrated(rests[i][0]), "f.json:4: ", rests[i][1]);
	assert_refused("{\"gpuwatch_profile\": 1, \"name\": \"G\",\n\"groups\": {\"a\": {\n"
		       "\"sm_clock\": -1}}}",
		       "f.json:3: ", "out of range");
	assert_refused("{\"gpuwatch_profile\": 1, \"name\": \"G\",\n\"groups\": {\"a\": {\n"
		       "\"volts\": 1}}}",
		       "f.json:3: ", "unknown key 'volts'");
	assert_refused("{\"gpuwatch_profile\": 1, \"name\": \"G\",\n\"groups\": {\"\": {}}}",
		       "f.json:2: ", "without a name");
	assert_refused("{\"gpuwatch_profile\": 1, \"name\": \"G\",\n\"groups\": 1}",
		       "f.json:2: ", "must be an object");
}

TEST(refuses_lines_that_are_not_whole)
{
	static const char *const fits[][2] = {
		{"1", "must be an object"},
		{"{\"slope\": 1}", "has slope, intercept"},
		{"{\"slope\": 1, \"intercept\": 1, \"r2\": 2, \"low\": 1, \"high\": 2}",
		 "out of range"},
		{"{\"slope\": 1, \"intercept\": 1, \"r2\": 1, \"low\": 2, \"high\": 1}",
		 "out of range"},
		{"{\"slope\": null, \"intercept\": 1, \"r2\": 1, \"low\": 1, \"high\": 2}",
		 "must be a number"},
	};
	char text[600];

	for (unsigned i = 0; i < COUNT(fits); i++) {
		snprintf(text, sizeof(text),
			 "{\"gpuwatch_profile\": 1, \"name\": \"a\", \"curves\": {\n"
			 "\"l2_read_bw\": {\"unit_x\": \"B\", \"unit_y\": \"B/s\", \"method\": "
			 "\"measured\", \"points\": [[1, 2]],\n\"fit\": %s}}}",
			 fits[i][0]);
		assert_refused(text, "f.json:3: ", fits[i][1]);
	}
}

TEST(more_groups_than_there_is_room_for_are_refused)
{
	char text[4096];
	size_t n;

	n = (size_t)snprintf(text, sizeof(text),
			     "{\"gpuwatch_profile\": 1, \"name\": \"a\", \"groups\": {");
	for (unsigned i = 0; i <= GW_PROFILE_GROUPS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\"g%u\": {}", i ? "," : "", i);
	snprintf(text + n, sizeof(text) - n, "}}");
	assert_refused(text, "f.json:1: ", "more than 32 groups");
}

TEST(refuses_long_and_unprintable_text)
{
	char name[300], text[400];

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	snprintf(text, sizeof(text), "{\"gpuwatch_profile\": 1, \"name\": \"%s\"}", name);
	assert_refused(text, "f.json:1: ", "longer than 95 bytes");
	assert_refused("{\"gpuwatch_profile\": 1, \"name\": \"a\\u001b[2J\"}",
		       "f.json:1: ", "control character");
}

TEST(messages_never_carry_control_characters)
{
	assert_int_equal(parse(with_row("\"a\\u001b[2J\\u0007\": {}")), -1);
	for (const char *c = error.text; *c; c++)
		assert_true((unsigned char)*c >= ' ');
}

TEST(refuses_files_without_end)
{
	struct gw_profile_error e;

	assert_int_equal(gw_profile_read("/dev/zero", &profile, &e), -1);
	assert_non_null(strstr(e.text, "not a regular file"));
	assert_int_equal(gw_profile_read("/nonexistent/x.json", &profile, &e), -1);
	assert_non_null(strstr(e.text, "/nonexistent/x.json"));
}

TEST(refuses_files_that_are_too_long)
{
	char *text = malloc(GW_PROFILE_BYTES + 1);

	assert_non_null(text);
	memset(text, ' ', GW_PROFILE_BYTES + 1);
	assert_int_equal(gw_profile_parse(text, GW_PROFILE_BYTES + 1, "f", &profile, &error), -1);
	assert_non_null(strstr(error.text, "longer than"));
	free(text);
}

TEST(deep_nesting_is_refused_not_overflowed)
{
	char *text = malloc(200001);

	assert_non_null(text);
	memset(text, '[', 200000);
	text[200000] = '\0';
	assert_int_equal(parse(text), -1);
	free(text);
}

/* A digit transposed in a data sheet's numbers would break what ties them together. */
TEST(vendors_peaks_agree_with_their_lanes_and_clocks)
{
	DIR *folder = opendir(GW_PROFILES);
	struct dirent *entry;
	unsigned count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		const struct gw_device *d = &profile.device;
		double peak;
		char path[4096];

		if (!strstr(entry->d_name, ".json"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", GW_PROFILES, entry->d_name);
		assert_int_equal(gw_profile_read(path, &profile, &error), 0);
		peak = 2 * gw_param(d, GW_PARAM_sm_count) *
		       gw_param(d, GW_PARAM_fp32_lanes_per_sm) * gw_param(d, GW_PARAM_sm_clock);
		if (d->param[GW_PARAM_t_sp].method != GW_METHOD_VENDOR || isnan(peak))
			continue;
		if (!(fabs(gw_param(d, GW_PARAM_t_sp) / peak - 1) < 0.01))
			fail_msg("%s: t_sp %g, lanes and clock %g", entry->d_name,
				 gw_param(d, GW_PARAM_t_sp), peak);
		count++;
	}
	closedir(folder);
	assert_true(count >= 12);
}

static char *read_whole(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	assert_non_null(f);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
	fclose(f);
	return text;
}

TEST(the_documentations_example_reads)
{
	char *text = read_whole(GW_DOCS "/internals/profile.md");
	char *begin = strstr(text, "```json\n"), *end = begin ? strstr(begin + 8, "```") : NULL;

	assert_non_null(end);
	*end = '\0';
	if (parse(begin + 8))
		fail_msg("%s", error.text);
	assert_string_equal(profile.device.name, "NVIDIA H200");
	free(text);
}

TESTS_MAIN()
