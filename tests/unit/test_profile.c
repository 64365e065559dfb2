/* SPDX-License-Identifier: Apache-2.0 */
/* Device profiles: what is read, what is refused and where, and that writing loses nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/profile.h"
#include "predictor/profile_json.h"

static struct gw_profile profile, other;
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

static void reads_values_in_the_units_of_the_list(void **state)
{
	(void)state;
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

static void reads_curves(void **state)
{
	(void)state;
	assert_int_equal(
	        parse("{\"gpuwatch_profile\": 1, \"name\": \"G\", \"curves\": {\"l2_read_bw\": "
	              "{\"unit_x\": \"MiB\", \"unit_y\": \"GB/s\", \"method\": \"measured\", "
	              "\"points\": [[1, 10], [2, 5]]}}}"),
	        0);
	assert_true(gw_curve_at(&profile.device, GW_CURVE_l2_read_bw, 1.5 * 1048576) == 7.5e9);
}

static void every_unit_of_the_list_is_known_and_has_a_range(void **state)
{
	double low, high;

	(void)state;
	for (unsigned i = 0; i < GW_PARAMS; i++)
		assert_true(gw_unit_scale(gw_param_info(i)->unit, gw_param_info(i)->unit, &low,
		                          &high) == 1 &&
		            low < high);
	for (unsigned i = 0; i < GW_CURVES; i++) {
		assert_true(gw_unit_scale(gw_curve_info(i)->unit, gw_curve_info(i)->unit, &low,
		                          &high) == 1);
		assert_true(gw_unit_scale(gw_curve_unit_x(i), gw_curve_unit_x(i), &low, &high) ==
		            1);
	}
}

static void prefixes_are_those_of_the_unit(void **state)
{
	double low, high;

	(void)state;
	assert_true(gw_unit_scale("B/s", "TB/s", &low, &high) == 1e12);
	assert_true(gw_unit_scale("B", "GiB", &low, &high) == 1073741824);
	assert_true(gw_unit_scale("B", "kB", &low, &high) == 1000);
	assert_true(isnan(gw_unit_scale("B/s", "GiB/s", &low, &high)));
	assert_true(isnan(gw_unit_scale("cycle", "kcycle", &low, &high)));
	assert_true(isnan(gw_unit_scale("s", "ks", &low, &high)));
	assert_true(isnan(gw_unit_scale("flop/s", "GFLOPS", &low, &high)));
	assert_true(isnan(gw_unit_scale("B/s", "", &low, &high)));
}

static void refuses_what_is_not_json_and_names_the_line(void **state)
{
	(void)state;
	assert_refused("", "f.json:1: ", "docs/profile.md");
	assert_refused("{\n\"gpuwatch_profile\": 1,\n\"name\": }", "f.json:3: ", "docs/profile.md");
	assert_refused("{\"gpuwatch_profile\": 1} x", "f.json:1: ", "end of file expected");
	assert_refused("[]", "f.json:1: ", "not a device profile");
	assert_refused("{\"name\": \"\xff\"}", "f.json:1: ", "");
	assert_refused("{\"name\": \"a\\u0000b\"}", "f.json:1: ", "");
}

static void refuses_duplicate_keys(void **state)
{
	(void)state;
	assert_refused("{\"gpuwatch_profile\": 1,\n\"name\": \"a\",\n\"name\": \"b\"}",
	               "f.json:3: ", "duplicate");
}

static void refuses_other_formats(void **state)
{
	(void)state;
	assert_refused("{\n\"gpuwatch_profile\": 2, \"name\": \"a\"}", "f.json:2: ", "format 2");
	assert_refused("{\"gpuwatch_profile\": \"1\"}", "f.json:1: ", "not a device profile");
}

static void refuses_unknown_names(void **state)
{
	(void)state;
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

static void refuses_unknown_units(void **state)
{
	(void)state;
	assert_refused(with_row("\"t_sp\": {\"value\": 1,\n\"unit\": \"GFLOPS\", \"method\": "
	                        "\"measured\"}"),
	               "f.json:6: ", "'GFLOPS' of 't_sp'");
	assert_refused(with_row("\"t_sp\": {\"value\": 1, \"method\": \"measured\"}"),
	               "f.json:5: ", "needs \"unit\"");
}

static void refuses_values_out_of_range(void **state)
{
	(void)state;
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

static void refuses_values_of_unknown_origin(void **state)
{
	(void)state;
	assert_refused(with_row("\"lat_l1\": {\"value\": 1, \"unit\": \"cycle\"}"),
	               "f.json:5: ", "needs \"method\"");
	assert_refused(with_row("\"lat_l1\": {\"value\": 1, \"unit\": \"cycle\", \"method\": "
	                        "\"guessed\"}"),
	               "f.json:5: ", "needs \"method\"");
	assert_refused(with_row("\"lat_l1\": {\"value\": 1, \"unit\": \"cycle\", \"method\": "
	                        "\"vendor\"}"),
	               "f.json:5: ", "needs \"source\"");
}

static void refuses_curves_that_are_no_functions(void **state)
{
	static const char *const points[][2] = {
	        {"[]", "1 to 64 pairs"},       {"[[1, 2], [1, 3]]", "x must rise"},
	        {"[[1, 2, 3]]", "not a pair"}, {"[[1, \"2\"]]", "must be a number"},
	        {"{}", "1 to 64 pairs"},
	};
	char text[512];

	(void)state;
	for (unsigned i = 0; i < sizeof(points) / sizeof(*points); i++) {
		snprintf(text, sizeof(text),
		         "{\"gpuwatch_profile\": 1, \"name\": \"a\", \"curves\": {\n"
		         "\"l2_read_bw\": {\"unit_x\": \"B\", \"unit_y\": \"B/s\", \"method\": "
		         "\"measured\",\n\"points\": %s}}}",
		         points[i][0]);
		assert_refused(text, "f.json:3: ", points[i][1]);
	}
}

static void refuses_long_and_unprintable_text(void **state)
{
	char name[300], text[400];

	(void)state;
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	snprintf(text, sizeof(text), "{\"gpuwatch_profile\": 1, \"name\": \"%s\"}", name);
	assert_refused(text, "f.json:1: ", "longer than 95 bytes");
	assert_refused("{\"gpuwatch_profile\": 1, \"name\": \"a\\u001b[2J\"}",
	               "f.json:1: ", "control character");
}

static void messages_never_carry_control_characters(void **state)
{
	(void)state;
	assert_int_equal(parse(with_row("\"a\\u001b[2J\\u0007\": {}")), -1);
	for (const char *c = error.text; *c; c++)
		assert_true((unsigned char)*c >= ' ');
}

static void refuses_files_without_end(void **state)
{
	struct gw_profile_error e;

	(void)state;
	assert_int_equal(gw_profile_read("/dev/zero", &profile, &e), -1);
	assert_non_null(strstr(e.text, "not a regular file"));
	assert_int_equal(gw_profile_read("/nonexistent/x.json", &profile, &e), -1);
	assert_non_null(strstr(e.text, "/nonexistent/x.json"));
}

static void refuses_files_that_are_too_long(void **state)
{
	char *text = malloc(GW_PROFILE_BYTES + 1);

	(void)state;
	assert_non_null(text);
	memset(text, ' ', GW_PROFILE_BYTES + 1);
	assert_int_equal(gw_profile_parse(text, GW_PROFILE_BYTES + 1, "f", &profile, &error), -1);
	assert_non_null(strstr(error.text, "longer than"));
	free(text);
}

static void deep_nesting_is_refused_not_overflowed(void **state)
{
	char *text = malloc(200001);

	(void)state;
	assert_non_null(text);
	memset(text, '[', 200000);
	text[200000] = '\0';
	assert_int_equal(parse(text), -1);
	free(text);
}

static void assert_same_device(const struct gw_profile *a, const struct gw_profile *b)
{
	assert_string_equal(a->device.name, b->device.name);
	assert_int_equal(a->alias_count, b->alias_count);
	assert_memory_equal(a->aliases, b->aliases, sizeof(a->aliases));
	assert_memory_equal(&a->provenance, &b->provenance, sizeof(a->provenance));
	for (unsigned i = 0; i < GW_PARAMS; i++) {
		const struct gw_value *x = &a->device.param[i], *y = &b->device.param[i];

		assert_true(x->value == y->value || (isnan(x->value) && isnan(y->value)));
		assert_true(x->spread == y->spread || (isnan(x->spread) && isnan(y->spread)));
		assert_true(x->samples == y->samples && x->method == y->method);
		assert_string_equal(a->source[i], b->source[i]);
	}
	for (unsigned i = 0; i < GW_CURVES; i++) {
		const struct gw_curve *x = &a->device.curve[i], *y = &b->device.curve[i];

		assert_true(x->count == y->count && x->method == y->method);
		for (uint32_t k = 0; k < x->count; k++)
			assert_true(x->x[k] == y->x[k] && x->y[k] == y->y[k]);
		assert_string_equal(a->curve_source[i], b->curve_source[i]);
	}
}

static void write_and_read_back(const struct gw_profile *in, struct gw_profile *out)
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	assert_non_null(f);
	assert_int_equal(gw_profile_write(in, f), 0);
	fclose(f);
	if (gw_profile_parse(text, length, "written", out, &error))
		fail_msg("%s", error.text);
	free(text);
}

/* A profile that uses everything: awkward numbers, quotes, accents, full curves. */
static void fill(struct gw_profile *p)
{
	gw_profile_clear(p, "Quote \" backslash \\ accent \xc3\xa9");
	snprintf(p->aliases[p->alias_count++], sizeof(*p->aliases), "alias/1");
	snprintf(p->provenance.note, sizeof(p->provenance.note), "a \"note\"");
	for (unsigned i = 0; i < GW_PARAMS; i++) {
		double low, high;

		gw_unit_scale(gw_param_info(i)->unit, gw_param_info(i)->unit, &low, &high);
		p->device.param[i] = (struct gw_value){.value = low + (high - low) / (3.0 + i),
		                                       .spread = i % 3 ? NAN : 1.0 / (i + 3.0),
		                                       .samples = i,
		                                       .method = GW_METHOD_MEASURED};
		snprintf(p->source[i], sizeof(p->source[i]), "source %u", i);
	}
	for (unsigned i = 0; i < GW_CURVES; i++) {
		p->device.curve[i].count = GW_CURVE_POINTS;
		p->device.curve[i].method = GW_METHOD_PAPER;
		snprintf(p->curve_source[i], sizeof(p->curve_source[i]), "curve %u", i);
		for (unsigned k = 0; k < GW_CURVE_POINTS; k++) {
			p->device.curve[i].x[k] = 1 + (k + 0.1) / 3;
			p->device.curve[i].y[k] = 1 + (k ^ 5) / 700.0;
			if (strchr(gw_curve_info(i)->unit, 's') == gw_curve_info(i)->unit)
				p->device.curve[i].y[k] = (k ^ 5) / 700.0;
		}
	}
}

static void what_is_written_reads_back_to_the_same_bits(void **state)
{
	(void)state;
	fill(&profile);
	write_and_read_back(&profile, &other);
	assert_same_device(&profile, &other);
}

static void numbers_are_written_alike_in_every_locale(void **state)
{
	static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", NULL};
	unsigned i = 0;

	(void)state;
	while (commas[i] && !setlocale(LC_NUMERIC, commas[i]))
		i++;
	if (!commas[i])
		skip(); /* no locale with a decimal comma is installed */
	fill(&profile);
	write_and_read_back(&profile, &other);
	setlocale(LC_NUMERIC, "C");
	assert_same_device(&profile, &other);
}

static void every_shipped_profile_reads_and_survives_writing(void **state)
{
	DIR *folder = opendir(GW_PROFILES);
	struct dirent *entry;
	unsigned count = 0;

	(void)state;
	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		char path[4096];

		if (!strstr(entry->d_name, ".json"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", GW_PROFILES, entry->d_name);
		if (gw_profile_read(path, &profile, &error))
			fail_msg("%s", error.text);
		for (unsigned i = 0; i < GW_PARAMS; i++)
			if (profile.device.param[i].method != GW_METHOD_NONE)
				assert_true(
				        *profile.source[i]); /* no number without its document */
		profile.path[0] = '\0';
		write_and_read_back(&profile, &other);
		assert_same_device(&profile, &other);
		count++;
	}
	closedir(folder);
	assert_true(count >= 22);
}

/* A digit transposed in a data sheet's numbers would break what ties them together. */
static void vendors_peaks_agree_with_their_lanes_and_clocks(void **state)
{
	DIR *folder = opendir(GW_PROFILES);
	struct dirent *entry;
	unsigned count = 0;

	(void)state;
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

static void the_documentation_has_a_row_for_each_parameter(void **state)
{
	char *text = read_whole(GW_DOCS "/profile.md"), row[512];

	(void)state;
	for (unsigned i = 0; i < GW_PARAMS; i++) {
		const struct gw_field_info *p = gw_param_info(i);

		snprintf(row, sizeof(row), "| `%s` | %s | %s |", p->name, p->unit, p->meaning);
		if (!strstr(text, row))
			fail_msg("docs/profile.md lacks the row: %s", row);
	}
	for (unsigned i = 0; i < GW_CURVES; i++) {
		const struct gw_field_info *c = gw_curve_info(i);

		snprintf(row, sizeof(row), "| `%s` | %s | %s | %s |", c->name, gw_curve_unit_x(i),
		         c->unit, c->meaning);
		if (!strstr(text, row))
			fail_msg("docs/profile.md lacks the row: %s", row);
	}
	free(text);
}

static void the_documentations_example_reads(void **state)
{
	char *text = read_whole(GW_DOCS "/profile.md");
	char *begin = strstr(text, "```json\n"), *end = begin ? strstr(begin + 8, "```") : NULL;

	(void)state;
	assert_non_null(end);
	*end = '\0';
	if (parse(begin + 8))
		fail_msg("%s", error.text);
	assert_string_equal(profile.device.name, "NVIDIA H200");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(reads_values_in_the_units_of_the_list),
	        cmocka_unit_test(reads_curves),
	        cmocka_unit_test(every_unit_of_the_list_is_known_and_has_a_range),
	        cmocka_unit_test(prefixes_are_those_of_the_unit),
	        cmocka_unit_test(refuses_what_is_not_json_and_names_the_line),
	        cmocka_unit_test(refuses_duplicate_keys),
	        cmocka_unit_test(refuses_other_formats),
	        cmocka_unit_test(refuses_unknown_names),
	        cmocka_unit_test(refuses_unknown_units),
	        cmocka_unit_test(refuses_values_out_of_range),
	        cmocka_unit_test(refuses_values_of_unknown_origin),
	        cmocka_unit_test(refuses_curves_that_are_no_functions),
	        cmocka_unit_test(refuses_long_and_unprintable_text),
	        cmocka_unit_test(messages_never_carry_control_characters),
	        cmocka_unit_test(refuses_files_without_end),
	        cmocka_unit_test(refuses_files_that_are_too_long),
	        cmocka_unit_test(deep_nesting_is_refused_not_overflowed),
	        cmocka_unit_test(what_is_written_reads_back_to_the_same_bits),
	        cmocka_unit_test(numbers_are_written_alike_in_every_locale),
	        cmocka_unit_test(the_documentation_has_a_row_for_each_parameter),
	        cmocka_unit_test(the_documentations_example_reads),
	        cmocka_unit_test(vendors_peaks_agree_with_their_lanes_and_clocks),
	        cmocka_unit_test(every_shipped_profile_reads_and_survives_writing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
